// Comparisons of profiles, for tests.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "analysis/comparison/trace_profile.h"

namespace refrain::analysis {

inline const RegionProfile& region(const TraceProfile& profile, const std::string& name) {
  for (const RegionProfile& region : profile.regions)
    if (region.name == name) return region;
  FAIL("no region " << name);
  throw 0;
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
  for (const auto& [found, wanted] :
       {std::pair{reduced.threads_efficiency, whole.threads_efficiency},
        std::pair{reduced.mpi_efficiency, whole.mpi_efficiency}}) {
    CHECK(found.parallel == Approx(wanted.parallel).epsilon(1e-9));
    CHECK(found.load_balance == Approx(wanted.load_balance).epsilon(1e-9));
    CHECK(found.communication == Approx(wanted.communication).epsilon(1e-9));
  }
}

// What MadeUpRun's iterations consist of: equal calls, and similar times.
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
