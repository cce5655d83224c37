// Many runs of one program against the smallest: POP's factors, where the loss is, how it grows, and what caused it.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: pure. Definitions: docs/reference/scaling.md.
// Units: ns of all threads where nothing else is said; shares and efficiencies of 1.
// Shapes: what is by run is in the order of `runs`: by threads, then processes; the first is the base.
// Errors: fewer than two runs; runs of different programs; a loop that not all runs have.
// Cost: places of all runs x log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/growth_model.h"
#include "analysis/scaling/scale.h"
#include "base/result.h"

namespace refrain::analysis {

struct ScalingOptions {
  bool whole = false;        // not the main loop, but the whole run
  std::string loop;          // that loop: its place, or a part of it
  std::optional<bool> weak;  // the problem grows with the run; none: seen from the work
  double at =
      0;  // threads, for which models are extrapolated; 0: four times those of the largest run
};

// Of a run, or its part, against the base.
struct Factors {
  std::size_t processes = 0;
  std::size_t threads = 0;
  std::size_t repeats = 1;  // Scale::repeats
  double spread = 0;
  double time_ns =
      0;  // of the run; of a loop, if its numbers of iterations are nearly equal, of as many as the base has
  std::uint64_t iterations = 0;
  double speedup = 1;  // weak: of the problem that grows with the threads
  double global = 0;   // parallel efficiency x computation scaling
  RunEfficiencies efficiencies;
  double transfer = 0;     // time on an ideal network / time; 0: not known
  double computation = 1;  // may be above 1
  bool counted = false;    // the next three, of which it is the product
  double instructions = 1;
  double ipc = 1;
  double frequency = 1;

  // Communication is the product of this and transfer; of all threads, and of MPI's part. Not where transfer is not known.
  double serialization() const { return efficiencies.communication / transfer; }
  double mpi_serialization() const { return efficiencies.mpi_communication / transfer; }
};

// What is lost from one run to the next one up, of the part. Points are hundredths of parallel efficiency, divided among the factors
// by their logarithms.
struct ScaleStep {
  struct Loss {
    const char* factor = "";  // as in JSON
    double points = 0;
  };
  // The call of MPI whose share of the time of all threads, of the whole run, has grown most; before and now.
  struct Call {
    std::string place;  // empty: none has grown by half a point
    double points = 0;
    bool messages = false;                   // else calls are counted
    double count_before = 0, count_now = 0;  // of a process, in the mean
    double bytes_before = 0, bytes_now = 0;  // of one
  };
  std::size_t from = 0, to = 0;  // runs
  double points = 0;             // negative: gained
  std::vector<Loss> losses;      // most first; not those of less than half a point
  Call call;
};

struct PlaceLoss {
  PlaceTime::Kind kind = PlaceTime::Kind::kCallPath;
  std::string text;
  bool mpi = false;  // a call of MPI
  std::vector<double> ns;
  std::vector<double> calls, messages, moved;  // visits, messages, bytes of all threads
  std::vector<double>
      lost_ns;  // more than the base, or than it would be for a problem so large
  // Of time: strong: of all threads; weak: of one, in the mean. Of visits and bytes likewise.
  std::optional<GrowthModel> time, visits, bytes;
  GrowthModel::Interval share;  // of the time of all threads at Scaling::at, by models
};

struct Scaling {
  std::string program;  // of the first run: its file
  std::vector<std::string> names;
  bool mpi = false;
  bool weak = false;
  std::string weak_why;  // a sentence
  std::string part;      // place of the loop; empty: the whole run
  std::vector<Factors> factors;
  std::vector<double> all_ns;     // of the whole run
  std::vector<PlaceLoss> losses;  // by kind, then loss in the largest run
  std::size_t scales = 0;         // different numbers of threads
  double at = 0;                  // where models are extrapolated to; 0: too few scales
  std::vector<ScaleStep> steps;
  std::vector<std::string> findings;  // from scale to scale
  std::vector<std::string> notes;
};

// Fails where a run is of another program than the first one.
base::Result<> of_one_program(const std::vector<Scale>& runs);

// Of runs on equally many processes and threads the one with the median time (of an even number, the longer one), without start and
// end of MPI; all of them, if there is one scale only.
std::vector<Scale> medians_of(std::vector<Scale> runs);

base::Result<Scaling> scaling_of(std::vector<Scale> runs, const ScalingOptions& options);

}  // namespace refrain::analysis
