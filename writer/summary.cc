#include "writer/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/texts.h"
#include "writer/archive/properties.h"
#include "writer/budget/limit_reason.h"

namespace refrain::writer {
namespace {

constexpr const char* kSeeLoops = "loops of the source: refrain loops ";

// The outermost loop that has most of the time, on the first process that has loops.
const LoopSummary* main_loop(const WriteResult& result) {
  const LoopSummary* best = nullptr;
  for (const LoopSummary& loop : result.loops) {
    if (best != nullptr && loop.process != best->process) continue;
    const bool outer = best == nullptr || loop.level < best->level;
    if (outer || (loop.level == best->level && loop.total_ns > best->total_ns))
      best = &loop;
  }
  return best;
}

std::string loops_line(const WriteResult& result) {
  const LoopSummary* const loop = main_loop(result);
  if (loop == nullptr) {
    if (result.summary_only) return "no loop detected";
    if (result.threads_unrecorded != 0) return "no loop detected in what was recorded";
    const bool some = !result.ranks.policy.empty() && result.ranks.written != "all";
    return std::string("no loop detected: everything is written") +
           (some ? " of the ranks that have events" : "") +
           exceptions_text(result.mpi.counts.polls_together, result.locks_left_out);
  }
  std::string line = fmt::format("main {}: {} iterations", loop->name, loop->iterations);
  if (result.duration_s > 0)
    line +=
        fmt::format(" in {:.0f} % of the time", loop->total_ns / result.duration_s / 1e7);
  if (!result.summary_only) line += fmt::format(", {} written", loop->written);
  if (loop->partly != 0) line += fmt::format(" and {} partial", loop->partly);
  const auto others =
      std::count_if(result.loops.begin(), result.loops.end(),
                    [&](const LoopSummary& l) { return l.process == loop->process; }) -
      1;
  if (others > 0) line += fmt::format("; {} other loop{}", others, others == 1 ? "" : "s");
  return line;
}

// Where only a summary was recorded.
std::string summarized_line(const WriteResult& result, const std::string& who) {
  return fmt::format("wrote the summary of {} events of {} in {}: {}", result.events_seen,
                     who, base::duration_text(result.writing_ns),
                     base::bytes_text(result.archive_bytes));
}

// Where nothing else was recorded.
std::string sampled_line(const WriteResult& result, const std::string& who) {
  return fmt::format("no OpenMP or MPI events; wrote call-stack samples of {} in {}: {}",
                     who, base::duration_text(result.writing_ns),
                     base::bytes_text(result.archive_bytes));
}

std::string written_line(const WriteResult& result, const std::string& who) {
  // Of threads that were not recorded nobody knows the number.
  const bool known = result.events_seen != 0 && result.threads_unrecorded == 0;
  const std::string percent =
      known
          ? fmt::format(" ({:.3g} %)", 100.0 * static_cast<double>(result.events_written) /
                                           static_cast<double>(result.events_seen))
          : "";
  std::string line =
      fmt::format("wrote {} of {} events{} of {} in {}: {}", result.events_written,
                  result.events_seen, percent, who, base::duration_text(result.writing_ns),
                  base::bytes_text(result.archive_bytes));
  if (result.events_written >= result.events_seen) return line;
  std::uint64_t iterations = 0;
  for (const LoopSummary& loop : result.loops) iterations += loop.iterations;
  const std::uint64_t whole = full_bytes({.bytes = result.archive_bytes,
                                          .event_bytes = result.event_bytes,
                                          .records = result.archive_events,
                                          .mark_records = result.mark_records,
                                          .iterations = iterations,
                                          .seen = result.events_seen,
                                          .written = result.events_written});
  return line + " instead of about " + base::bytes_text(whole);
}

// Receives of which no message was recorded, whatever was skipped; empty: none.
std::string not_received_text(const MpiCounts& counts) {
  std::string text;
  const auto add = [&text](std::uint64_t count, const char* what) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(counts.receives_freed, "with a freed request (MPI_Request_free)");
  add(counts.receives_failed, "failed");
  add(counts.receives_open, "not complete before MPI_Finalize");
  return text;
}

// Of messages with one end.
std::string messages_line(const WriteResult& result) {
  const MpiCounts& counts = result.mpi.counts;
  // Each of them is another message's: of none both ends are dropped.
  const std::uint64_t dropped = counts.sends_dropped + counts.receives_dropped;
  std::string line = fmt::format("{} of {} messages were left out because ", dropped,
                                 std::max(counts.sends, counts.receives) + dropped);
  const std::string why = not_received_text(counts);
  const bool all_ranks = result.ranks.policy.empty();
  if (all_ranks && result.events_written >= result.events_seen && result.events_seen != 0)
    return line + (why.empty() ? "only one end was recorded"
                               : "their receives were not recorded: " + why);
  line += fmt::format("only one rank wrote them; {}-n 0 keeps all",
                      all_ranks ? "" : "--ranks all ");
  if (!why.empty()) line += " but those whose receives were not recorded: " + why;
  return line;
}

// Names the first few; `refrain info` lists all.
std::string functions_line(const WriteResult& result) {
  constexpr std::size_t kNamed = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, result.functions_off.size()); ++i) {
    const FunctionOff& off = result.functions_off[i];
    names += fmt::format("{}{} ({} calls of {} each)", i == 0 ? "" : ", ", off.name,
                         off.calls, base::duration_text(off.mean_ns));
  }
  if (result.functions_off.size() > kNamed) names += ", ...";
  return fmt::format("switched off {} short function{} with many calls: {}",
                     result.functions_off.size(),
                     result.functions_off.size() == 1 ? "" : "s", names);
}

