// A small trace by hand, for tests of this directory: processes with threads, a few regions, two loops, MPI messages.
//
// Thread-safety: none. Shape: location = rank * threads + thread; communicator 0 is the world. Units: ns.
#pragma once

#include <otf2/otf2.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "analysis/profile/run_profile.h"
#include "reader/trace.h"

namespace refrain::report {

enum SyntheticRegion : std::uint32_t {
  rMain,
  rWork,
  rBarrier,
  rSend,
  rRecv,
  rWait,
  rAllreduce,
  rOuter,
  rInner
};

class SyntheticEvents {
 public:
  explicit SyntheticEvents(std::uint32_t ranks, std::uint32_t threads = 1) {
    const auto region = [&](const char* name, OTF2_RegionRole role, OTF2_Paradigm paradigm,
                            bool loop = false) {
      d.regions.push_back({.name = name,
                           .file = "p.c",
                           .line = 7,
                           .role = role,
                           .paradigm = paradigm,
                           .is_loop = loop});
    };
    region("main", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    region("!$omp for", OTF2_REGION_ROLE_LOOP, OTF2_PARADIGM_OPENMP);
    region("!$omp implicit barrier", OTF2_REGION_ROLE_IMPLICIT_BARRIER,
           OTF2_PARADIGM_OPENMP);
    for (const char* name : {"MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Allreduce"})
      region(name, OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI);
    region("loop 1 @ main p.c:2-9", OTF2_REGION_ROLE_ARTIFICIAL, OTF2_PARADIGM_NONE, true);
    region("loop 2 @ main p.c:4-6", OTF2_REGION_ROLE_ARTIFICIAL, OTF2_PARADIGM_NONE, true);
    d.attributes[kWritten].name = "written";
    d.attributes[kComplete].name = "complete";
    std::vector<ProcessId> world;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      reader::ProcessInfo& process = d.processes.emplace_back();
      process.ref = rank;
      process.rank = rank;
      profile.processes.push_back({.number = rank, .rank = rank, .time = 1000});
      for (std::uint32_t thread = 0; thread < threads; ++thread) {
        const auto location = static_cast<std::uint32_t>(d.locations.size());
        process.locations.emplace_back(location);
        d.locations.push_back({.ref = 100 + location,
                               .name = "thread",
                               .process = ProcessId(rank),
                               .thread = thread,
                               .properties = {}});
        profile.locations.push_back({.process = rank,
                                     .reference = 100 + location,
                                     .thread = thread,
                                     .primary = thread == 0,
                                     .worker = thread != 0});
      }
      world.emplace_back(rank);
    }
    d.groups.push_back(world);
    reader::CommInfo comm;
    comm.of_processes = true;
    comm.group = 0;
    d.comms.push_back(comm);
  }

  reader::TraceEvent& add(std::uint32_t location, std::uint64_t ns,
                          reader::EventKind kind) {
    reader::TraceEvent& event = events.emplace_back();
    event.location = LocationId(location);
    event.ns = ns;
    event.ticks = ns;
    event.kind = kind;
    return event;
  }
  void enter(std::uint32_t location, std::uint64_t ns, std::uint32_t region) {
    add(location, ns, reader::EventKind::kEnter).ref = region;
  }
  void leave(std::uint32_t location, std::uint64_t ns, std::uint32_t region) {
    add(location, ns, reader::EventKind::kLeave).ref = region;
  }
  void region(std::uint32_t location, std::uint64_t begin, std::uint64_t end,
              std::uint32_t which) {
    enter(location, begin, which);
    leave(location, end, which);
  }
  // A procedure of MPI, called at a place.
  void call(std::uint32_t location, std::uint64_t begin, std::uint64_t end,
            std::uint32_t which, std::uint32_t site) {
    enter(location, begin, which);
    std::vector<reader::ExtraValue>& values = values_.emplace_back();
    values.push_back({0, OTF2_TYPE_SOURCE_CODE_LOCATION, site});
    events.back().extras = values.data();
    events.back().attributes = 1;
    leave(location, end, which);
  }
  // The mark of an iteration; `written`: 0 skipped, 1 all, 2 partial.
  void begin_iteration(std::uint32_t location, std::uint64_t ns, std::uint32_t loop,
                       std::uint64_t number, std::uint8_t written = 1,
                       bool complete = true) {
    enter(location, ns, loop);
    std::vector<reader::ExtraValue>& values = values_.emplace_back();
    if (written != 0) values.push_back({kWritten, OTF2_TYPE_UINT8, written});
    if (!complete) values.push_back({kComplete, OTF2_TYPE_UINT8, 0});
    events.back().extras = values.data();
    events.back().attributes = static_cast<std::uint16_t>(values.size());
    add(location, ns, reader::EventKind::kParameterInt).value = number;
  }
  void iteration(std::uint32_t location, std::uint64_t begin, std::uint64_t end,
                 std::uint32_t loop, std::uint64_t number, std::uint8_t written = 1) {
    begin_iteration(location, begin, loop, number, written);
    leave(location, end, loop);
  }
  void writing(std::uint32_t location, std::uint64_t ns, bool on) {
    add(location, ns, reader::EventKind::kMeasurementOnOff).op =
        on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF;
  }
  void message(std::uint32_t location, std::uint64_t ns, reader::EventKind kind,
               std::uint32_t peer, std::uint32_t tag = 0, std::uint64_t request = 0,
               std::uint64_t bytes = 8) {
    reader::TraceEvent& event = add(location, ns, kind);
    event.ref = 0;
    event.peer = peer;
    event.tag = tag;
    event.request = request;
    event.bytes = bytes;
  }
  void marker(std::uint64_t ns, std::uint64_t duration, const char* category,
              const std::string& text, std::uint32_t location = 0) {
    d.markers.push_back({.ns = ns,
                         .duration_ns = duration,
                         .category = category,
                         .text = text,
                         .location = LocationId(location)});
  }

  // Each location's number in the report is its own.
  std::vector<std::uint32_t> reported() const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < d.locations.size(); ++i) out.push_back(i);
    return out;
  }
  void feed(reader::TraceSink& sink, std::uint64_t end_ns) {
    d.end_ticks = end_ns;
    REQUIRE(sink.begin(d).ok());
    for (const reader::TraceEvent& event : events) sink.event(event);
    REQUIRE(sink.finish(end_ns).ok());
  }

  reader::TraceDefinitions d;
  analysis::RunProfile profile;
  std::vector<reader::TraceEvent> events;

 private:
  static constexpr std::uint32_t kWritten = 7, kComplete = 8;
  std::deque<std::vector<reader::ExtraValue>> values_;
};

}  // namespace refrain::report
