#include "writer/messages/message_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace refrain::writer {
namespace {

// Channels in an order in which neighbours often have the same communicator.
class ChannelWriter {
 public:
  explicit ChannelWriter(exchange::ByteWriter& out) : out_(out) {}
  void put(const Channel& channel) {
    const bool same = !first_ && channel.comm == comm_;
    out_.number(same ? 1 : 0);
    if (!same) out_.word(channel.comm);
    out_.number(channel.source);
    out_.number(channel.destination);
    out_.number(channel.tag);
    comm_ = channel.comm;
    first_ = false;
  }

 private:
  exchange::ByteWriter& out_;
  std::uint64_t comm_ = 0;
  bool first_ = true;
};

class ChannelReader {
 public:
  explicit ChannelReader(exchange::ByteReader& in) : in_(in) {}
  Channel take() {
    Channel channel;
    if (in_.number_to(1) == 0) comm_ = in_.word();
    channel.comm = comm_;
    channel.source = in_.number32();
    channel.destination = in_.number32();
    channel.tag = in_.number32();
    return channel;
  }

 private:
  exchange::ByteReader& in_;
  std::uint64_t comm_ = 0;
};

template <typename Map>
std::vector<const typename Map::value_type*> in_order(const Map& map) {
  std::vector<const typename Map::value_type*> out;
  out.reserve(map.size());
  for (const auto& entry : map) out.push_back(&entry);
  std::sort(out.begin(), out.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  return out;
}

}  // namespace

std::size_t ChannelHash::operator()(const Channel& channel) const noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::uint64_t hash = channel.comm;
  for (const std::uint64_t part :
       {std::uint64_t{channel.source} << 32 | channel.destination,
        std::uint64_t{channel.tag}}) {
    hash = (hash ^ part) * kOdd;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

void add_location(MessageSummary& process, MessageLog& log) {
  for (auto& [channel, numbers] : log.sent) {
    numbers.normalize();
    NumberRanges& known = process.channels[channel].sent;
    known = unite(known, numbers);
  }
  for (auto& [channel, numbers] : log.received) {
    numbers.normalize();
    NumberRanges& known = process.channels[channel].received;
    known = unite(known, numbers);
  }
  for (auto& [comm, numbers] : log.collectives) {
    numbers.normalize();
    MessageSummary::Members& known = process.collectives[comm];
    known.count = 1;
    known.common = unite(known.common, numbers);
  }
}

MessageSummary merge(MessageSummary a, const MessageSummary& b) {
  for (const auto& [channel, ends] : b.channels) {
    MessageSummary::Ends& known = a.channels[channel];
    known.sent = unite(known.sent, ends.sent);
    known.received = unite(known.received, ends.received);
  }
  for (const auto& [comm, members] : b.collectives) {
    const auto [at, is_new] = a.collectives.try_emplace(comm, members);
    if (is_new) continue;
    at->second.count += members.count;
    at->second.common = intersect(at->second.common, members.common);
  }
  return a;
}

void put(exchange::ByteWriter& out, const MessageSummary& summary) {
  out.number(summary.channels.size());
  ChannelWriter channels(out);
  for (const auto& [channel, ends] : summary.channels) {
    channels.put(channel);
    put(out, ends.sent);
    put(out, ends.received);
  }
  out.number(summary.collectives.size());
  for (const auto& [comm, members] : summary.collectives) {
    out.word(comm);
    out.number(members.count);
    put(out, members.common);
  }
}

void take(exchange::ByteReader& in, MessageSummary& summary) {
  ChannelReader channels(in);
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    const Channel channel = channels.take();
    MessageSummary::Ends ends;
    take(in, ends.sent);
    take(in, ends.received);
    const std::size_t before = summary.channels.size();
    summary.channels.emplace_hint(summary.channels.end(), channel, std::move(ends));
    if (summary.channels.size() == before) in.fail();
  }
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    const std::uint64_t comm = in.word();
    MessageSummary::Members members;
    members.count = in.number();
    take(in, members.common);
    if (!summary.collectives.emplace(comm, std::move(members)).second) in.fail();
  }
}

void put(exchange::ByteWriter& out, const MessagePlan& plan) {
  out.number(plan.channels.size());
  ChannelWriter channels(out);
  for (const auto* entry : in_order(plan.channels)) {
    channels.put(entry->first);
    put(out, entry->second);
  }
  out.number(plan.collectives.size());
  for (const auto* entry : in_order(plan.collectives)) {
    out.word(entry->first);
    put(out, entry->second);
  }
}