// "4 threads"; of a job "4 processes", "4 processes, 8 threads".
std::string who(const WriteResult& result) {
  const auto several = [](std::uint64_t n, const char* what, const char* end) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : end);
  };
  std::string threads = several(result.locations, "thread", "s");
  if (result.processes < 2) return threads;
  const std::string processes = several(result.processes, "process", "es");
  return result.locations == result.processes ? processes : processes + ", " + threads;
}

}  // namespace

std::uint64_t full_bytes(const Volume& volume) {
  if (volume.written == 0 || volume.records == 0 || volume.seen <= volume.written)
    return volume.bytes;
  constexpr std::uint64_t kMarkRecords = 3;  // enter, number, leave
  const std::uint64_t marks = std::min(volume.mark_records, volume.records);
  const double record =
      static_cast<double>(volume.event_bytes) / static_cast<double>(volume.records);
  const double of_event =
      static_cast<double>(volume.records - marks) / static_cast<double>(volume.written);
  const std::uint64_t all_marks = std::max(kMarkRecords * volume.iterations, marks);
  const double more = of_event * static_cast<double>(volume.seen - volume.written) +
                      static_cast<double>(all_marks - marks);
  return volume.bytes + static_cast<std::uint64_t>(record * more);
}

std::vector<std::string> summary_lines(const WriteResult& result,
                                       const std::string& archive) {
  if (result.summary_only) {
    std::vector<std::string> lines = {loops_line(result),
                                      summarized_line(result, who(result)),
                                      "next: refrain profile " + base::shell_word(archive)};
    if (result.sampled) lines.push_back(kSeeLoops + archive);
    return lines;
  }
  if (result.sampled && result.events_seen == 0)  // a program that is not parallel
    return {sampled_line(result, who(result)), kSeeLoops + archive};
  std::vector<std::string> lines = {loops_line(result), written_line(result, who(result))};
  std::string budget =
      budget_line(base::bytes_text(result.budget_bytes), result.budget_bytes,
                  result.budget_limit, result.archive_bytes);
  if (!budget.empty()) lines.push_back(std::move(budget));
  if (!result.limit_reason.empty()) lines.push_back(result.limit_reason);
  if (!result.ranks.why.empty()) lines.push_back(result.ranks.why);
  if (result.mpi.counts.sends_dropped + result.mpi.counts.receives_dropped != 0)
    lines.push_back(messages_line(result));
  if (!result.functions_off.empty()) lines.push_back(functions_line(result));
  if (const std::string limits = loop_limits_text(result.loop_limits); !limits.empty())
    lines.push_back("loop detection was limited: " + limits);
  lines.push_back("next: refrain info " + base::shell_word(archive));
  if (result.sampled) lines.push_back(kSeeLoops + archive);
  return lines;
}

std::string exceptions_text(std::uint64_t polls_together, std::uint64_t locks_left_out) {
  if (polls_together == 0 && locks_left_out == 0) return {};
  return std::string(", except ") + (polls_together != 0 ? "coalesced polls" : "") +
         (polls_together != 0 && locks_left_out != 0 ? " and " : "") +
         (locks_left_out != 0 ? "short locks in a row" : "");
}

std::vector<std::string> loss_lines(const WriteResult& result) {
  std::vector<std::string> lines;
  std::string causes;
  for (std::size_t cause = 0; cause < spool::kLossCauses; ++cause)
    if (result.lost[cause] != 0)
      causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", result.lost[cause],
                            spool::kLossNames[cause]);
  if (!causes.empty()) lines.push_back("lost events, by cause: " + causes);
  if (result.threads_unrecorded != 0)
    lines.push_back(fmt::format(
        "{} thread{} not recorded at all, for want of memory or disk space: the events there are not "
        "counted",
        result.threads_unrecorded, result.threads_unrecorded == 1 ? " was" : "s were"));
  if (result.lost[spool::kLossRingOverflow] != 0)
    lines.push_back(
        "ring_overflow: the ring was too small to keep iterations that should have been "
        "written; use a larger --ring");
  for (const std::string& complaint : result.complaints) lines.push_back(complaint);
  return lines;
}

std::string limit_reason(const filters::Settings& settings, const WriteResult& result) {
  LimitFacts facts{
      .limit = settings.budget_bytes != 0 ? result.budget_limit : settings.limit,
      .events_seen = result.events_seen,
      .events_written = result.events_written,
      .duration_ns = result.duration_s * 1e9,
      .min_gap_ns = settings.min_gap_s * 1e9,
      .loops = {}};
  for (const LoopSummary& loop : result.loops)
    if (loop.process == 0 && loop.parent < 0)
      facts.loops.push_back({.name = loop.name,
                             .visits = loop.visits,
                             .iterations = loop.iterations,
                             .written = loop.written + loop.partly,
                             .total_ns = loop.total_ns});
  return limit_reason(facts);
}

}  // namespace refrain::writer
