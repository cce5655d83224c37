// Which messages of a whole trace would have both ends in a reduced one: only those are in the archive of a run that
// skips iterations (writer/agree leaves the others out).
//
// Place in the flow: two passes over the same events, each through a SkippingSink: in the first one it learns which
// events are written, in the second one it says which to leave out. Sends and receives of a channel belong together
// in their order; receives in that in which they were posted (MPI 4.0, section 3.5).
// Thread-safety: none. Errors: none; what has no other end is left out.
// Memory: one byte for each end of a message.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "reader/trace_definitions.h"
#include "reader/trace_event.h"

namespace refrain::analysis {

class WrittenMessages {
 public:
  // Before each pass.
  void begin(const reader::TraceDefinitions& definitions);
  // Of each event in turn, whether written or not. False: in the second pass, one end of a message of which not both
  // are written.
  bool keeps(const reader::TraceEvent& event, bool written);
  // After the first pass.
  void finish();

 private:
  struct End {
    std::uint32_t process = 0;
    std::size_t number = 0;  // of the process' ends
    bool written = false;
  };
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t,
                         std::uint32_t>;  // communicator, source, destination, tag
  struct Channel {
    std::deque<End> sends, receives;
  };
  struct Posted {
    bool open = true;
    bool matched = false;  // there was a message for it
    bool written = false;  // that it was posted; then also that it has completed
    Key key;
    std::size_t number = 0;
  };
  struct Process {
    std::vector<bool> kept;  // by end
    std::size_t next = 0;
    std::deque<Posted> posted;
    std::uint64_t first = 0;  // number of the first of them
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t>
        requests;  // by location and request
  };

  void learn(const reader::TraceEvent& event, bool written);
  void completed(Process& process, const reader::TraceEvent& event, const Key& key,
                 bool written);
  void release(std::uint32_t number);
  void match(Channel& channel);

  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<Process> processes_;
  std::map<Key, Channel> channels_;
  bool known_ = false;
};

}  // namespace refrain::analysis
