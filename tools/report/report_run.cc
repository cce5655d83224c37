#include "tools/report/report_run.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/archive_info.h"
#include "analysis/report/event_blocks.h"
#include "analysis/report/event_views.h"
#include "analysis/report/finding.h"
#include "analysis/report/flow_blocks.h"
#include "analysis/report/row_blocks.h"
#include "analysis/report/wait_blocks.h"
#include "base/archive_files.h"
#include "base/notes.h"
#include "summary/merged_flow.h"
#include "tools/output/analyze_output.h"
#include "tools/output/info_data.h"
#include "tools/output/message_output.h"
#include "tools/output/profile_data.h"
#include "tools/output/profile_source.h"
#include "tools/output/whole_run.h"
#include "tools/report/report_loops.h"
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
    if (run_.of_refrain) blocks_.add(key_ + "info", info_value(info_, archive_));
  }

  void put_profile() {
    blocks_.add(key_ + "profile", profile_value(profiled_));
    report::add_path_values(blocks_, key_, profiled_.profile);
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

}  // namespace refrain::tools