void take(exchange::ByteReader& in, MessagePlan& plan) {
  ChannelReader channels(in);
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    const Channel channel = channels.take();
    NumberRanges numbers;
    take(in, numbers);
    if (!plan.channels.emplace(channel, std::move(numbers)).second) in.fail();
  }
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    const std::uint64_t comm = in.word();
    NumberRanges numbers;
    take(in, numbers);
    if (!plan.collectives.emplace(comm, std::move(numbers)).second) in.fail();
  }
}

bool MessagePlan::keeps(const Channel& channel, std::uint64_t number) const noexcept {
  const auto found = channels.find(channel);
  return found != channels.end() && found->second.contains(number);
}

bool MessagePlan::keeps_collective(std::uint64_t comm,
                                   std::uint64_t number) const noexcept {
  const auto found = collectives.find(comm);
  return found != collectives.end() && found->second.contains(number);
}

MessagePlan plan_messages(const MessageSummary& all,
                          const std::unordered_map<std::uint64_t, std::uint64_t>& members) {
  MessagePlan plan;
  for (const auto& [channel, ends] : all.channels) {
    NumberRanges kept = intersect(ends.sent, ends.received);
    if (!kept.empty()) plan.channels.emplace(channel, std::move(kept));
  }
  for (const auto& [comm, known] : all.collectives) {
    const auto size = members.find(comm);
    if (size != members.end() && size->second == known.count)
      plan.collectives.emplace(comm, known.common);
  }
  return plan;
}

void NumberRanges::add(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  if (!ranges_.empty() && ranges_.back().end == begin) {
    ranges_.back().end = end;
    return;
  }
  ranges_.push_back({begin, end});
  if (ranges_.size() < compact_at_) return;
  normalize();
  compact_at_ = std::max<std::size_t>(64, 2 * ranges_.size());
}

void NumberRanges::normalize() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (kept != 0 && ranges_[i].begin <= ranges_[kept - 1].end) {
      ranges_[kept - 1].end = std::max(ranges_[kept - 1].end, ranges_[i].end);
    } else {
      ranges_[kept++] = ranges_[i];
    }
  }
  ranges_.resize(kept);
}

bool NumberRanges::contains(std::uint64_t number) const noexcept {
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), number,
      [](std::uint64_t value, const Range& range) { return value < range.begin; });
  return after != ranges_.begin() && number < (after - 1)->end;
}

std::uint64_t NumberRanges::count() const noexcept {
  std::uint64_t count = 0;
  for (const Range& range : ranges_) count += range.end - range.begin;
  return count;
}

NumberRanges unite(const NumberRanges& a, const NumberRanges& b) {
  if (b.empty()) return a;
  if (a.empty()) return b;
  NumberRanges out = a;
  for (const auto& range : b.ranges()) out.add(range.begin, range.end);
  out.normalize();
  return out;
}

NumberRanges intersect(const NumberRanges& a, const NumberRanges& b) {
  NumberRanges out;
  auto left = a.ranges().begin();
  auto right = b.ranges().begin();
  while (left != a.ranges().end() && right != b.ranges().end()) {
    out.add(std::max(left->begin, right->begin), std::min(left->end, right->end));
    if (left->end < right->end) {
      ++left;
    } else {
      ++right;
    }
  }
  return out;
}

NumberRanges complement(const NumberRanges& of, std::uint64_t begin, std::uint64_t end) {
  NumberRanges out;
  for (const auto& range : of.ranges()) {
    out.add(begin, std::min(range.begin, end));
    begin = std::max(begin, range.end);
  }
  out.add(begin, end);
  return out;
}

// Each range by its distance from the one before, and its length.
void put(exchange::ByteWriter& out, const NumberRanges& ranges) {
  out.number(ranges.ranges().size());
  std::uint64_t end = 0;
  for (const auto& range : ranges.ranges()) {
    out.number(range.begin - end);
    out.number(range.end - range.begin);
    end = range.end;
  }
}

void take(exchange::ByteReader& in, NumberRanges& ranges) {
  std::uint64_t end = 0;
  const std::size_t count = in.count();
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    const std::uint64_t hole = in.number_to(UINT64_MAX - end);
    const std::uint64_t begin = end + hole;
    const std::uint64_t length = in.number_to(UINT64_MAX - begin);
    if (length == 0 || (i != 0 && hole == 0)) in.fail();
    end = begin + length;
    if (in.ok()) ranges.add(begin, end);
  }
}

}  // namespace refrain::writer
