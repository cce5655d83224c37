// Which messages are kept, determined by all processes of a job together, without any of
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
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "exchange/exchange.h"
#include "writer/messages/message_plan.h"

namespace refrain::writer {

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

}  // namespace refrain::writer
