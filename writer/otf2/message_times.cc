#include "writer/otf2/message_times.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace refrain::writer {
namespace {

using Entry = MessageTimes::Entry;

bool before(const Entry& a, const Entry& b) {
  return std::tie(a.channel, a.number) < std::tie(b.channel, b.number);
}

// Lets the ends meet that are both there.
void match(TimeSummary& summary) {
  std::vector<Entry> sends;
  std::vector<Entry> receives;
  auto receive = summary.receives.begin();
  for (const Entry& send : summary.sends) {
    for (; receive != summary.receives.end() && before(*receive, send); ++receive)
      receives.push_back(*receive);
    if (receive == summary.receives.end() || before(send, *receive)) {
      sends.push_back(send);
      continue;
    }
    ++summary.checked;
    summary.violations += receive->ticks < send.ticks;
    ++receive;
  }
  receives.insert(receives.end(), receive, summary.receives.end());
  summary.sends = std::move(sends);
  summary.receives = std::move(receives);
}

void add_sorted(std::vector<Entry>& to, const std::vector<Entry>& from) {
  const auto middle = static_cast<std::ptrdiff_t>(to.size());
  to.insert(to.end(), from.begin(), from.end());
  std::inplace_merge(to.begin(), to.begin() + middle, to.end(), before);
}

}  // namespace

void put(ByteWriter& out, const std::vector<MessageTimes::Entry>& entries) {
  out.number(entries.size());
  for (const Entry& entry : entries) {
    out.word(entry.channel.comm);
    for (const std::uint64_t value :
         {std::uint64_t{entry.channel.source}, std::uint64_t{entry.channel.destination},
          std::uint64_t{entry.channel.tag}, entry.number, entry.ticks})
      out.number(value);
  }
}

void take(ByteReader& in, std::vector<MessageTimes::Entry>& entries) {
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    Entry entry;
    entry.channel.comm = in.word();
    entry.channel.source = in.number32();
    entry.channel.destination = in.number32();
    entry.channel.tag = in.number32();
    entry.number = in.number();
    entry.ticks = in.number();
    entries.push_back(entry);
  }
}

TimeSummary time_summary(MessageTimes times) {
  TimeSummary out;
  out.sends = std::move(times.sends);
  out.receives = std::move(times.receives);
  std::sort(out.sends.begin(), out.sends.end(), before);
  std::sort(out.receives.begin(), out.receives.end(), before);
  match(out);
  return out;
}

TimeSummary merge(TimeSummary a, const TimeSummary& b) {
  a.checked += b.checked;
  a.violations += b.violations;
  add_sorted(a.sends, b.sends);
  add_sorted(a.receives, b.receives);
  match(a);
  return a;
}

void put(ByteWriter& out, const TimeSummary& summary) {
  out.number(summary.checked);
  out.number(summary.violations);
  put(out, summary.sends);
  put(out, summary.receives);
}

void take(ByteReader& in, TimeSummary& summary) {
  summary.checked = in.number();
  summary.violations = in.number();
  take(in, summary.sends);
  take(in, summary.receives);
  for (const auto* entries : {&summary.sends, &summary.receives})
    if (!std::is_sorted(entries->begin(), entries->end(), before)) in.fail();
}

}  // namespace refrain::writer
