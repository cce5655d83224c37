// An artificial run of a job, event by event, as its trace would be read.
//
// Thread-safety: none. Shape: each process has two threads, one for serial work and one
// that helps; regions are RegionIndex.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/comparison/comparison.h"
#include "analysis/comparison/profile_sink.h"
#include "analysis/comparison/skipping_sink.h"
#include "summary/run_summary.h"

namespace refrain::analysis {

using reader::EventKind;
using reader::ExtraValue;
using reader::TraceDefinitions;
using reader::TraceEvent;

constexpr std::uint32_t kWritten = 7;   // the attribute
constexpr std::uint32_t kComplete = 8;  // another
constexpr std::uint32_t kCounters = 3;  // the metric class, if there is one

enum RegionIndex : std::uint32_t {
  kMain,
  kWork,
  kBarrier,
  kSend,
  kOuter,
  kInner,
  kOther,
  kParallel,
  kRegions
};

// A job of processes with a thread for serial work and one that helps. Its run is made up
// of calls; each process counts what it did, as the reference for profiles.
class SyntheticRun {
 public:
  explicit SyntheticRun(std::uint32_t processes) {
    const auto region = [&](const char* name, OTF2_RegionRole role,
                            OTF2_Paradigm paradigm) {
      definitions.regions.push_back(
          {.name = name, .file = "p.c", .line = 1, .role = role, .paradigm = paradigm});
    };
    region("main", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    region("work", OTF2_REGION_ROLE_LOOP, OTF2_PARADIGM_OPENMP);
    region("barrier", OTF2_REGION_ROLE_BARRIER, OTF2_PARADIGM_OPENMP);
    region("MPI_Send", OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI);
    region("loop 0 @ p.c:1", OTF2_REGION_ROLE_ARTIFICIAL, OTF2_PARADIGM_NONE);
    region("loop 1 @ p.c:2", OTF2_REGION_ROLE_ARTIFICIAL, OTF2_PARADIGM_NONE);
    region("loop 2 @ p.c:3", OTF2_REGION_ROLE_ARTIFICIAL, OTF2_PARADIGM_NONE);
    region("parallel", OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP);
    for (const RegionIndex loop : {kOuter, kInner, kOther})
      definitions.regions[loop].is_loop = true;
    number_regions();
    definitions.base_ticks = kTicksAtBegin;
    definitions.properties["REFRAIN::VERSION"] = "made up";
    definitions.attributes[kWritten].name = "written";
    definitions.attributes[kComplete].name = "complete";
    definitions.parameters.push_back({.name = "polls"});
    for (std::uint32_t i = 0; i < processes; ++i) {
      reader::ProcessInfo& process = definitions.processes.emplace_back();
      process.rank = i;
      for (std::uint32_t j = 0; j < 2; ++j) {
        process.locations.emplace_back(definitions.locations.size());
        reader::LocationInfo& location = definitions.locations.emplace_back();
        location.ref = 100 + definitions.locations.size();
        location.process = ProcessId(i);
        location.thread = j;
      }
    }
  }

  // Their references in the archive, which are no indices.
  void number_regions() {
    definitions.region_table = {};
    for (std::uint32_t i = 0; i < definitions.regions.size(); ++i)
      definitions.region_table.add(kFirstReference + i, i);
  }
  static constexpr std::uint32_t kFirstReference = 40;
  // A tick is a nanosecond, but they do not begin at 0.
  static constexpr std::uint64_t kTicksAtBegin = 1000;

  void enter(std::uint32_t location, std::uint32_t region) {
    put(location, EventKind::kEnter, region);
  }
  void leave(std::uint32_t location, std::uint32_t region) {
    put(location, EventKind::kLeave, region);
  }
  void pass(std::uint64_t ns) { now_ += ns; }
  // Of all threads of a process: `kept` of the iteration's mark.
  void begin(std::uint32_t process, std::uint32_t loop, bool kept) {
    put(2 * process, EventKind::kEnter, loop);
    if (kept) events.back().attributes = 1;
  }
  // The iteration that has just begun does not come to its end.
  void break_off() {
    static constexpr ExtraValue kBroken[] = {{kWritten, OTF2_TYPE_UINT8, 1},
                                             {kComplete, OTF2_TYPE_UINT8, 0}};
    events.back().extras = kBroken;
    events.back().attributes = 2;
  }
  void switch_writing(std::uint32_t process, bool on) {
    for (std::uint32_t thread = 0; thread < 2; ++thread)
      switch_thread(2 * process + thread, on);
  }
  void switch_thread(std::uint32_t location, bool on) {
    put(location, EventKind::kMeasurementOnOff, reader::kNone);
    events.back().op = on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF;
  }
  void send(std::uint32_t location, std::uint64_t bytes) {
    enter(location, kSend);
    pass(50);
    put(location, EventKind::kMpiSend, 0);
    events.back().bytes = bytes;
    pass(50);
    leave(location, kSend);
  }

  // A region of MPI with so many polls of the thread.
  void polls(std::uint32_t location, std::uint64_t times) {
    enter(location, kSend);
    pass(50);
    put(location, EventKind::kParameterUnsignedInt, 0);
    events.back().value = times;
    leave(location, kSend);
  }

  // The counters of the definitions, in their order, before the next event.
  void count(std::uint32_t location, const std::vector<std::uint64_t>& values) {
    put(location, EventKind::kMetric, kCounters);
    auto& extras = values_.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i)
      extras.push_back({static_cast<std::uint32_t>(i), OTF2_TYPE_UINT64, values[i]});
    events.back().extras = extras.data();
    events.back().metrics = static_cast<std::uint16_t>(values.size());
  }

