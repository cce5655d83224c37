// Writes the events of one location into the archive, in order of time.
//
// Place in the flow: ARCHITECTURE.md, step 7; the last stop before libotf2.
// Thread-safety: none; each location has its own, and libotf2 writers of different
// locations may be used at the same time.
// Ownership: does not own the OTF2_EvtWriter.
// Units: ticks. A time before the last one is raised to it: time never runs backwards.
// Errors: the first error of libotf2 is kept in error(); everything after it is dropped.
// Cost: that of libotf2, 12..25 ns an event, and a stop when its buffer is flushed.
#pragma once

#include <otf2/otf2.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "writer/otf2/region_table.h"

namespace refrain::writer {

// References of definitions that events refer to beside regions and teams.
inline constexpr OTF2_ParameterRef kIterationParameter = 0;
inline constexpr OTF2_AttributeRef kWrittenAttribute = 0;
inline constexpr OTF2_AttributeRef kCompleteAttribute = 1;

class EventSink {
 public:
  EventSink(OTF2_EvtWriter* writer, const std::vector<RegionDef>& regions);
  ~EventSink();
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;

  void enter(std::uint64_t ticks, std::uint32_t region);
  void leave(std::uint64_t ticks, std::uint32_t region);
  // Enter of an iteration with its number and attributes, see archive_writer.h.
  void enter_iteration(std::uint64_t ticks, std::uint32_t region, std::uint64_t number,
                       std::uint8_t kept, bool complete);
  void on_off(std::uint64_t ticks, bool on);
  void fork(std::uint64_t ticks, std::uint32_t requested);
  void join(std::uint64_t ticks);
  void team_begin(std::uint64_t ticks, std::uint32_t comm);
  void team_end(std::uint64_t ticks, std::uint32_t comm);
  void task_create(std::uint64_t ticks, std::uint32_t comm, std::uint32_t creator,
                   std::uint32_t number);
  void task_switch(std::uint64_t ticks, std::uint32_t comm, std::uint32_t creator,
                   std::uint32_t number);
  void task_complete(std::uint64_t ticks, std::uint32_t comm, std::uint32_t creator,
                     std::uint32_t number);
  void acquire_lock(std::uint64_t ticks, std::uint32_t lock, std::uint32_t order);
  void release_lock(std::uint64_t ticks, std::uint32_t lock, std::uint32_t order);
  void program_begin(std::uint64_t ticks, OTF2_StringRef name,
                     const std::vector<OTF2_StringRef>& arguments);
  void program_end(std::uint64_t ticks);

  std::uint64_t last_ticks() const noexcept { return last_; }
  std::uint64_t filtered() const noexcept { return filtered_; }
  std::uint64_t count() const;
  OTF2_ErrorCode error() const noexcept { return error_; }

 private:
  std::uint64_t at(std::uint64_t ticks) noexcept { return last_ = std::max(last_, ticks); }
  void check(OTF2_ErrorCode code) noexcept {
    if (code != OTF2_SUCCESS && error_ == OTF2_SUCCESS) error_ = code;
  }
  bool ok() const noexcept { return error_ == OTF2_SUCCESS; }
  bool skips(std::uint32_t region) noexcept;

  OTF2_EvtWriter* writer_;
  OTF2_AttributeList* attributes_;
  const std::vector<RegionDef>& regions_;
  std::uint64_t last_ = 0;
  std::uint64_t filtered_ = 0;
  OTF2_ErrorCode error_ = OTF2_SUCCESS;
};

}  // namespace refrain::writer
