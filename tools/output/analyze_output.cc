#include "tools/output/analyze_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/ideal/ideal_network.h"
#include "base/notes.h"
#include "base/texts.h"
#include "waits/findings.h"
#include "waits/origin.h"

namespace refrain::tools {
namespace {

using nlohmann::json;
using waits::Finding;
using waits::WaitAnalysis;

constexpr double kMinShareOfFindings = 0.01;  // of findings on the screen
constexpr std::size_t kMaxFindings = 10;

std::string time_text(double seconds) { return base::duration_text(seconds * 1e9); }

double all_seconds(const WaitAnalysis& analysis) {
  return analysis.seconds(analysis.total(waits::kTime));
}

// Words that fit a line, further lines indented.
void wrap(std::vector<std::string>& out, const std::string& text, std::size_t first,
          std::size_t indent, std::size_t width) {
  width = std::max<std::size_t>(width, indent + 40);
  std::string line(first, ' ');
  bool empty = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t length = end - at;
    if (!empty && line.size() + 1 + length > width) {
      out.push_back(line);
      line.assign(indent, ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    line.append(text, at, length);
    empty = false;
    at = end + 1;
  }
  if (!empty) out.push_back(line);
}

// Of a finding, a part that was seen: its time, or its share where the finding is of the whole run.
std::string part_text(const WaitAnalysis& analysis, const Finding& finding,
                      double seconds) {
  if (!waits::of_whole_run(analysis)) return time_text(seconds);
  return fmt::format("{:.0f} % of what is in the archive", 100 * seconds / finding.seconds);
}

bool is_of_locks(const WaitAnalysis& analysis, const Finding& finding) {
  return analysis.tree.metrics[finding.metric].name.starts_with("omp_lock_contention");
}

// What is lost: of the whole run, as far as that is estimated.
std::string lost_text(const WaitAnalysis& analysis, const Finding& finding) {
  if (!waits::of_whole_run(analysis))
    return fmt::format(
        "{}{} lost, {:.1f} % of the time of all threads",
        analysis.locks_left_out != 0 && is_of_locks(analysis, finding) ? "at least " : "",
        time_text(finding.seconds), 100 * finding.share);
  return fmt::format(
      "about {} lost in the whole run, {:.1f} % of the time of all threads ({} of it is in "
      "the archive)",
      time_text(finding.whole_seconds), 100 * finding.whole_share,
      time_text(finding.seconds));
}

// "by ranks 0-3, most of it by rank 2", where one has more than its share.
std::string who_text(const WaitAnalysis& analysis, const Finding& finding) {
  std::string text = waits::ranks_text(analysis, finding);
  if (finding.ranks.size() < 2) return text;
  const Finding::Rank& most = finding.ranks.front();
  const double mean = finding.seconds / static_cast<double>(finding.ranks.size());
  if (most.seconds < 1.2 * mean) return text;
  Finding one;
  one.ranks = {most};
  return text + fmt::format(", mostly by {} ({})", waits::ranks_text(analysis, one),
                            part_text(analysis, finding, most.seconds));
}

// Who made them wait, as far as that is a tenth of it. Of a part of the run that may be unlike the rest of it, whose part is not known, too.
void add_causers(std::vector<std::string>& out, const WaitAnalysis& analysis,
                 const Finding& finding, std::size_t width) {
  const auto part = [](double seconds, double whole) {
    return fmt::format("{:.0f} %", 100 * seconds / whole);
  };
  const bool of_part = waits::of_whole_run(analysis);
  std::string text;
  double known = 0;
  for (const waits::Causer& each :
       waits::causers_of(analysis, finding.metric, finding.path)) {
    known += each.seconds;
    if (each.seconds < 0.1 * finding.seconds) continue;
    text += fmt::format(
        "{}{} ({})", text.empty() ? "" : "; ", waits::causer_text(analysis, each),
        of_part ? part(each.seconds, finding.seconds) : time_text(each.seconds));
  }
  if (text.empty()) return;
  if (!of_part) return wrap(out, "Caused by " + text + ".", 3, 3, width);
  const double unknown = finding.seconds - known;
  if (unknown >= 0.1 * finding.seconds)
    text += fmt::format("; by whom is not known ({})", part(unknown, finding.seconds));
  wrap(out,
       fmt::format("What is in the archive ({} of it) was caused by {}.",
                   part(finding.seconds, finding.whole_seconds), text),
       3, 3, width);
}

void add_findings(std::vector<std::string>& out, const WaitAnalysis& analysis,
                  const AnalysisScreen& options) {
  const auto findings = waits::findings_of(analysis, options.all ? 0 : kMinShareOfFindings);
  if (findings.empty()) {
    out.push_back(
        options.all
            ? "No waits were found."
            : "No wait takes 1 % of the time of all threads (--all lists smaller ones).");
    return;
  }
  std::size_t number = 0;
  for (const Finding& finding : findings) {
    if (!options.all && number == kMaxFindings) {
      out.push_back(fmt::format("and {} more (--all)", findings.size() - number));
      break;
    }
    const waits::MetricInfo& metric = analysis.tree.metrics[finding.metric];
    wrap(out,
         fmt::format("{}. {}: {}, by {}.", ++number, metric.title,
                     lost_text(analysis, finding), who_text(analysis, finding)),
         0, 3, options.width);
    wrap(out, fmt::format("In {}.", waits::place_text(analysis, finding.path)), 3, 3,
         options.width);
    add_causers(out, analysis, finding, options.width);
    if (finding.idle_seconds != 0)
      wrap(out,
           fmt::format("Idle worker threads meanwhile: {}.",
                       time_text(finding.whole_idle_seconds)),
           3, 3, options.width);
    wrap(out, metric.cause, 3, 3, options.width);
  }
}

// Of estimates twice the standard error. Where nothing is known of that, the bounds say what is.
std::string error_text(const WaitAnalysis::Estimate& estimate) {
  if (estimate.exact) return "exact";
  return estimate.error > 0 ? time_text(2 * estimate.error) : "unknown";
}

// With estimates, what they say of the whole run.
void add_metrics(std::vector<std::string>& out, const WaitAnalysis& analysis, bool all) {
  double whole = analysis.total(waits::kTime);
  const bool estimated = !analysis.estimates.empty();
  std::string head = fmt::format("{:<58} {:>12} {:>7}", "Metric", "Time", "Share");
  if (estimated)
    head += fmt::format(" {:>12} {:>12} {:>12} {:>12}", "Whole run", "+-", "at least",
                        "at most");
  out.push_back(std::move(head));
  const auto& tree = analysis.tree;
  const auto add = [&](const auto& self, std::uint32_t metric, std::size_t depth) -> void {
    const double total = analysis.total(metric);
    const WaitAnalysis::Estimate estimate = metric < analysis.estimates.size()
                                                ? analysis.estimates[metric]
                                                : WaitAnalysis::Estimate{};
    if (!all && total == 0 && estimate.whole == 0) return;
    const std::string name = std::string(2 * depth, ' ') + tree.metrics[metric].name;
    std::string line =
        fmt::format("  {:<56} {:>12} {:>5.1f} %", name, time_text(analysis.seconds(total)),
                    whole > 0 ? 100 * total / whole : 0);
    if (metric < analysis.estimates.size())
      line += fmt::format(" {:>12} {:>12} {:>12} {:>12}", time_text(estimate.whole),
                          error_text(estimate), time_text(estimate.least),
                          time_text(estimate.most));
    out.push_back(std::move(line));
    for (std::uint32_t child = metric + 1; child < tree.parents.size(); ++child)
      if (tree.parents[child] == metric) self(self, child, depth + 1);
  };
  // Other views of that time are trees of their own, with shares of their own sum.
  for (std::uint32_t root = 0; root < tree.parents.size(); ++root) {
    if (tree.parents[root] != waits::kNone) continue;
    whole = analysis.total(root);
    add(add, root, 0);
  }
}

json estimates_json(const WaitAnalysis& analysis) {
  if (analysis.estimates.empty()) return {};
  json out = json::object();
  for (std::size_t i = 0; i < analysis.estimates.size(); ++i) {
    const WaitAnalysis::Estimate& each = analysis.estimates[i];
    out[analysis.tree.metrics[i].name] = {
        {"seen", each.seen},
        {"seconds", each.whole},
        {"exact", each.exact},
        {"error", each.exact || each.error > 0 ? json(each.error) : json()},
        {"minimum", each.least},
        {"maximum", each.most}};
  }
  return out;
}

void add_note(std::vector<std::string>& out, const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  wrap(lines, text + ".", 13, 13, width);
  lines.front().replace(0, 4, "Note");
  out.insert(out.end(), lines.begin(), lines.end());
}

std::vector<std::string> remarks(const WaitAnalysis& analysis) {
  std::vector<std::string> lines;
  const double skipped = analysis.total(waits::kSkipped);
  if (analysis.problems.gaps != 0)
    lines.push_back(fmt::format(
        "{:.1f} % of the time has no events in the archive ({} gaps): times are those of "
        "the written events{}",
        100 * skipped / std::max(1.0, analysis.total(waits::kTime)), analysis.problems.gaps,
        analysis.estimates.empty()
            ? "; without a summary there is no estimate of the whole run"
            : "; findings are estimates of the whole run"));
  if (analysis.locks_left_out != 0)
    lines.push_back(fmt::format(
        "{} short locks in a row have no events in the archive: lock contention is that of "
        "the others (-n 0 writes all)",
        analysis.locks_left_out));
  if (!analysis.paths_error.empty())
    lines.push_back("Critical path and delay costs are unknown: " + analysis.paths_error);
  if (analysis.overcharged != 0)
    lines.push_back(fmt::format(
        "Patterns charged {} more than their parent metrics have; the excess was dropped",
        time_text(analysis.seconds(static_cast<double>(analysis.overcharged)))));
  for (std::string& line : analysis.problems.lines(analysis.ticks_per_second))
    lines.push_back(std::move(line));
  return lines;
}

json finding_json(const WaitAnalysis& analysis, const Finding& finding) {
  const waits::MetricInfo& metric = analysis.tree.metrics[finding.metric];
  json ranks = json::array(), by_rank = json::array();
  for (const Finding::Rank& each : finding.ranks) {
    const std::uint32_t rank = analysis.processes[each.process].rank;
    const std::uint32_t number = rank == waits::kNone ? each.process : rank;
    ranks.push_back(number);
    by_rank.push_back({{"rank", number}, {"seconds", each.seconds}});
  }
  json causers = json::array();
  for (const waits::Causer& each :
       waits::causers_of(analysis, finding.metric, finding.path)) {
    const std::uint32_t rank = analysis.processes[each.process].rank;
    const waits::Place place = waits::place_of(analysis, each.path);
    causers.push_back({{"rank", rank == waits::kNone ? each.process : rank},
                       {"call_path", waits::path_text(analysis, each.path)},
                       {"file", place.file.empty() ? json() : json(place.file)},
                       {"line", place.file.empty() ? json() : json(place.line)},
                       {"seconds", each.seconds}});
  }
  return {{"metric", metric.name},
          {"title", metric.title},
          {"seconds", finding.seconds},
          {"share", finding.share},
          {"idle_seconds", finding.idle_seconds},
          {"whole_run_seconds", finding.whole_seconds},
          {"whole_run_share", finding.whole_share},
          {"call_path", waits::path_text(analysis, finding.path)},
          {"file", finding.file.empty() ? json() : json(finding.file)},
          {"line", finding.file.empty() ? json() : json(finding.line)},
          {"ranks", ranks},
          {"by_rank", by_rank},
          {"causers", causers},
          {"cause", metric.cause}};
}

}  // namespace

std::vector<std::string> conclusions_screen(const analysis::Conclusions& conclusions,
                                            const AnalysisScreen& options) {
  std::vector<std::string> out;
  const double start =
      conclusions.ledger[static_cast<std::size_t>(analysis::Account::kStart)];
  std::size_t number = 0;
  for (const std::string* const text : {&conclusions.killed, &conclusions.exited})
    if (!text->empty()) {
      wrap(out, *text + ".", 0, 0, options.width);
      out.emplace_back();
    }
  for (const analysis::RootCause& cause : conclusions.causes) {
    if (!options.all && number == kMaxFindings) {
      out.push_back(fmt::format("and {} more (--all)", conclusions.causes.size() - number));
      break;
    }
    wrap(out, fmt::format("{}. {}: {}", ++number, cause.what, cause.text), 0, 3,
         options.width);
    if (!cause.origin.empty()) wrap(out, cause.origin, 3, 3, options.width);
    if (!cause.evidence.empty())
      wrap(out, analysis::evidence_text(cause), 3, 3, options.width);
    if (!cause.gain.empty()) wrap(out, cause.gain, 3, 3, options.width);
    wrap(out, cause.hint, 3, 3, options.width);
  }
  if (conclusions.causes.empty())
    out.emplace_back(conclusions.unknown.empty()
                         ? "Nothing costs 1 % of the time of all threads."
                         : "Nothing that is known costs 1 % of the time of all threads.");
  out.emplace_back();
  if (!conclusions.cores.empty() &&
      !analysis::has_cause(conclusions, analysis::Account::kCores))
    add_note(out,
             conclusions.cores + ". " +
                 conclusions.cores_hint.substr(0, conclusions.cores_hint.size() - 1),
             options.width);
  if (!conclusions.unknown.empty()) add_note(out, conclusions.unknown, options.width);
  if (!conclusions.kernel.empty()) add_note(out, conclusions.kernel, options.width);
  if (!conclusions.memory.empty()) add_note(out, conclusions.memory, options.width);
  if (!conclusions.tracing.empty()) add_note(out, conclusions.tracing, options.width);
  if (!conclusions.openmp.empty())
    add_note(out, "OpenMP: " + conclusions.openmp, options.width);
  out.push_back(fmt::format("Time         {} of all threads{}",
                            time_text(conclusions.time_ns / 1e9),
                            start > 0 ? "; shares are without start and end of MPI" : ""));
  for (std::size_t i = 0; i < analysis::kAccounts; ++i) {
    const double ns = conclusions.ledger[i];
    const auto account = static_cast<analysis::Account>(i);
    const double counted = conclusions.time_ns - start;
    if (ns < 0.0005 * counted) continue;
    std::string line = fmt::format("             {:<40} {:>10}",
                                   analysis::account_title(account), time_text(ns / 1e9));
    if (account != analysis::Account::kStart && counted > 0)
      line += fmt::format(" {:>6.1f} %", 100 * ns / counted);
    out.push_back(std::move(line));
  }
  return out;
}

namespace {

// Returns true if there was a replay.
bool replay_gains(analysis::Conclusions& conclusions, const std::string& archive) {
  constexpr std::size_t kMost = 4;  // calls
  std::vector<std::size_t> causes;
  std::vector<std::string> calls;
  for (std::size_t i = 0; i < conclusions.causes.size() && calls.size() < kMost; ++i) {
    std::string call = conclusions.causes[i].call();
    if (call.empty()) continue;
    causes.push_back(i);
    calls.push_back(std::move(call));
  }
  if (calls.empty()) return false;
  // What is wrong with the archive who read it first has said.
  const std::vector<std::string> notes = base::take_notes();
  const auto replayed = analysis::without_waits(archive, calls);
  const bool whole = base::take_notes().empty();
  for (const std::string& note : notes) base::note(note);
  return replayed && whole && replayed->unknown.empty() &&
         analysis::set_replayed_gains(conclusions, causes, replayed->calls);
}

// Which part of the waits at a call goes back to these ranks.
double part_of_ranks(const WaitAnalysis& analysis, const waits::Origin& origin,
                     const std::vector<std::uint32_t>& ranks) {
  double theirs = 0;
  for (const waits::Causer& each : origin.causers)
    if (std::ranges::count(ranks, analysis.processes[each.process].rank) != 0)
      theirs += each.seconds;
  return origin.waited > 0 ? theirs / origin.waited : 0;
}

// Waits at a call for ranks that are named with more work are charged to these, where they are little compared with that, or would
// come back elsewhere without the call.
void charge_named(analysis::Conclusions& conclusions, const WaitAnalysis& analysis,
                  bool replayed) {
  constexpr double kMostOf = 0.6, kLittle = 0.2, kSaves = 0.1;
  for (std::size_t from = 0; from < conclusions.causes.size(); ++from) {
    const analysis::RootCause& call = conclusions.causes[from];
    if (call.account != analysis::Account::kCommunication || call.call().empty()) continue;
    const waits::Origin origin = waits::origin_of(analysis, call.where);
    for (std::size_t into = 0; into < conclusions.causes.size(); ++into) {
      const analysis::RootCause& ranks = conclusions.causes[into];
      if (ranks.account != analysis::Account::kUnevenRanks ||
          part_of_ranks(analysis, origin, ranks.ranks) < kMostOf)
        continue;
      if (call.lost_ns > kLittle * ranks.lost_ns &&
          (!replayed || call.gain_ns > kSaves * call.share * call.of_ns))
        continue;
      // Who has more to do delays each of the others by no more than that. (Half of it again, for means.)
      if (ranks.lost_ns + call.lost_ns > 1.5 * ranks.most_lost_ns) continue;
      analysis::charge_to(conclusions, into, from, 1);
      break;
    }
  }
  analysis::sort_causes(conclusions);
}

}  // namespace

void add_what_events_say(analysis::Conclusions& conclusions, const std::string& archive,
                         const WaitAnalysis& analysis) {
  // What is left of the waits for ranks that are named before has not their origin.
  bool named = false;
  for (analysis::RootCause& cause : conclusions.causes) {
    named |= cause.account == analysis::Account::kUnevenRanks && !cause.ranks.empty();
    if (cause.account == analysis::Account::kCommunication && !named)
      cause.origin = waits::origin_text(analysis, waits::origin_of(analysis, cause.where));
    else if (cause.account == analysis::Account::kCores)
      cause.origin = waits::waiting_text(analysis);
  }
  charge_named(conclusions, analysis, replay_gains(conclusions, archive));
}

std::vector<std::string> first_cause_screen(const analysis::Conclusions& conclusions,
                                            std::size_t width) {
  std::vector<std::string> lines;
  const auto put = [&](std::string_view title, const std::string& text) {
    const std::size_t at = lines.size();
    wrap(lines, text, 13, 13, width);
    lines[at].replace(0, title.size(), title);
  };
  if (!conclusions.killed.empty()) put("Killed", conclusions.killed + ".");
  if (!conclusions.exited.empty()) put("Exit", conclusions.exited + ".");
  if (conclusions.causes.empty()) return lines;
  const analysis::RootCause& first = conclusions.causes.front();
  const std::size_t others = conclusions.causes.size() - 1;
  put("Largest loss", fmt::format("{}: {} (refrain analyze{})", first.what, first.text,
                                  others == 0 ? "" : fmt::format(": {} more", others)));
  return lines;
}

json conclusions_value(const analysis::Conclusions& conclusions) {
  json ledger = json::object(), causes = json::array(), last_seen = json::array();
  for (const analysis::LastSeen& place : conclusions.last_seen)
    last_seen.push_back({{"where", place.where},
                         {"ranks", place.ranks},
                         {"since_seconds", place.since_ns / 1e9}});
  for (std::size_t i = 0; i < analysis::kAccounts; ++i)
    ledger[analysis::account_name(static_cast<analysis::Account>(i))] =
        conclusions.ledger[i] / 1e9;
  constexpr std::array kShapes = {"all",     "since", "until",  "every",
                                  "growing", "some",  "between"};
  for (const analysis::RootCause& cause : conclusions.causes) {
    json waits = json::array(), places = json::array();
    for (const analysis::RootCause::Place& each : cause.places)
      places.push_back({{"where", each.where}, {"share", each.share}});
    for (const analysis::RootCause::Evidence& each : cause.evidence)
      waits.push_back({{"where", each.where}, {"seconds", each.ns / 1e9}});
    const analysis::TimeShape& when = cause.when;
    causes.push_back(
        {{"account", analysis::account_name(cause.account)},
         {"what", cause.what},
         {"text", cause.text},
         {"origin", cause.origin},
         {"gain", cause.gain},
         {"hint", cause.hint},
         {"seconds", cause.lost_ns / 1e9},
         {"share", cause.share},
         {"gain_seconds", cause.gain_ns / 1e9},
         {"shared_gain_seconds", cause.shared_gain_ns / 1e9},
         {"of_seconds", cause.of_ns / 1e9},
         {"where", cause.where},
         {"places", places},
         {"ranks", cause.ranks},
         {"thread",
          cause.thread == analysis::RootCause::kNone ? json() : json(cause.thread)},
         {"loop", cause.loop.empty() ? json() : json(cause.loop)},
         {"iterations", cause.iterations},
         {"outside_seconds", cause.outside_ns / 1e9},
         {"from_seconds", cause.until_ns > 0 ? json(cause.from_ns / 1e9) : json()},
         {"until_seconds", cause.until_ns > 0 ? json(cause.until_ns / 1e9) : json()},
         {"when",
          {{"shape", kShapes[static_cast<std::size_t>(when.kind)]},
           {"from", when.from},
           {"until", when.until},
           {"period", when.period},
           {"number", when.number},
           {"before_seconds", when.before / 1e9},
           {"after_seconds", when.after / 1e9}}},
         {"waits", waits}});
  }
  return {{"seconds", conclusions.time_ns / 1e9},
          {"run_seconds", conclusions.run_ns / 1e9},
          {"core_wait_seconds", conclusions.core_wait_ns / 1e9},
          {"killed", conclusions.killed},
          {"exited", conclusions.exited},
          {"last_seen", last_seen},
          {"cores", conclusions.cores},
          {"cores_hint", conclusions.cores_hint},
          {"kernel", conclusions.kernel},
          {"memory", conclusions.memory},
          {"tracing_seconds", conclusions.tracing_ns / 1e9},
          {"tracing", conclusions.tracing},
          {"unknown", conclusions.unknown},
          {"openmp_note", conclusions.openmp},
          {"ledger", ledger},
          {"causes", causes}};
}

std::string causes_json(const analysis::Conclusions& conclusions) {
  const json value = {{"format", "refrain analyze"},
                      {"version", 3},
                      {"conclusions", conclusions_value(conclusions)}};
  return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::vector<std::string> analysis_screen(const WaitAnalysis& analysis,
                                         const AnalysisScreen& options) {
  std::vector<std::string> out;
  add_findings(out, analysis, options);
  out.emplace_back();
  out.push_back(fmt::format(
      "Run          {} process{}, {} threads in all, {} of all threads, {} events",
      analysis.processes.size(), analysis.processes.size() == 1 ? "" : "es",
      std::ranges::count(analysis.locations, false, &WaitAnalysis::Location::helper),
      time_text(all_seconds(analysis)), analysis.events));
  for (const std::string& remark : remarks(analysis)) add_note(out, remark, options.width);
  if (!options.metrics && !options.all) return out;
  out.emplace_back();
  add_metrics(out, analysis, options.all);
  return out;
}

std::vector<std::string> findings_screen(const WaitAnalysis& analysis,
                                         const analysis::Conclusions& conclusions,
                                         const AnalysisScreen& options) {
  std::vector<std::string> out = conclusions_screen(conclusions, options);
  out.emplace_back();
  out.emplace_back("Waits, as seen in the events:");
  for (std::string& line : analysis_screen(analysis, options))
    out.push_back(std::move(line));
  return out;
}

json analysis_value(const WaitAnalysis& analysis) {
  json metrics = json::object(), tree = json::array(), findings = json::array();
  for (std::uint32_t i = 0; i < analysis.tree.metrics.size(); ++i) {
    const waits::MetricInfo& metric = analysis.tree.metrics[i];
    metrics[metric.name] = analysis.seconds(analysis.total(i));
    tree.push_back({{"name", metric.name},
                    {"parent", metric.parent.empty() ? json() : json(metric.parent)},
                    {"title", metric.title},
                    {"description", metric.description}});
  }
  for (const Finding& finding : waits::findings_of(analysis, 0))
    findings.push_back(finding_json(analysis, finding));
  json locations = json::array();
  for (const WaitAnalysis::Location& each : analysis.locations) {
    const std::uint32_t rank = analysis.processes[each.process].rank;
    locations.push_back({{"rank", rank == waits::kNone ? each.process : rank},
                         {"thread", each.number},
                         {"name", each.name}});
  }
  json grids = json::array();
  for (const WaitAnalysis::Grid& grid : analysis.grids) {
    json ranks = json::array();
    for (const std::uint32_t process : grid.processes)
      ranks.push_back(process < analysis.processes.size() ? analysis.processes[process].rank
                                                          : waits::kNone);
    grids.push_back({{"name", grid.name},
                     {"sizes", grid.sizes},
                     {"periodic", grid.periodic},
                     {"ranks", ranks}});
  }
  return {{"format", "refrain analyze"},
          {"version", 3},
          {"seconds", all_seconds(analysis)},
          {"events", analysis.events},
          {"gaps", analysis.problems.gaps},
          {"metrics", metrics},
          {"whole_run", estimates_json(analysis)},
          {"findings", findings},
          {"metric_tree", tree},
          {"locations", locations},
          {"grids", grids},
          {"problems", remarks(analysis)}};
}

namespace {

// The program is without parent, and has its name.
json path_json(const WaitAnalysis& analysis, PathId number, const waits::Place& place) {
  const WaitAnalysis::Path& path = analysis.paths[number];
  json values = json::object();
  for (std::uint32_t metric = 0; metric < analysis.tree.metrics.size(); ++metric) {
    const WaitAnalysis::Row& row = analysis.values[metric][number];
    if (row.empty()) continue;
    json& cells = values[analysis.tree.metrics[metric].name] = json::array();
    for (std::size_t i = 0; i < analysis.locations.size(); ++i)
      cells.push_back(analysis.seconds(static_cast<double>(row[i])));
  }
  return {
      {"parent", path.parent == waits::kNone ? json() : json(std::uint32_t{path.parent})},
      {"name", waits::name_of(analysis, number)},
      {"site", path.site},
      {"file", place.file},
      {"line", place.line},
      {"exclusive", values}};
}

}  // namespace

void put_analysis_json(const WaitAnalysis& analysis,
                       const analysis::Conclusions* conclusions, const PutText& put) {
  JsonStream out(put, 1);
  const auto put_paths = [&] {
    const std::vector<waits::Place> places = waits::places_of(analysis);
    out.key("paths");
    out.begin_array();
    for (PathId i; i < analysis.paths.size(); ++i)
      out.value(path_json(analysis, i, places[i]));
    out.end();
  };
  // Keys are in the order of the alphabet.
  bool paths = false;
  out.begin_object();
  json all = analysis_value(analysis);
  if (conclusions != nullptr) all["conclusions"] = conclusions_value(*conclusions);
  for (const auto& [name, value] : all.items()) {
    if (name > "paths" && !std::exchange(paths, true)) put_paths();
    out.key(name);
    out.value(value);
  }
  out.end();
  out.finish();
}

std::string analysis_json(const WaitAnalysis& analysis,
                          const analysis::Conclusions* conclusions) {
  std::string text;
  put_analysis_json(analysis, conclusions,
                    [&text](std::string_view part) { text += part; });
  return text;
}

}  // namespace refrain::tools
