#include "tools/report/report_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "analysis/archive_info.h"
#include "analysis/comparison/comparison.h"
#include "analysis/report/event_blocks.h"
#include "analysis/report/event_views.h"
#include "analysis/report/finding.h"
#include "analysis/report/flow_blocks.h"
#include "analysis/report/row_blocks.h"
#include "analysis/report/wait_blocks.h"
#include "base/archive_files.h"
#include "base/notes.h"
#include "code_profile/candidates.h"
#include "code_profile/loop_text.h"
#include "code_profile/samples/sample_file.h"
#include "summary/merged_flow.h"
#include "tools/output/analyze_output.h"
#include "tools/output/comparison_data.h"
#include "tools/output/info_data.h"
#include "tools/output/message_output.h"
#include "tools/output/profile_data.h"
#include "tools/output/profile_source.h"
#include "tools/output/sampled_loops.h"
#include "tools/output/whole_run.h"
#include "waits/wait_analysis.h"

namespace refrain::tools {

namespace {

using analysis::RunProfile;
using Json = nlohmann::ordered_json;

std::string iso_text(std::uint64_t epoch_ns) {
  if (epoch_ns == 0) return {};
  const auto seconds = static_cast<std::time_t>(epoch_ns / 1'000'000'000);
  std::tm parts{};
  char text[32];
  if (gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
    return {};
  return text;
}

// Hands on what it gets.
class Forward final : public reader::TraceSink {
 public:
  explicit Forward(reader::TraceSink& to) : to_(to) {}
  base::Result<> begin(const reader::TraceDefinitions& definitions) override {
    return to_.begin(definitions);
  }
  void event(const reader::TraceEvent& event) override { to_.event(event); }
  std::string error() const override { return to_.error(); }
  base::Result<> finish(std::uint64_t end_ns) override { return to_.finish(end_ns); }

 private:
  reader::TraceSink& to_;
};

class RunReporter {
 public:
  RunReporter(const std::string& archive, const std::string& key, report::Blocks& blocks)
      : archive_(archive), key_(key + "/"), blocks_(blocks) {
    run_.key = key;
    run_.archive = archive;
  }

  base::Result<ReportedRun> report(const reader::Progress& progress) {
    auto done = read_profile(progress);
    if (done) done = read_info();
    if (done && !profiled_.summary_only) done = read_events(progress);
    if (done) done = read_loops();
    if (!done) return done.failure();
    take_facts();
    put_info();
    put_profile();
    put_rows();
    if (run_.of_refrain) report::add_nest(blocks_, key_, info_, marks_of_, views_.get());
    if (views_ != nullptr) put_events();
    put_loops();
    put_findings();
    put_graphs();
    return std::move(run_);
  }

 private:
  base::Result<> read_profile(const reader::Progress& progress) {
    auto profiled = read_profiled_run(archive_, false, progress);
    if (!profiled) return profiled.failure();
    profiled_ = *std::move(profiled);
    std::error_code none;
    if (!std::filesystem::exists(base::archive_folder(archive_) + "/traces.otf2", none))
      return base::Failure{"'" + archive_ +
                           "' has no traces.otf2: nothing to report except its summary "
                           "('refrain profile' prints it)"};
    return {};
  }

  base::Result<> read_info() {
    reader::ArchiveStream stream;
    if (const auto done = stream.open_anchor(archive_); !done) return done;
    run_.of_refrain = stream.definitions().is_refrain();
    run_.machine = stream.definitions().machine;
    if (!run_.of_refrain) return {};
    auto info = analysis::read_archive_info(archive_);
    if (!info) return info.failure();
    info_ = *std::move(info);
    marks_of_ = report::process_with_most_iterations(info_);
    return {};
  }

  base::Result<> read_events(const reader::Progress& progress) {
    views_ = std::make_unique<report::EventViews>(profiled_.profile, marks_of_);
    auto analysis = waits::analyze_archive(
        archive_, progress,
        [this](reader::TraceSink& replay) {
          views_->hand_on(&replay);
          return std::make_unique<Forward>(*views_);
        },
        {}, views_.get());
    if (!analysis) return analysis.failure();
    waits_ = *std::move(analysis);
    return waits_.problems.gaps != 0 ? estimate_whole_run(archive_, waits_)
                                     : base::Result<>();
  }

  base::Result<> read_loops() {
    auto loops = report_loops(archive_, info_);
    if (loops)
      loops_of_code_ = *std::move(loops);
    else
      base::note(loops.error() + "; the loops of the code are missing in the report");
    return {};
  }

  void take_facts() {
    run_.command = profiled_.command;
    run_.openmp_note = profiled_.openmp_note;
    run_.begin = iso_text(info_.start_epoch_ns);
    run_.seconds = run_.of_refrain ? info_.duration_s : profiled_.totals.run_ns / 1e9;
    run_.ranks = profiled_.profile.processes.size();
    run_.locations = profiled_.profile.locations.size();
    std::map<std::uint32_t, std::size_t> threads;
    for (const RunProfile::Location& location : profiled_.profile.locations)
      if (!location.helper)
        run_.threads = std::max(run_.threads, ++threads[location.process]);
    run_.events_seen = profiled_.events_seen;
    run_.events_written = profiled_.events_written;
    for (const analysis::PhaseInfo& phase : info_.phases)
      loops_.try_emplace(phase.name, phase.id);
  }

  void put_info() {
    if (!run_.of_refrain) return;
    blocks_.add(key_ + "info", [this](const report::Blocks::TakeText& take) {
      put_info_json(info_, archive_, take);
    });
  }

  void put_profile() {
    blocks_.add(key_ + "profile", profile_value(profiled_));
    report::add_path_values(blocks_, key_, profiled_.profile);
    if (profiled_.totals.efficiencies.known())
      blocks_.add(key_ + "efficiency",
                  report::efficiency_value(profiled_.totals.efficiencies));
    report::add_calls(blocks_, key_, profiled_.profile);
    if (!profiled_.totals.mpi.empty()) {
      blocks_.add(key_ + "messages", messages_value(profiled_, MessageParts::kLeaveOut));
      report::add_sent(blocks_, key_, profiled_.messages);
    }
  }

  void put_rows() {
    if (profiled_.from_events) {
      conclusions_ = analysis::conclude(profiled_.summaries);
      return;
    }
    const auto summaries =
        summary::read_summaries(base::archive_folder(archive_), summary::Iterations::kRead);
    if (!summaries) throw std::runtime_error(summaries.error());
    conclusions_ = analysis::conclude(*summaries);
    const analysis::IterationProfile iterations =
        analysis::iteration_profile(*summaries, 1);
    const RunProfile& profile = profiled_.profile;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
    for (LocationId i; i < profile.locations.size(); ++i)
      numbers.try_emplace({profile.process_of(i).number, profile.locations[i].thread}, i);
    const auto location_of = [&](std::uint32_t process, std::uint32_t thread) {
      const auto found = numbers.find({process, thread});
      return found == numbers.end() ? 0 : found->second;
    };
    const auto begin_of = [&](std::uint32_t process) {
      for (std::uint32_t i = 0; i < profile.processes.size(); ++i)
        if (profile.processes[i].number == process && views_ != nullptr)
          return views_->begin_of(i);
      return 0.0;
    };
    report::add_rows(blocks_, key_, iterations, location_of, begin_of);
  }

  void put_events() {
    const report::WaitPlaces places = report::places_in(waits_, profiled_.profile);
    findings_ = report::wait_findings(
        waits_, places, [this](std::uint32_t metric) { return when_waited(metric); });
    nlohmann::json value = analysis_value(waits_);
    conclusions_.openmp = run_.openmp_note;
    add_what_events_say(conclusions_, archive_, waits_);
    value["conclusions"] = conclusions_value(conclusions_);
    value["paths"] = report::wait_paths_value(waits_, places);
    for (std::size_t i = 0; i < places.locations.size(); ++i)
      value["locations"][i]["location"] = places.locations[i] == RunProfile::kNone
                                              ? nlohmann::json()
                                              : nlohmann::json(places.locations[i]);
    blocks_.add(key_ + "analyze", value);
    report::add_wait_values(blocks_, key_, waits_);
    report::add_matrix(blocks_, key_, *views_);
    report::add_timeline(blocks_, key_, profiled_.profile, *views_, loops_, run_.limits);
  }

  // In iterations of the loop that has most of them.
  std::string when_waited(std::uint32_t metric) const {
    const report::NestSink::Loop* most = nullptr;
    for (const auto& [region, loop] : views_->nest().loops())
      if (loop.outermost && (most == nullptr || loop.complete > most->complete))
        most = &loop;
    if (most == nullptr) return {};
    return report::when_waited(views_->waits().waits(), metric, views_->ns_per_tick(),
                               most->series);
  }

  void put_graphs() {
    report::add_control_flow(blocks_, key_, profiled_.profile, profiled_.totals);
    const auto flow = summary::read_merged_flow(base::archive_folder(archive_));
    if (!flow)
      base::note(flow.error() + "; the graph of MPI's events is missing in the report");
    else if (*flow)
      report::add_event_flow(blocks_, key_, **flow, profiled_.totals.time_ns);
  }

  void put_loops() {
    if (loops_of_code_.value.is_null()) return;
    blocks_.add(key_ + "loops", loops_of_code_.value);
    std::ranges::move(loops_of_code_.limits, std::back_inserter(run_.limits));
    std::ranges::move(loops_of_code_.findings, std::back_inserter(findings_));
  }

  void put_findings() {
    const auto add = [&](std::vector<report::Finding> more) {
      std::ranges::move(more, std::back_inserter(findings_));
    };
    add(report::profile_findings(conclusions_, profiled_.profile, profiled_.totals));
    if (run_.of_refrain)
      add(report::run_findings(info_, marks_of_, views_.get(),
                               profiled_.profile.locations.size()));
    blocks_.add(key_ + "findings",
                report::ranked(std::move(findings_), profiled_.totals.time_ns / 1e9));
  }

  const std::string archive_;
  const std::string key_;
  report::Blocks& blocks_;
  ReportedRun run_;
  ProfiledRun profiled_;
  analysis::Conclusions conclusions_;
  analysis::ArchiveInfo info_;
  std::uint32_t marks_of_ = reader::kNone;
  std::map<std::string, std::uint32_t> loops_;  // numbers, by their region's name
  std::unique_ptr<report::EventViews> views_;
  waits::WaitAnalysis waits_;
  ReportedLoops loops_of_code_;
  std::vector<report::Finding> findings_;
};

}  // namespace

Json ReportedRun::facts() const {
  return {{"key", key},
          {"name", archive},
          {"command", command},
          {"machine", machine},
          {"openmp_note", openmp_note},
          {"begin", begin.empty() ? Json() : Json(begin)},
          {"seconds", seconds},
          {"ranks", ranks},
          {"threads", threads},
          {"locations", locations},
          {"events_seen", events_seen},
          {"events_written", events_written},
          {"of_refrain", of_refrain}};
}

base::Result<ReportedRun> report_run(const std::string& archive, const std::string& key,
                                     report::Blocks& blocks,
                                     const reader::Progress& progress) {
  return RunReporter(archive, key, blocks).report(progress);
}

namespace {

using Json = nlohmann::ordered_json;
using code_profile::Candidate;
using code_profile::LoopProfile;

// As `refrain loops --json` has it.
constexpr double kMinShareOfLoops = 0.01;
// A finding is about loops that have this much for certain: the share less two standard errors.
constexpr double kLargeShare = 0.1;
constexpr double kFewSamples = 100;
constexpr std::size_t kNamed = 3;

double share_of(const LoopProfile& profile, const Candidate& candidate) {
  return static_cast<double>(profile.nodes[candidate.node].total[0]) /
         static_cast<double>(std::max<std::uint64_t>(profile.total[0], 1));
}

// Candidates that are large whatever chance did, and of which nothing says that they are others' business.
std::vector<Candidate> certain(const LoopProfile& profile) {
  const double samples =
      static_cast<double>(profile.total[0]) - static_cast<double>(profile.sampling.missed);
  std::vector<Candidate> out;
  if (samples < kFewSamples) return out;
  for (Candidate& candidate : code_profile::candidates(profile, kMinShareOfLoops)) {
    const double share = share_of(profile, candidate);
    const double error = std::sqrt(share * (1 - share) / samples);
    if (share - 2 * error >= kLargeShare && !candidate.doubtful)
      out.push_back(std::move(candidate));
  }
  return out;
}

void add_finding(const LoopProfile& profile, std::vector<report::Finding>& findings) {
  const std::vector<Candidate> large = certain(profile);
  if (large.empty()) return;
  std::string list;
  for (std::size_t i = 0; i < std::min(large.size(), kNamed); ++i)
    list += fmt::format("{}{} ({})", i == 0 ? "" : ", ",
                        code_profile::title_of(profile.nodes[large[i].node]),
                        report::percent_text(share_of(profile, large[i])));
  const bool one = large.size() == 1;
  findings.push_back(
      {.kind = report::Finding::Kind::kDetection,
       .what = "Large loops without OpenMP",
       .text = fmt::format(
           "{} of the code {} a tenth of the CPU time or more and {} without OpenMP{}: {}.",
           report::count_text(static_cast<double>(large.size()), "loop", "loops"),
           one ? "takes" : "take", one ? "runs" : "run",
           large.size() > kNamed ? "; the largest" : "", list),
       .hint = "A loop whose iterations are independent can run in parallel. Refrain does "
               "not know whether they are; shares count samples.",
       .evidence = {{"view", "loops"}, {"node", large.front().node}}});
}

// The nodes are in order of their totals; what refers to one that is left out goes with it.
void keep_first(Json& value, std::size_t most) {
  const auto kept = [&](const Json& node) {
    return node.is_null() || node.get<std::size_t>() < most;
  };
  const auto only = [](Json& list, auto&& keep) {
    Json out = Json::array();
    for (Json& each : list)
      if (keep(each)) out.push_back(std::move(each));
    list = std::move(out);
  };
  for (const char* nodes : {"loops", "functions", "candidates"})
    only(value[nodes], [&](const Json& each) { return kept(each["node"]); });
  for (Json& loop : value["loops"])
    if (!kept(loop["parent"])) loop["parent"] = Json();
  for (Json& detected : value["detected"])
    only(detected["parts"], [&](const Json& part) { return kept(part["node"]); });
  only(value["edges"],
       [&](const Json& edge) { return kept(edge["from"]) && kept(edge["to"]); });
}

}  // namespace

ReportedLoops reported_loops(const LoopProfile& profile, std::size_t most) {
  ReportedLoops out;
  out.value = code_profile::profile_value(profile, kMinShareOfLoops);
  if (profile.nodes.size() > most) {
    keep_first(out.value, most);
    out.limits.push_back(
        fmt::format("Of {} loops and functions of the code the {} with most samples are "
                    "shown",
                    profile.nodes.size(), most));
  }
  add_finding(profile, out.findings);
  return out;
}

base::Result<ReportedLoops> report_loops(const std::string& archive,
                                         const analysis::ArchiveInfo& info) {
  const auto processes = code_profile::read_sample_files(base::archive_folder(archive));
  if (!processes) return processes.failure();
  if (processes->empty()) return ReportedLoops();
  const auto profile = sampled_loops(*processes, info);
  if (!profile) return profile.failure();
  return reported_loops(*profile);
}

namespace {

using analysis::Row;
using analysis::Unit;
using Json = nlohmann::ordered_json;

constexpr double kMinShareCompared =
    0.01;  // of regions and loops, as `refrain compare` has it

// What a difference is in time of all threads; 0: it is none of time.
double weight_of(const Row& row, double thread_ns) {
  switch (row.unit) {
    case Unit::kNanoseconds:
      return std::abs(row.b - row.a);
    case Unit::kShare:
    case Unit::kEfficiency:
      return std::abs(row.b - row.a) * thread_ns;
    default:
      return 0;
  }
}

std::string value_text(double value, Unit unit) {
  switch (unit) {
    case Unit::kNanoseconds:
      return report::time_text(value);
    case Unit::kShare:
    case Unit::kEfficiency:
      return report::percent_text(value);
    case Unit::kBytes:
      return report::count_text(value, "byte", "bytes");
    case Unit::kNumber:
      break;
  }
  return fmt::format("{:.6g}", value);
}

std::string change_text(const Row& row) {
  const double change = row.difference();
  if (std::isinf(change)) return "only in B";
  if (row.unit == Unit::kEfficiency || row.unit == Unit::kShare)
    return fmt::format("{:+.1f} points", 100 * (row.b - row.a));
  return fmt::format("{:+.1f} %", 100 * change);
}

Json difference_value(const Row& row, const Json& unit) {
  const double change = row.difference();
  return {{"text", fmt::format("{}, {}: {} in A, {} in B ({})", row.subject, row.figure,
                               value_text(row.a, row.unit), value_text(row.b, row.unit),
                               change_text(row))},
          {"subject", row.subject},
          {"figure", row.figure},
          {"a", row.a},
          {"b", row.b},
          {"unit", unit},
          {"change", std::isinf(change) ? Json() : Json(change)}};
}

}  // namespace

base::Result<Json> report_comparison(const std::string& a, const std::string& b,
                                     const reader::Progress& progress) {
  analysis::ProfileOptions options;
  options.progress = progress;
  const auto first = analysis::read_trace_profile(a, options);
  if (!first) return first.failure();
  const auto second = analysis::read_trace_profile(b, options);
  if (!second) return second.failure();
  const analysis::Comparison comparison =
      analysis::compare(*first, *second, kMinShareCompared);
  Json out = comparison_value(comparison, a, *first, b, *second);
  const double thread_ns = std::max(first->thread_ns, second->thread_ns);
  struct Difference {
    const Row* row;
    Json unit;
  };
  std::vector<Difference> rows;
  std::size_t number = 0;
  for (const analysis::Section& section : comparison.sections)
    for (const Row& row : section.rows) {
      const Json unit = out["rows"][number++]["unit"];
      if (row.a != row.b) rows.push_back({&row, unit});
    }
  std::ranges::stable_sort(rows, [&](const Difference& x, const Difference& y) {
    const double wx = weight_of(*x.row, thread_ns), wy = weight_of(*y.row, thread_ns);
    if (wx != wy) return wx > wy;
    return std::abs(x.row->difference()) > std::abs(y.row->difference());
  });
  Json& list = out["differences"] = Json::array();
  for (const Difference& each : rows)
    list.push_back(difference_value(*each.row, each.unit));
  return out;
}

}  // namespace refrain::tools
