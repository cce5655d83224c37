// What the processes of an MPI job must agree on before any of them can be written: the
// communicators, and the messages that have both ends.
//
// Place in the flow: ARCHITECTURE.md, step 7, between the models of the processes and the
// writing. What each process tells is put together pairwise, in a tree, so that the same
// functions serve where processes run apart.
// Thread-safety: one thread calls; work over locations is done in parallel.
// Ownership: the models refer to the MpiJob's tables, which must live longer.
// Cost: two passes over the records of processes that use MPI, without writing. Memory: see
// message_plan.h; one bit a request; message_times.h for the kMostChecked messages that are
// compared in time at most, and where their clocks are repaired, see clock_repair.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "writer/exchange/tree.h"
#include "writer/job/clock_repair.h"
#include "writer/process/clock_map.h"
#include "writer/process/process_model.h"

namespace refrain::writer {

inline constexpr std::size_t kMostChecked = std::size_t{1} << 21;

class MpiJob {
 public:
  using Models = std::vector<std::unique_ptr<ProcessModel>>;

  // `exchange`: to the processes whose models are not here; all of them call the same
  // functions. With others, each has its own process alone.
  explicit MpiJob(Exchange& exchange) : exchange_(exchange) {}

  // Whether any process told its rank.
  static bool is_job(const Models& models);

  // Cuts all ranks alike, see rank_cuts.h. To be done before anything else is asked of the
  // models' gaps.
  void cut(Models& models);
  // Gives each process its communicators. `first_comm`: reference of the first.
  void unite_comms(Models& models, OTF2_CommRef first_comm);
  // Which messages and requests get records. `locations`: of all processes that use MPI.
  // `repair`: clocks are corrected so that no message arrives before it was sent.
  void plan(Models& models, const RegionTable& regions, unsigned threads,
            std::uint64_t locations, bool repair);

  const CommTable& comms() const noexcept { return comms_; }
  const ClockMap& clock(std::size_t process) const { return clocks_[process]; }
  const std::vector<bool>& decided(std::size_t process, std::size_t location) const {
    return decided_[process][location];
  }
  // Of the messages that are kept: compared in time, and received before they were sent.
  std::uint64_t checked() const noexcept { return checked_; }
  std::uint64_t violations() const noexcept { return violations_; }
  std::uint64_t repaired() const noexcept { return repaired_; }  // of these, none any more
  // Of the models here: iterations of outermost loops that a rank wrote and others did not:
  // left out, and kept where the rank's pattern broke alone.
  std::uint64_t iterations_given_up() const noexcept { return given_up_; }
  std::uint64_t iterations_alone() const noexcept { return alone_; }

 private:
  MessagePlan plan_of(MessageSummary own);
  void compare_clocks(std::vector<std::vector<MessageTimes>>& times, bool repair);
  void count_violations(const std::vector<MessageEnds>& ends);
  void repair(std::vector<MessageEnds> ends);

  Exchange& exchange_;
  CommTable comms_;
  MessagePlan plan_;
  std::vector<ClockMap> clocks_;
  std::vector<std::vector<std::vector<bool>>> decided_;  // by process, location, request
  std::uint64_t checked_ = 0;
  std::uint64_t violations_ = 0;
  std::uint64_t repaired_ = 0;
  std::uint64_t given_up_ = 0;
  std::uint64_t alone_ = 0;
};

}  // namespace refrain::writer
