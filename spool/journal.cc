#include "spool/journal.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "spool/format.h"

namespace refrain::spool {
namespace {

// A damaged record ends the chain.
CallChain parse_call_chain(std::string_view text) {
  const auto number = [&text](char end) {
    std::uint64_t value = 0;
    const auto [at, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, 16);
    text.remove_prefix(static_cast<std::size_t>(at - text.data()));
    const bool ends = text.empty() ? end == ' ' : text.front() == end;
    if (error != std::errc() || !ends) return std::pair(value, false);
    if (!text.empty()) text.remove_prefix(1);
    return std::pair(value, true);
  };
  CallChain chain;
  for (bool more = true; more;) {
    more = text.find(',') < text.find(' ');
    const auto [loop, ok] = number(more ? ',' : ' ');
    if (!ok) return {};
    chain.loops.push_back(static_cast<std::uint32_t>(loop));
  }
  const auto [place, ok] = number(' ');
  if (!ok) return {};
  chain.place = {static_cast<std::uint8_t>(place >> 58),
                 static_cast<std::uint16_t>(place >> 48 & 0x3ff), place & kAddressMask};
  while (!text.empty()) {
    const auto [address, colon] = number(':');
    if (!colon) break;
    const auto [cfa, space] = number(' ');
    if (!space) break;
    chain.frames.push_back({address, cfa});
  }
  return chain;
}

class JournalParser {
 public:
  explicit JournalParser(const RecordSequence& log) { out_.log = log; }

  Journal parse(const RecordSequence& facts) {
    const std::size_t size = out_.log.size();
    for (index_ = 0; index_ < size; ++index_) {
      const Record& record = out_.log[index_];
      if (record.kind == kText) {
        take_text(record, out_.log, index_);
        continue;
      }
      out_.last_ticks = std::max(out_.last_ticks, record.ticks);
      take(record);
    }
    while (!open_.empty()) close_visit(open_.begin()->first, size);
    for (std::size_t index = 0; index < facts.size(); ++index) {
      const Record& record = facts[index];
      if (record.kind == kText) {
        take_text(record, facts, index);
        continue;
      }
      out_.last_ticks = std::max(out_.last_ticks, record.ticks);
      out_.mpi.take(record);
    }
    finish();
    return std::move(out_);
  }

 private:
  void take(const Record& record) {
    switch (record.kind) {
      case kGapSuspend:
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
      case kMarksEnd:
        take_left(record);
        break;
      case kClockPair:
        if (out_.first_clock.ns == 0) out_.first_clock = {record.ticks, record.payload};
        out_.last_clock = {record.ticks, record.payload};
        break;
      case kSkippedSummary:
      case kSkippedValue:
        take_summary(record);
        break;
      case kSlowIteration:
      case kSlowValue:
        take_slow(record);
        break;
      case kMemory:
        out_.memory.push_back({record.ticks, record.payload});
        break;
      case kLimitReached:
        out_.limits.push_back({record.ticks, record.sub, record.payload});
        break;
      default:
        out_.mpi.take(record);
        break;
    }
  }

  // `record` is the one at `index` of `log`, which goes on to the text's last.
  void take_text(const Record& record, const RecordSequence& log, std::size_t& index) {
    const std::uint64_t bytes = record.a48();
    const std::size_t left = log.size() - index - 1;
    if (bytes > left * kRecordBytes) {  // cut off: the rest cannot be trusted
      index = log.size();
      return;
    }
    std::string text(bytes, '\0');
    for (std::uint64_t done = 0; done < bytes; done += kRecordBytes)
      std::memcpy(text.data() + done, &log[++index],
                  std::min<std::uint64_t>(kRecordBytes, bytes - done));
    if (record.sub == kTextModule) {
      out_.modules.push_back(std::move(text));
    } else if (record.sub == kTextCallers) {
      CallChain chain = parse_call_chain(text);
      if (!chain.frames.empty()) out_.chains.push_back(std::move(chain));
    } else if (record.sub == kTextLoopCode || record.sub == kTextLoopSource) {
      take_loop_code(text, record.sub == kTextLoopSource);
    } else {
      out_.mpi.take_text(record.sub, text);
      out_.user.take_text(record.sub, text);
      out_.texts[record.sub] = std::move(text);
    }
  }

