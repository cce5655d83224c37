#include "writer/agree/message_settlement.h"

#include <utility>
#include <vector>

#include "exchange/tree.h"

namespace refrain::writer {

// A failure in this process makes the round fail, but the round goes on: others wait for
// it.
template <typename Part>
void MessageSettlement::attempt(Part&& part) {
  try {
    if (open_) part();
  } catch (const std::exception&) {
    open_.reset();
  }
}

void MessageSettlement::up(std::optional<MessageSummary> own) {
  open_ = std::move(own);
  const exchange::TreePlace place = exchange::place_in(exchange_);
  attempt([&] { settle(place.rank, place.rank + 1, false); });
  for (const std::uint32_t child : place.children()) {
    const exchange::Bytes bytes = exchange_.receive(child);
    attempt([&] {
      const auto part = exchange::from_bytes<MessageSummary>(bytes);
      if (!part) return open_.reset();
      open_ = merge(std::move(*open_), *part);
      settle(place.rank, exchange::TreePlace{child, place.size}.end(), false);
    });
  }
  if (place.rank == 0) {
    attempt([&] { settle(0, place.size, true); });
  } else {
    exchange_.send(place.parent(), exchange::bytes_to_send(open_));
    if (open_) *open_ = {};
  }
}

std::optional<MessagePlan> MessageSettlement::down() {
  const exchange::TreePlace place = exchange::place_in(exchange_);
  if (place.rank != 0) {
    const exchange::Bytes bytes = exchange_.receive(place.parent());
    attempt([&] {
      auto above = exchange::from_bytes<MessagePlan>(bytes);
      if (!above) return open_.reset();
      plan_.channels.merge(above->channels);
      plan_.collectives.merge(above->collectives);
    });
  }
  for (exchange::Children children = place.children(); !children.empty();
       children.pop_back()) {
    const std::uint32_t child = children.back();
    std::optional<MessagePlan> part;
    attempt([&] { part = part_of(child, exchange::TreePlace{child, place.size}.end()); });
    exchange_.send(child, exchange::bytes_to_send(part));
  }
  if (!open_) return std::nullopt;
  std::erase_if(plan_.channels, [&](const auto& entry) {
    return entry.first.source != place.rank && entry.first.destination != place.rank;
  });
  return std::move(plan_);
}

void MessageSettlement::settle(std::uint32_t from, std::uint32_t to, bool all) {
  if (!open_) return;
  const auto within = [from, to](std::uint32_t rank) { return rank >= from && rank < to; };
  std::erase_if(open_->channels, [&](auto& entry) {
    auto& [channel, ends] = entry;
    if (!all && !(within(channel.source) && within(channel.destination))) return false;
    NumberRanges kept = intersect(ends.sent, ends.received);
    if (!kept.empty()) plan_.channels.emplace(channel, std::move(kept));
    return true;
  });
  std::erase_if(open_->collectives, [&](auto& entry) {
    const auto size = members_.find(entry.first);
    const bool complete = size != members_.end() && size->second == entry.second.count;
    if (complete) plan_.collectives.emplace(entry.first, std::move(entry.second.common));
    return complete || all;
  });
}

MessagePlan MessageSettlement::part_of(std::uint32_t from, std::uint32_t to) const {
  const auto within = [from, to](std::uint32_t rank) { return rank >= from && rank < to; };
  MessagePlan out;
  for (const auto& [channel, kept] : plan_.channels)
    if (within(channel.source) || within(channel.destination))
      out.channels.emplace(channel, kept);
  // Here it is not known who a communicator's members are.
  out.collectives = plan_.collectives;
  return out;
}

std::optional<MessagePlan> settle_messages(
    exchange::Exchange& exchange, std::optional<MessageSummary> own,
    const std::unordered_map<std::uint64_t, std::uint64_t>& members) {
  MessageSettlement settlement(exchange, members);
  settlement.up(std::move(own));
  return settlement.down();
}

}  // namespace refrain::writer