  TraceProfile profile(std::uint64_t suspend_after = 0,
                       const filters::SlowSettings& slow = {},
                       filters::Nested nested = filters::Nested::kFirst) const {
    const SkipPlan plan = plan_of(suspend_after, slow, nested);
    SampleSink samples;
    feed(samples, plan);
    ProfileSink sink(samples.take(), summaries);
    feed(sink, plan);
    return sink.take();
  }

  SkipPlan plan_of(std::uint64_t suspend_after, const filters::SlowSettings& slow = {},
                   filters::Nested nested = filters::Nested::kFirst) const {
    if (suspend_after == 0) return {};
    PlanSink plan({.limit = suspend_after, .slow = slow, .nested = nested});
    hand_all(plan);
    return plan.take();
  }

  std::uint64_t now() const { return now_; }

  TraceDefinitions definitions;
  std::vector<TraceEvent> events;
  std::vector<summary::RunSummary> summaries;  // of the archive; see SyntheticSummary

 private:
  void put(std::uint32_t location, EventKind kind, std::uint32_t ref) {
    static constexpr ExtraValue kIsWritten{kWritten, OTF2_TYPE_UINT8, 1};
    TraceEvent event;
    event.ns = now_;
    event.ticks = now_ + kTicksAtBegin;
    event.location = LocationId(location);
    event.kind = kind;
    event.ref = ref;
    event.extras = &kIsWritten;
    events.push_back(event);
  }
  void feed(reader::TraceSink& to, const SkipPlan& plan) const {
    SkippingSink suspended(plan, to);
    plan.empty() ? hand_all(to) : hand_all(suspended);
  }
  void hand_all(reader::TraceSink& sink) const {
    REQUIRE(sink.begin(definitions).ok());
    for (const TraceEvent& event : events) sink.event(event);
    REQUIRE(sink.finish(now_).ok());
  }

  std::uint64_t now_ = 0;
  std::deque<std::vector<ExtraValue>> values_;
};

// One iteration of the inner loop, on both threads; `longer` on the second.
inline void work(SyntheticRun& run, std::uint32_t process, std::uint64_t longer = 0) {
  const std::uint32_t first = 2 * process;
  run.enter(first, kWork);
  run.enter(first + 1, kParallel);
  run.enter(first + 1, kWork);
  run.pass(700);
  run.leave(first, kWork);
  run.enter(first, kBarrier);
  run.pass(300 + longer);
  run.leave(first + 1, kWork);
  run.enter(first + 1, kBarrier);
  run.pass(20);
  run.leave(first, kBarrier);
  run.leave(first + 1, kBarrier);
  run.leave(first + 1, kParallel);
  run.send(first, 800);
}

// `outer` times: something serial, and `inner` iterations; inside main.
inline SyntheticRun nest(std::uint32_t processes, int outer, int inner) {
  SyntheticRun run(processes);
  for (std::uint32_t process = 0; process < processes; ++process) {
    run.enter(2 * process, kMain);
    run.pass(5000);
    for (int i = 0; i < outer; ++i) {
      run.begin(process, kOuter, true);
      run.pass(900);
      for (int j = 0; j < inner; ++j) {
        run.begin(process, kInner, true);
        work(run, process);
        run.leave(2 * process, kInner);
      }
      run.send(2 * process, 24);
      run.leave(2 * process, kOuter);
    }
    run.pass(4000);
    run.leave(2 * process, kMain);
  }
  return run;
}

// The summaries that a tracer would have kept of a synthetic run: from its events, by a stack for
// each thread. Shares no code with the profiles.

class SyntheticSummary {
 public:
  SyntheticSummary(const SyntheticRun& run, std::uint32_t process) : run_(run) {
    summary_.process = process;
    summary_.ticks_per_second = 1e9;
    summary_.begin = SyntheticRun::kTicksAtBegin;
    summary_.end = SyntheticRun::kTicksAtBegin + run.now();
    for (std::uint32_t i = 0; i < run.definitions.regions.size(); ++i) {
      const reader::RegionInfo& info = run.definitions.regions[i];
      summary_.regions.push_back({.reference = SyntheticRun::kFirstReference + i,
                                  .name = info.name,
                                  .file = info.file,
                                  .line = info.line,
                                  .role = info.role,
                                  .paradigm = info.paradigm});
    }
    for (const std::uint32_t location : run.definitions.processes[process].locations)
      add(location);
    for (auto& location : summary_.locations) location.sums.resize(summary_.nodes.size());
  }
  summary::RunSummary take() { return std::move(summary_); }

