// What the processes of an MPI job must agree on before any of them can be written: the
// communicators, and the messages that have both ends.
//
// Place in the flow: ARCHITECTURE.md, stage 5, between the models of the processes and the
// writing. Summaries of the processes are merged pairwise, in a tree, so that the same
// functions also work where processes run separately.
// Thread-safety: one thread calls; work over locations is done in parallel.
// Ownership: its contexts refer to its own tables.
// Cost: two passes over the records of processes that use MPI, without writing. Memory: see
// message_plan.h; one bit a request; message_times.h for at most kMaxChecked messages that
// are compared in time; where clocks are repaired, see logical_clock.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "exchange/exchange.h"
#include "exchange/tree.h"
#include "writer/agree/logical_clock.h"
#include "writer/interpret/location_writer.h"
#include "writer/messages/clock_map.h"
#include "writer/messages/message_plan.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

// --- Which messages are kept, determined by all processes of a job together, without any of
// them knowing all channels.
//
// Place in the flow: ARCHITECTURE.md, stage 5; the summaries: message_plan.h, the tree:
// exchange/tree.h.
// What is still open goes up the tree: a channel is settled by the process whose subtree is
// the first that has both its ends, a communicator's collectives by the first that has all
// its members; the root settles the rest. Each keeps what it settled; down the tree goes
// the part of that, and of what came from above, that concerns the subtree below. So a
// process sends the surface of its subtree, not its volume: in a grid whose ranks lie row
// by row, no more than some planes of it, however many ranks there are.
//
// Thread-safety: none, one a process. Errors: as in tree.h.
// Cost: linear in what is sent. Memory: the channels that cross a border between the
// subtrees of this process' children, about 100 bytes each.

class MessageSettlement {
 public:
  // `members`: as in plan_messages(); must live longer. Ranks of the exchange are those of
  // the channels.
  MessageSettlement(exchange::Exchange& exchange,
                    const std::unordered_map<std::uint64_t, std::uint64_t>& members)
      : exchange_(exchange), members_(members) {}

  // The two halves; down() waits only for processes that have done up().
  void up(std::optional<MessageSummary> own);
  // What is kept of the messages that begin or end here.
  std::optional<MessagePlan> down();

 private:
  template <typename Part>
  void attempt(Part&& part);
  // Moves what is known about ranks [from, to) from `open_` into `plan_`; `all`:
  // everything.
  void settle(std::uint32_t from, std::uint32_t to, bool all);
  MessagePlan part_of(std::uint32_t from, std::uint32_t to) const;

  exchange::Exchange& exchange_;
  const std::unordered_map<std::uint64_t, std::uint64_t>& members_;
  std::optional<MessageSummary> open_;
  MessagePlan plan_;
};

// Both halves, in a job whose processes run at the same time.
std::optional<MessagePlan> settle_messages(
    exchange::Exchange& exchange, std::optional<MessageSummary> own,
    const std::unordered_map<std::uint64_t, std::uint64_t>& members);

inline constexpr std::size_t kMaxChecked = std::size_t{1} << 21;

class MpiJob {
 public:
  using Models = std::vector<std::unique_ptr<ProcessModel>>;

  // `exchange`: to the processes whose models are not here; all of them call the same
  // functions. If there are others, each has only its own process.
  explicit MpiJob(exchange::Exchange& exchange) : exchange_(exchange) {}

  // Returns true if any process knows its rank.
  static bool is_job(const Models& models);

  // Cuts all ranks alike, see rank_cuts.h. Comes before any other use of the models' gaps.
  void cut(Models& models);
  // Gives each process its communicators. `first_comm`, `first_group`: reference of the first.
  void unite_comms(Models& models, OTF2_CommRef first_comm, OTF2_GroupRef first_group);
  // Which messages and requests get records. `locations`: of all processes that use MPI.
  // `repair`: clocks are corrected so that no message arrives before it was sent.
  void plan(Models& models, const regions::RegionTable& regions, unsigned threads,
            std::uint64_t locations, bool repair);

  const CommTable& comms() const noexcept { return comms_; }
  const MpiContext& context(std::size_t process) const { return contexts_[process]; }
  const ClockMap& clock(std::size_t process) const { return clocks_[process]; }
  const std::vector<bool>& decided(std::size_t process, std::size_t location) const {
    return decided_[process][location];
  }
  // Of the kept messages: compared in time, and received before they were sent.
  std::uint64_t checked() const noexcept { return checked_; }
  std::uint64_t violations() const noexcept { return violations_; }
  std::uint64_t repaired() const noexcept {
    return repaired_;
  }  // of these, remaining after the repair
  // Of the models here: iterations of outermost loops that a rank wrote and others did not:
  // left out, or kept where only this rank's pattern broke.
  std::uint64_t iterations_given_up() const noexcept { return given_up_; }
  std::uint64_t iterations_alone() const noexcept { return alone_; }

 private:
  MessagePlan plan_of(MessageSummary own);
  void compare_clocks(std::vector<std::vector<MessageTimes>>& times, bool repair);
  void count_violations(const std::vector<MessageEnds>& ends);
  void repair(std::vector<MessageEnds> ends);

  exchange::Exchange& exchange_;
  CommTable comms_;
  MessagePlan plan_;
  std::vector<MpiContext> contexts_;  // by process
  std::vector<ClockMap> clocks_;
  std::vector<std::vector<std::vector<bool>>> decided_;  // by process, location, request
  std::uint64_t checked_ = 0;
  std::uint64_t violations_ = 0;
  std::uint64_t repaired_ = 0;
  std::uint64_t given_up_ = 0;
  std::uint64_t alone_ = 0;
};

}  // namespace refrain::writer
