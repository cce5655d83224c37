#include "writer/spool/journal.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace refrain::spool {
namespace {

class JournalParser {
 public:
  explicit JournalParser(const RecordSequence& log) { out_.log = log; }

  Journal parse() {
    const std::size_t size = out_.log.size();
    for (index_ = 0; index_ < size; ++index_) {
      const Record& record = out_.log[index_];
      if (record.kind == kText) {
        take_text(record);
        continue;
      }
      out_.last_ticks = std::max(out_.last_ticks, record.ticks);
      take(record);
    }
    while (!open_.empty()) close_visit(open_.begin()->first, size);
    finish();
    return std::move(out_);
  }

 private:
  void take(const Record& record) {
    switch (record.kind) {
      case kGapHold:
      case kGapResume:
        take_gap(record);
        break;
      case kLoopFound:
      case kLoopBody:
        take_loop(record);
        break;
      case kIteration:
        take_iteration(record);
        break;
      case kLoopMismatch:
        out_.mismatches.push_back({record.aux32, record.payload, record.ticks});
        break;
      case kLoopLeft:
        take_left(record);
        break;
      case kClockPair:
        if (out_.first_clock.ns == 0) out_.first_clock = {record.ticks, record.payload};
        out_.last_clock = {record.ticks, record.payload};
        break;
      case kHeldSummary:
      case kHeldValue:
        take_summary(record);
        break;
      case kLimitReached:
        out_.limits.push_back({record.ticks, record.sub, record.payload});
        break;
      default:
        break;
    }
  }

  void take_text(const Record& record) {
    const std::uint64_t bytes = record.a48();
    const std::size_t left = out_.log.size() - index_ - 1;
    if (bytes > left * kRecordBytes) {  // cut off: what follows cannot be trusted
      index_ = out_.log.size();
      return;
    }
    std::string text(bytes, '\0');
    for (std::uint64_t done = 0; done < bytes; done += kRecordBytes)
      std::memcpy(text.data() + done, &out_.log[++index_],
                  std::min<std::uint64_t>(kRecordBytes, bytes - done));
    if (record.sub == kTextModule) {
      out_.modules.push_back(std::move(text));
    } else {
      out_.texts[record.sub] = std::move(text);
    }
  }

  void take_gap(const Record& record) {
    JournalGap& gap = gaps_[record.a48()];
    gap.id = record.a48();
    if (record.kind == kGapHold) {
      gap.hold_epoch = record.payload;
      gap.hold_ticks = record.ticks;
      gap.hold_reason = record.sub;
    } else {
      gap.resumed = true;
      gap.resume_epoch = record.payload;
      gap.resume_ticks = record.ticks;
      gap.resume_reason = record.sub;
    }
  }

  void take_loop(const Record& record) {
    Loop& loop = out_.loops[record.aux32];
    loop.id = record.aux32;
    if (record.kind == kLoopFound) {
      close_visit(record.aux32, index_);
      LoopVisit& visit = open_visit(record);
      visit.visit = static_cast<std::uint32_t>(record.payload >> 32);
      visit.found_ticks = record.ticks;
      loop.body_events =
          std::max(loop.body_events, static_cast<std::uint32_t>(record.payload));
      return;
    }
    constexpr std::size_t kMostBodyEvents = 65536;
    if (record.aux16 >= kMostBodyEvents) return;
    if (record.aux16 >= loop.body.size()) loop.body.resize(record.aux16 + std::size_t{1});
    loop.body[record.aux16] = {record.sub, static_cast<std::uint16_t>(record.payload >> 48),
                               record.payload & kAddressMask};
  }

  LoopVisit& open_visit(const Record& record) {
    LoopVisit& visit = open_[record.aux32];
    visit.loop = record.aux32;
    visit.level = record.aux16;
    visit.first_record = index_;
    visit.found_ticks = record.ticks;
    return visit;
  }

  void take_iteration(const Record& record) {
    out_.loops[record.aux32].id = record.aux32;
    const auto known = open_.find(record.aux32);
    LoopVisit& visit = known != open_.end() ? known->second : open_visit(record);
    if (visit.begun == 0) visit.first_ticks = record.ticks;
    visit.level = record.aux16;
    visit.complete = record.payload;
    ++visit.begun;
  }

  void take_left(const Record& record) {
    const auto known = open_.find(record.aux32);
    if (known == open_.end()) return;
    LoopVisit& visit = known->second;
    visit.left = true;
    visit.left_ticks = record.ticks;
    visit.complete = record.payload;
    close_visit(record.aux32, index_ + 1);
  }

  void close_visit(std::uint32_t loop, std::size_t end) {
    const auto known = open_.find(loop);
    if (known == open_.end()) return;
    known->second.end_record = end;
    if (known->second.begun != 0) out_.visits.push_back(known->second);
    open_.erase(known);
  }

  void take_summary(const Record& record) {
    if (record.kind == kHeldSummary) {
      out_.summaries.push_back({record.ticks, record.aux32, record.payload, 0, 0, 0});
      return;
    }
    if (out_.summaries.empty()) return;
    HeldSummary& summary = out_.summaries.back();
    if (record.sub == 0) summary.total = record.payload;
    if (record.sub == 1) summary.least = record.payload;
    if (record.sub == 2) summary.greatest = record.payload;
  }

  void finish() {
    for (auto& [id, gap] : gaps_) out_.gaps.push_back(gap);
    out_.marks_summary =
        !out_.summaries.empty() ||
        out_.text(kTextSettings).find("marks=summary\n") != std::string::npos;
    std::stable_sort(
        out_.visits.begin(), out_.visits.end(), [](const LoopVisit& a, const LoopVisit& b) {
          return std::tie(a.first_ticks, a.level) < std::tie(b.first_ticks, b.level);
        });
  }

  Journal out_;
  std::size_t index_ = 0;
  std::map<std::uint32_t, LoopVisit> open_;
  std::map<std::uint64_t, JournalGap> gaps_;
};

}  // namespace

void DurationSums::add(std::uint64_t ticks) noexcept {
  least = count == 0 ? ticks : std::min(least, ticks);
  greatest = std::max(greatest, ticks);
  ++count;
  const auto value = static_cast<double>(ticks);
  total += value;
  squares += value * value;
}

void DurationSums::add(const HeldSummary& held) noexcept {
  if (held.iterations == 0) return;
  least = count == 0 ? held.least : std::min(least, held.least);
  greatest = std::max(greatest, held.greatest);
  count += held.iterations;
  const auto sum = static_cast<double>(held.total);
  total += sum;
  squares += sum * sum / static_cast<double>(held.iterations);
}

std::string Journal::text(TextKey key) const {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string() : found->second;
}

Journal parse_journal(const RecordSequence& log) { return JournalParser(log).parse(); }

}  // namespace refrain::spool
