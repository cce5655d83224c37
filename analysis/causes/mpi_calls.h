// Calls of MPI that can wait, by name and place, of all processes; and whose waits are the doing of which.
//
// Place in the flow: private to analysis/causes; of call trees. Thread-safety: pure. Units: ns of all threads of a process, those
// without work meanwhile included. Cost: O(call paths x threads); memory: a few numbers for each call and process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/profile/run_profile.h"

namespace refrain::analysis {

struct MpiCall {
  enum class Kind : std::uint8_t { kSend, kReceive, kBarrier, kCollective };

  std::string name;  // "MPI_Recv @ring.c:9"
  std::uint32_t path = RunProfile::kNone;
  Kind kind = Kind::kCollective;
  std::uint64_t visits = 0;
  std::uint64_t bytes = 0;  // of a call
  double fastest_ns = 0;
  std::vector<double>
      time_ns;                // by process: in the call itself, of the threads that make it
  std::vector<double> calls;  // by process
  // By process: what no rank with more work explains. Then without what is another call's doing, and with what others wait for this one.
  std::vector<double> lost_ns;
  double others_ns = 0;  // in lost_ns, but of others

  double total_ns() const;  // time_ns of all
  double total_lost() const;
  double mean_ns(std::size_t process) const;
  bool is_of_messages() const { return kind == Kind::kSend || kind == Kind::kReceive; }
  // What it could take, at the fastest, or on any network of today.
  double possible_ns() const;
  bool is_long(double each_ns) const { return each_ns >= kLong * possible_ns(); }
  // It asks whether something has come, and goes on.
  bool polls() const;
  // Short, and nobody waits in it: what it takes is its own cost.
  bool is_fine() const;

  static constexpr double kLong = 8;
};

std::vector<MpiCall> mpi_calls(const RunProfile& profile);

// What is known of the waits of a process.
struct WaitsOfProcess {
  double threads = 1;
  double explained = 0;  // share of its time in MPI
  double chained_ns =
      0;  // of its waits in collective calls: for ranks that are in their messages
  double in_turn_ns = 0;  // of others' for it
};

// Sets lost_ns and others_ns: collective calls that wait for ranks which are in their messages are those messages' doing; receives
// that wait for ranks whose sends take long are those sends'.
void charge_waits(std::vector<MpiCall>& calls,
                  const std::vector<WaitsOfProcess>& processes);

}  // namespace refrain::analysis
