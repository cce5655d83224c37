// The records of a .prv: collected in any order, written by time.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after paraver_sink.h.
// Thread-safety: none. Cost: see record_sorter.h; three of them, and one for the few events
// that are reported late.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "convert/record_sorter.h"
#include "convert/text_file.h"

namespace refrain::convert {

class ParaverRecords {
 public:
  // Temporary files are made in `folder`.
  explicit ParaverRecords(const std::string& folder);

  // Empty intervals are dropped.
  void state(std::uint32_t location, std::uint64_t begin, std::uint64_t end,
             std::uint8_t state);
  void event(std::uint32_t location, std::uint64_t ns, std::uint32_t type,
             std::uint64_t value);
  // An event that is earlier than others reported before it.
  void late_event(std::uint32_t location, std::uint64_t ns, std::uint32_t type,
                  std::uint64_t value);
  struct Communication {
    std::uint64_t logical_send, physical_send, logical_receive, physical_receive, bytes;
    std::uint32_t sender, receiver, tag;
    std::uint64_t key() const { return logical_send; }
  };
  void communication(const Communication& communication);

  // `objects`: "cpu:application:task:thread:" by location; `share`: called with the
  // progress, if set.
  void write(TextFile& file, const std::vector<std::string>& objects,
             const std::function<void(double)>& share);
  std::string error() const;
  std::uint64_t last_ns() const noexcept { return last_ns_; }

 private:
  struct State {
    std::uint64_t begin, end;
    std::uint32_t location, state;
    std::uint64_t key() const { return begin; }
  };
  struct Event {
    std::uint64_t ns, value;
    std::uint32_t location, type;
    std::uint64_t key() const { return ns; }
  };
  std::uint64_t left() const;
  const Event* next_event();
  void pop_event();
  void write_state(TextFile& file, const std::vector<std::string>& objects);
  void write_events(TextFile& file, const std::vector<std::string>& objects);
  void write_communication(TextFile& file, const std::vector<std::string>& objects);

  RecordSorter<State> states_;
  RecordSorter<Event> events_, late_events_;
  RecordSorter<Communication> communications_;
  std::uint64_t last_event_ns_ = 0;
  std::uint64_t last_ns_ = 0;
};

}  // namespace refrain::convert