  void take_loop_code(const std::string& text, bool source) {
    std::vector<std::uint64_t> numbers;
    const char* at = text.data();
    for (; at < text.data() + text.size() && (!source || numbers.size() != 4); ++at) {
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(at, text.data() + text.size(), number, 16);
      if (error != std::errc{}) return;
      numbers.push_back(number);
      at = end;
    }
    if (numbers.size() < (source ? 4 : 2)) return;
    LoopCode& code = out_.loop_code[static_cast<std::uint32_t>(numbers[0])];
    code.header = numbers[1];
    if (!source) {
      code.calls.assign(numbers.begin() + 2, numbers.end());
      return;
    }
    code.first_line = static_cast<std::uint32_t>(numbers[2]);
    code.last_line = static_cast<std::uint32_t>(numbers[3]);
    const std::size_t begin =
        std::min<std::size_t>(text.size(), static_cast<std::size_t>(at - text.data()));
    const std::size_t end = text.find(kTextSeparator, begin);
    code.function = text.substr(begin, end - begin);
    if (end != std::string::npos) code.file = text.substr(end + 1);
  }

  void take_gap(const Record& record) {
    JournalGap& gap = gaps_[record.a48()];
    gap.id = record.a48();
    latest_summary_.clear();
    if (record.kind == kGapSuspend) {
      gap.suspend_epoch = record.payload;
      gap.suspend_ticks = record.ticks;
      gap.suspend_reason = record.sub;
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

  // The sums of one gap may come in several parts.
  void take_summary(const Record& record) {
    if (record.kind == kSkippedSummary) {
      out_.loops[record.aux32].id = record.aux32;
      const auto [at, is_new] =
          latest_summary_.try_emplace(record.a48(), out_.summaries.size());
      if (is_new) out_.summaries.push_back({.loop = record.aux32});
      summary_ = at->second;
      summary_part_ = record.payload;
      SkippedSummary& summary = out_.summaries[summary_];
      summary.ticks = record.ticks;
      summary.iterations += record.payload;
      return;
    }
    if (summary_ >= out_.summaries.size()) return;
    SkippedSummary& summary = out_.summaries[summary_];
    const bool first = summary.iterations == summary_part_;
    switch (record.sub) {
      case kSkippedTotal:
        summary.total += record.payload;
        break;
      case kSkippedLeast:
        if (summary_part_ == 0) break;
        summary.least = first ? record.payload : std::min(summary.least, record.payload);
        break;
      case kSkippedGreatest:
        summary.greatest = std::max(summary.greatest, record.payload);
        break;
      case kSkippedVisits:
        summary.visits += record.payload;
        break;
      case kSkippedParent:
        summary.parent = static_cast<std::uint32_t>(record.payload);
        break;
      default:
        break;
    }
  }

  void take_slow(const Record& record) {
    if (record.kind == kSlowIteration) {
      out_.slow.push_back(
          {.ticks = record.ticks, .loop = record.aux32, .number = record.payload});
      return;
    }
    if (out_.slow.empty()) return;
    SlowIteration& slow = out_.slow.back();
    if (record.sub == kSlowDuration) slow.duration = record.payload;
    if (record.sub == kSlowMedian) slow.median = record.payload;
    if (record.sub == kSlowMad) slow.mad = record.payload;
  }

  void finish() {
    for (auto& [id, gap] : gaps_) out_.gaps.push_back(gap);
    const std::string settings = out_.text(kTextSettings);
    out_.summary_only = settings.find("summary_only=yes\n") != std::string::npos;
    out_.marks_summary = settings.find("marks=summary\n") != std::string::npos ||
                         (settings.empty() && !out_.summaries.empty());
    out_.mpi.finish();
    nest_visits(out_.visits);
  }

  Journal out_;
  std::size_t index_ = 0;
  std::map<std::uint32_t, LoopVisit> open_;
  std::map<std::uint64_t, JournalGap> gaps_;
  std::map<std::uint64_t, std::size_t> latest_summary_;  // by loop and the one around
  std::size_t summary_ = ~std::size_t{0};
  std::uint64_t summary_part_ = 0;  // iterations of the part being read
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

void DurationSums::add(const SkippedSummary& skipped) noexcept {
  if (skipped.iterations == 0) return;
  least = count == 0 ? skipped.least : std::min(least, skipped.least);
  greatest = std::max(greatest, skipped.greatest);
  count += skipped.iterations;
  const auto sum = static_cast<double>(skipped.total);
  total += sum;
  squares += sum * sum / static_cast<double>(skipped.iterations);
}

std::string Journal::text(TextKey key) const {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string() : found->second;
}

LoopLimits Journal::loop_limits() const {
  LoopLimits limits;
  std::istringstream in(text(kTextLoopLimits));
  in >> limits.functions >> limits.events >> limits.paths >> limits.turns;
  return limits;
}

Journal parse_journal(const RecordSequence& log, const RecordSequence& facts) {
  return JournalParser(log).parse(facts);
}

namespace {

// The number that a text begins with, and the blank after it.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ')
    return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return number;
}

// "unit kind name" a line.
std::vector<Metric> metrics_of(std::string_view text) {
  std::vector<Metric> metrics;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t unit = line.find(' ');
    const std::size_t kind = unit == line.npos ? unit : line.find(' ', unit + 1);
    if (kind == line.npos) continue;
    metrics.push_back(
        {std::string(line.substr(0, unit)), std::string(line.substr(kind + 1))});
  }
  return metrics;
}

// "address calls ticks", in hexadecimal.
std::optional<FunctionOff> function_off(std::string_view text) {
  FunctionOff off;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint64_t* value : {&off.address, &off.calls, &off.ticks}) {
    while (at != end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, *value, 16);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  return off;
}

}  // namespace

void UserJournal::take_text(std::uint8_t key, const std::string& text) {
  if (key == kTextMetrics) metrics = metrics_of(text);
  if (key == kTextFunctions)
    if (const auto off = function_off(text)) functions_off.push_back(*off);
  std::string_view rest = text;
  if (key != kTextUserRegion && key != kTextUserParameter && key != kTextUserString &&
      key != kTextThreadName)
    return;
  const auto number = take_number(rest);
  if (!number) return;
  if (key == kTextThreadName) {
    std::vector<std::string>& names = thread_names[*number];
    if (names.empty() || names.back() != rest) names.emplace_back(rest);
    return;
  }
  if (key == kTextUserParameter) parameters[*number] = rest;
  if (key == kTextUserString) strings[*number] = rest;
  if (key != kTextUserRegion) return;
  const auto name = take_number(rest);
  const auto line = name ? take_number(rest) : std::nullopt;
  if (!line) return;
  const auto take_part = [&rest] {
    const std::size_t end = std::min(rest.find(kTextSeparator), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
  };
  UserRegion& region = regions[*number];
  region.name = *name;
  region.line = *line;
  region.text = take_part();
  region.file = take_part();
  region.construct = take_part();
  region.type = take_part();
}

UserRegion UserJournal::region(std::uint32_t number) const {
  const auto found = regions.find(number);
  UserRegion region = found == regions.end() ? UserRegion{} : found->second;
  if (region.text.empty()) region.text = "region " + std::to_string(number);
  return region;
}

std::string UserJournal::parameter(std::uint32_t number) const {
  const auto found = parameters.find(number);
  return found == parameters.end() ? "parameter " + std::to_string(number) : found->second;
}

namespace {

std::uint64_t end_of(const LoopVisit& visit) {
  const std::uint64_t end =
      visit.left ? visit.left_ticks : std::numeric_limits<std::uint64_t>::max();
  return std::min(end, visit.cut_ticks);
}

bool before(const LoopVisit& a, const LoopVisit& b) {
  if (a.first_ticks != b.first_ticks) return a.first_ticks < b.first_ticks;
  const std::uint64_t end_a = end_of(a);
  const std::uint64_t end_b = end_of(b);
  if (end_a != end_b) return end_a > end_b;
  return a.level < b.level;
}

}  // namespace

void nest_visits(std::vector<LoopVisit>& visits) {
  std::stable_sort(visits.begin(), visits.end(), before);
  std::vector<LoopVisit*> around;
  for (LoopVisit& visit : visits) {
    // No loop lies in itself.
    const bool again =
        std::any_of(around.begin(), around.end(), [&](const LoopVisit* outer) {
          return outer->loop == visit.loop && end_of(*outer) > visit.first_ticks;
        });
    bool inside = false;
    while (!around.empty() && !inside) {
      LoopVisit& outer = *around.back();
      const std::uint64_t outer_end = end_of(outer);
      const bool cut_here =
          again && std::any_of(around.begin(), around.end(),
                               [&](const LoopVisit* o) { return o->loop == visit.loop; });
      if (outer_end > visit.first_ticks) {
        inside = !cut_here && end_of(visit) <= outer_end;
        // The start of the broken iteration belongs to this loop.
        if (!inside) outer.cut_ticks = visit.first_ticks;
      }
      if (!inside) around.pop_back();
    }
    visit.level = static_cast<std::uint16_t>(around.size());
    visit.parent = around.empty() ? LoopVisit::kNoParent : around.back()->loop;
    around.push_back(&visit);
  }
}

}  // namespace refrain::spool