 private:
  using Summary = summary::RunSummary;
  struct Open {
    std::uint32_t node;
    std::uint64_t begin;
  };

  void add(std::uint32_t number) {
    Summary::Location location;
    location.reference = run_.definitions.locations[number].ref;
    location.number = run_.definitions.locations[number].thread;
    location.primary = location.number == 0;
    std::vector<Open> open;
    for (const TraceEvent& event : run_.events) {
      if (event.location != number) continue;
      const bool loop = event.kind <= EventKind::kLeave &&
                        event.ref < run_.definitions.regions.size() &&
                        run_.definitions.regions[event.ref].is_loop;
      if (event.kind == EventKind::kEnter && !loop) {
        const std::uint32_t node =
            node_of(open.empty() ? Summary::kNone : open.back().node, event.ref);
        location.sums.resize(summary_.nodes.size());
        ++location.sums[node].visits;
        open.push_back({node, event.ns});
      } else if (event.kind == EventKind::kLeave && !loop) {
        location.sums[open.back().node].time += event.ns - open.back().begin;
        open.pop_back();
      } else if (event.kind == EventKind::kMpiSend) {
        location.sums[open.back().node].messages_sent += 1;
        location.sums[open.back().node].bytes_sent += event.bytes;
      } else if (event.kind == EventKind::kParameterUnsignedInt) {
        location.sums[open.back().node].visits += event.value - 1;
      }
    }
    summary_.locations.push_back(std::move(location));
  }

  std::uint32_t node_of(std::uint32_t parent, std::uint32_t region) {
    const auto next = static_cast<std::uint32_t>(summary_.nodes.size());
    const auto [at, is_new] = nodes_.try_emplace({parent, region}, next);
    if (is_new) summary_.nodes.push_back({.parent = parent, .region = region});
    return at->second;
  }

  const SyntheticRun& run_;
  Summary summary_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes_;
};

// Of all processes.
inline std::vector<summary::RunSummary> summaries_of(const SyntheticRun& run) {
  std::vector<summary::RunSummary> summaries;
  for (std::uint32_t i = 0; i < run.definitions.processes.size(); ++i)
    summaries.push_back(SyntheticSummary(run, i).take());
  return summaries;
}

// Comparisons of profiles, for tests.

inline const RegionProfile& region(const TraceProfile& profile, const std::string& name) {
  for (const RegionProfile& region : profile.regions)
    if (region.name == name) return region;
  FAIL("no region " << name);
  throw 0;
}

inline void check_efficiencies(const RunEfficiencies& found, const RunEfficiencies& wanted,
                               double epsilon) {
  using E = RunEfficiencies;
  CHECK(found.has_mpi == wanted.has_mpi);
  for (const auto value : {&E::parallel, &E::load_balance, &E::communication, &E::mpi,
                           &E::mpi_load_balance, &E::mpi_communication, &E::unknown})
    CHECK(found.*value == Approx(wanted.*value).epsilon(epsilon));
}

inline void check_same(const TraceProfile& whole, const TraceProfile& reduced) {
  REQUIRE(reduced.regions.size() == whole.regions.size());
  for (const RegionProfile& wanted : whole.regions) {
    CAPTURE(wanted.name);
    const RegionProfile& found = region(reduced, wanted.name);
    CHECK(found.calls == Approx(wanted.calls).epsilon(1e-9));
    CHECK(found.inclusive_ns == Approx(wanted.inclusive_ns).epsilon(1e-9));
    CHECK(found.exclusive_ns == Approx(wanted.exclusive_ns).epsilon(1e-9));
  }
  REQUIRE(reduced.loops.size() == whole.loops.size());
  for (std::size_t i = 0; i < whole.loops.size(); ++i) {
    CHECK(reduced.loops[i].name == whole.loops[i].name);
    CHECK(reduced.loops[i].iterations == Approx(whole.loops[i].iterations));
    CHECK(reduced.loops[i].total_ns == Approx(whole.loops[i].total_ns));
    CHECK(reduced.loops[i].sends == Approx(whole.loops[i].sends));
  }
  CHECK(reduced.messages.sends == Approx(whole.messages.sends));
  CHECK(reduced.messages.bytes_sent == Approx(whole.messages.bytes_sent));
  check_efficiencies(reduced.efficiencies, whole.efficiencies, 1e-9);
}

// What SyntheticRun's iterations consist of: equal calls, and similar times.
inline void check_alike(const TraceProfile& reduced, const TraceProfile& whole,
                        double epsilon) {
  for (const char* name : {"work", "barrier", "MPI_Send"}) {
    CAPTURE(name);
    CHECK(region(reduced, name).calls == Approx(region(whole, name).calls));
    CHECK(region(reduced, name).exclusive_ns ==
          Approx(region(whole, name).exclusive_ns).epsilon(epsilon));
  }
}

}  // namespace refrain::analysis
