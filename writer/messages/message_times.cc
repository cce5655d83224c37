#include "writer/messages/message_times.h"

#include <algorithm>
#include <utility>

#include "writer/messages/clock_map.h"

namespace refrain::writer {
namespace {

using ChannelEnd = ChannelTimes::End;

std::int64_t difference(std::uint64_t from, std::uint64_t to) {
  return static_cast<std::int64_t>(to - from);
}

void add_times(TimesByChannel& to, const TimesByChannel& from) {
  for (const auto& [channel, times] : from) {
    const auto [at, is_new] = to.try_emplace(channel, times);
    if (!is_new) at->second = ChannelTimes::merge(at->second, times);
  }
}

TimesByChannel sorted(const TimesByChannel& times, const ClockMap& clock) {
  TimesByChannel out;
  for (const auto& [channel, ends] : times)
    out.emplace_hint(out.end(), channel, ends.sorted(clock));
  return out;
}

// Matches the ends of a channel that are both there.
void match(TimeSummary& summary, ChannelTimes& sends, ChannelTimes& receives) {
  ChannelTimes sent;
  ChannelTimes received;
  ChannelTimes::Cursor send(sends);
  ChannelTimes::Cursor receive(receives);
  bool more_sends = send.next();
  bool more_receives = receive.next();
  while (more_sends || more_receives) {
    const bool alone =
        !more_sends || !more_receives || send.end().number != receive.end().number;
    const bool send_first =
        !more_receives || (more_sends && send.end().number < receive.end().number);
    if (alone && send_first) {
      sent.add(send.end());
    } else if (alone) {
      received.add(receive.end());
    } else {
      ++summary.checked;
      summary.violations += receive.end().ticks < send.end().ticks;
    }
    const bool had_send = !alone || send_first;
    const bool had_receive = !alone || !send_first;
    if (had_send) more_sends = send.next();
    if (had_receive) more_receives = receive.next();
  }
  sends = std::move(sent);
  receives = std::move(received);
}

void match(TimeSummary& summary) {
  auto& [sends, receives] = summary.ends;
  for (auto send = sends.begin(); send != sends.end();) {
    const auto receive = receives.find(send->first);
    if (receive == receives.end()) {
      ++send;
      continue;
    }
    match(summary, send->second, receive->second);
    if (receive->second.count() == 0) receives.erase(receive);
    send = send->second.count() == 0 ? sends.erase(send) : std::next(send);
  }
}

void put(exchange::ByteWriter& out, const TimesByChannel& times) {
  out.number(times.size());
  for (const auto& [channel, ends] : times) {
    out.word(channel.comm);
    out.number(channel.source);
    out.number(channel.destination);
    out.number(channel.tag);
    put(out, ends);
  }
}

void take(exchange::ByteReader& in, TimesByChannel& times) {
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    Channel channel;
    channel.comm = in.word();
    channel.source = in.number32();
    channel.destination = in.number32();
    channel.tag = in.number32();
    if (!times.empty() && !(times.rbegin()->first < channel)) return in.fail();
    take(in, times[channel]);
  }
}

}  // namespace

ChannelTimes::Cursor::Cursor(const ChannelTimes& times) noexcept
    : in_(times.code_.bytes()), left_(times.count_) {}

bool ChannelTimes::Cursor::next() noexcept {
  if (left_ == 0) return false;
  --left_;
  end_.number += static_cast<std::uint64_t>(in_.signed_number());
  end_.ticks += static_cast<std::uint64_t>(in_.signed_number());
  return true;
}

void ChannelTimes::add(ChannelEnd end) {
  if (count_ != 0 && end < last_) sorted_ = false;
  code_.signed_number(difference(last_.number, end.number));
  code_.signed_number(difference(last_.ticks, end.ticks));
  last_ = end;
  ++count_;
}

std::vector<ChannelEnd> ChannelTimes::ends() const {
  std::vector<ChannelEnd> out;
  out.reserve(count_);
  for (Cursor cursor(*this); cursor.next();) out.push_back(cursor.end());
  return out;
}

ChannelTimes ChannelTimes::sorted(const ClockMap& clock) const {
  ChannelTimes out;
  if (sorted_) {
    for (Cursor cursor(*this); cursor.next();)
      out.add({cursor.end().number, clock.to_global(cursor.end().ticks)});
    if (out.sorted_) return out;
  }
  std::vector<ChannelEnd> all = ends();
  for (ChannelEnd& end : all) end.ticks = clock.to_global(end.ticks);
  std::sort(all.begin(), all.end());
  out = {};
  for (const ChannelEnd& end : all) out.add(end);
  return out;
}

ChannelTimes ChannelTimes::merge(const ChannelTimes& a, const ChannelTimes& b) {
  ChannelTimes out;
  Cursor left(a);
  Cursor right(b);
  bool more_left = left.next();
  bool more_right = right.next();
  while (more_left || more_right) {
    const bool from_left = more_left && (!more_right || left.end() <= right.end());
    out.add(from_left ? left.end() : right.end());
    if (from_left) {
      more_left = left.next();
    } else {
      more_right = right.next();
    }
  }
  return out;
}

void put(exchange::ByteWriter& out, const ChannelTimes& times) {
  const exchange::Bytes& code = times.code_.bytes();
  out.number(times.count_);
  out.text({reinterpret_cast<const char*>(code.data()), code.size()});
}

void take(exchange::ByteReader& in, ChannelTimes& times) {
  const std::uint64_t count = in.number();
  const std::string code = in.text();
  exchange::ByteReader ends(
      {reinterpret_cast<const std::uint8_t*>(code.data()), code.size()});
  ChannelEnd end;
  for (std::uint64_t left = count; left != 0 && ends.ok(); --left) {
    end.number += static_cast<std::uint64_t>(ends.signed_number());
    end.ticks += static_cast<std::uint64_t>(ends.signed_number());
    if (ends.ok()) times.add(end);
  }
  if (!ends.done() || !times.sorted_) in.fail();
}

MessageEnds message_ends(const MessageTimes& times, const ClockMap& clock) {
  return {sorted(times.sends(), clock), sorted(times.receives(), clock)};
}

MessageEnds message_ends(const MessageEnds& ends, const ClockMap& clock) {
  return {sorted(ends.sends, clock), sorted(ends.receives, clock)};
}

MessageEnds merge(MessageEnds a, const MessageEnds& b) {
  add_times(a.sends, b.sends);
  add_times(a.receives, b.receives);
  return a;
}

void put(exchange::ByteWriter& out, const MessageEnds& ends) {
  put(out, ends.sends);
  put(out, ends.receives);
}

void take(exchange::ByteReader& in, MessageEnds& ends) {
  take(in, ends.sends);
  take(in, ends.receives);
}

TimeSummary time_summary(MessageEnds ends) {
  TimeSummary out{.ends = std::move(ends)};
  match(out);
  return out;
}

TimeSummary merge(TimeSummary a, const TimeSummary& b) {
  a.checked += b.checked;
  a.violations += b.violations;
  a.ends = merge(std::move(a.ends), b.ends);
  match(a);
  return a;
}

void put(exchange::ByteWriter& out, const TimeSummary& summary) {
  out.number(summary.checked);
  out.number(summary.violations);
  put(out, summary.ends);
}

void take(exchange::ByteReader& in, TimeSummary& summary) {
  summary.checked = in.number();
  summary.violations = in.number();
  take(in, summary.ends);
}

}  // namespace refrain::writer
