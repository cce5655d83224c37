// What is open around the holes of a damaged file of events, for those that read it.
//
// Of a hole nothing is known: what was open before it may have ended in it, and what ends after it may have begun in it. So all
// that is open is left where a hole begins, and what must be open where it ends is entered there: what is left later without having
// been entered since. Of what is left after further holes only what was open before the hole, too: the others may have been entered in
// those.
//
// Place in the flow: private to reader/: archive_stream.h reads a damaged location once more for it, and hands the events over.
// Thread-safety: none. Memory: what is open, and kMaxUnmatched leaves between two holes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/region_stack.h"
#include "reader/trace.h"

namespace refrain::reader {

struct FileHoles {
  struct Hole {
    std::vector<TraceEvent> leaves, enters;  // in their order, without times
    bool off = false;  // at its end the program's events are not written
  };
  std::vector<Hole> holes;    // the last one: at the end of the file
  bool communicates = false;  // there are events of messages and the like
};

bool is_communication(EventKind kind) noexcept;

// Gets the events of a location; holes end where writing is switched on by an event that is `uncertain`.
class FileHolesSink final : public TraceSink {
 public:
  base::Result<> begin(const TraceDefinitions& definitions) override;
  void event(const TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t) override { return {}; }
  // After finish(), once.
  FileHoles take();

 private:
  static constexpr std::size_t kMaxUnmatched = 1024;
  static constexpr std::size_t kMaxFurther = 16;  // segments that are looked at
  struct Open {
    std::uint32_t region;
    TraceEvent event;  // that opens it
    bool reported = true;
  };
  // Events between two holes.
  struct Segment {
    std::vector<TraceEvent> unmatched;  // leaves
    base::RegionStack<Open> open;       // at its end
    bool switched = false;              // first: on
    bool switched_on = false;
  };

  bool is_mark(const TraceEvent& event) const;
  std::vector<Open> open_after(const std::vector<Open>& before, std::size_t segment) const;
  bool off_after(std::size_t segment) const;

  const TraceDefinitions* definitions_ = nullptr;
  std::vector<Segment> segments_{1};
  bool communicates_ = false;
};

}  // namespace refrain::reader
