#include "analysis/report/nest_blocks.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace refrain::report {
namespace {

using analysis::ArchiveInfo;
using analysis::PhaseInfo;
using json = nlohmann::ordered_json;

json or_null(std::int64_t number) { return number < 0 ? json() : json(number); }

std::uint64_t limit_of(const ArchiveInfo& info) {
  const auto found = info.properties.find("REFRAIN::SETTING::LIMIT");
  std::uint64_t limit = 0;
  if (found != info.properties.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(),
                    limit);
  return limit;
}

class NestWriter {
 public:
  NestWriter(Blocks& blocks, const std::string& key, const ArchiveInfo& info,
             std::uint32_t process, const EventViews* views)
      : blocks_(blocks), key_(key), info_(info), views_(views), limit_(limit_of(info)) {
    for (const PhaseInfo& phase : info.phases)
      if (phase.process == process) phases_.push_back(&phase);
    if (views_ == nullptr) return;
    for (const auto& [region, loop] : views_->nest().loops())
      for (const PhaseInfo* phase : phases_)
        if (phase->name == loop.name) loops_[region] = phase->id;
  }

  void write() {
    json out = {{"text", info_.structure}, {"process", nullptr}, {"rank", nullptr}};
    if (views_ != nullptr && views_->nest().process() != reader::kNone) {
      out["process"] = views_->nest().process();
      if (views_->marks_rank() != reader::kNone) out["rank"] = views_->marks_rank();
    }
    out["loops"] = json::array();
    for (const PhaseInfo* phase : phases_) out["loops"].push_back(loop_value(*phase));
    for (const char* list : {"bars", "breaks", "slow", "gaps"}) out[list] = json::array();
    if (views_ != nullptr) put_times(out);
    blocks_.add(key_ + "nest", out);
  }

 private:
  const NestSink::Loop* marks_of(const PhaseInfo& phase) const {
    if (views_ == nullptr) return nullptr;
    for (const auto& [region, number] : loops_)
      if (number == phase.id) return &views_->nest().loops().at(region);
    return nullptr;
  }

  json loop_value(const PhaseInfo& phase) {
    const std::string rows = key_ + "rows/" + std::to_string(phase.id);
    const std::uint64_t there = phase.written + phase.partly;
    json out = {{"loop", phase.id},
                {"parent", or_null(phase.parent)},
                {"level", phase.level},
                {"name", phase.name},
                {"title", loop_title(phase)},
                {"named", phase.named},
                {"function", phase.function},
                {"file", phase.file},
                {"line", phase.line},
                {"last_line", phase.last_line},
                {"iterations", phase.iterations},
                {"visits", phase.visits},
                {"written", phase.written},
                {"partial", phase.partly},
                {"skipped", phase.iterations - std::min(phase.iterations, there)},
                {"total_ns", phase.total_ns},
                {"mean_ns", phase.mean_ns},
                {"median_ns", nullptr},
                {"min_ns", phase.min_ns},
                {"max_ns", phase.max_ns},
                {"slowest", json::array()},
                {"body", phase.body},
                {"block", nullptr},
                {"rows", blocks_.has(rows) ? json(rows) : json()}};
    const NestSink::Loop* const marks = marks_of(phase);
    if (marks == nullptr || marks->series.rows().empty()) return out;
    out["median_ns"] = marks->series.median_ns();
    for (const IterationSeries::Slow& slow : marks->series.slowest())
      out["slowest"].push_back(
          {{"iteration", slow.number}, {"begin_ns", slow.begin_ns}, {"ns", slow.ns}});
    out["block"] = key_ + "loop/" + std::to_string(phase.id);
    put_series(key_ + "loop/" + std::to_string(phase.id), marks->series);
    return out;
  }

  // Why an iteration is in the archive that is neither slow nor at a break.
  std::uint8_t why_of(const SeriesRow& row) const {
    if (row.state == kSkippedState || row.why != 0) return row.why;
    const bool first = limit_ == 0 || row.first < static_cast<double>(limit_);
    return first ? kFirstOnes : kOtherReason;
  }

  void put_series(const std::string& name, const IterationSeries& series) {
    std::vector<double> values;
    for (const SeriesRow& row : series.rows()) {
      if (series.merged())
        values.insert(values.end(),
                      {row.first, row.begin_ns, row.mean_ns(),
                       static_cast<double>(row.state), static_cast<double>(why_of(row)),
                       row.min_ns, row.max_ns, static_cast<double>(row.count)});
      else
        values.insert(values.end(),
                      {row.first, row.begin_ns, row.sum_ns, static_cast<double>(row.state),
                       static_cast<double>(why_of(row))});
    }
    const std::size_t width = series.merged() ? 8 : 5;
    blocks_.add(name + (series.merged() ? "/merged" : "/iterations"), values,
                {series.rows().size(), width});
  }

  json loop_of(std::uint32_t region) const {
    const auto found = loops_.find(region);
    return found == loops_.end() ? json() : json(found->second);
  }

  json moment(const NestSink::Moment& from) const {
    return {{"loop", loop_of(from.region)},
            {"iteration", from.iteration < 0 ? json() : json(from.iteration)},
            {"time_ns", from.ns},
            {"ns", from.duration_ns},
            {"text", from.text}};
  }

  void put_times(json& out) const {
    const NestSink& nest = views_->nest();
    std::vector<std::pair<std::uint32_t, NestSink::Bar>> bars;
    for (const auto& [region, loop] : nest.loops())
      if (loops_.contains(region))
        for (const NestSink::Bar& bar : loop.bars)
          bars.emplace_back(loops_.at(region), bar);
    std::ranges::stable_sort(bars, [](const auto& a, const auto& b) {
      return a.second.begin_ns < b.second.begin_ns;
    });
    for (const auto& [loop, bar] : bars)
      out["bars"].push_back(
          {loop, bar.begin_ns, bar.end_ns, bar.first, bar.last, bar.visits});
    for (const NestSink::Moment& each : nest.breaks())
      out["breaks"].push_back(moment(each));
    for (const NestSink::Moment& each : nest.slow()) out["slow"].push_back(moment(each));
    for (const NestSink::Gap& gap : nest.gaps()) {
      const bool known = gap.region != reader::kNone && loops_.contains(gap.region);
      out["gaps"].push_back({{"begin_ns", gap.begin_ns},
                             {"end_ns", gap.end_ns},
                             {"text", gap.text},
                             {"loop", loop_of(gap.region)},
                             {"first", known ? json(gap.first) : json()},
                             {"last", known ? json(gap.last) : json()}});
    }
  }

  Blocks& blocks_;
  const std::string key_;
  const ArchiveInfo& info_;
  const EventViews* const views_;
  const std::uint64_t limit_;
  std::vector<const PhaseInfo*> phases_;
  std::map<std::uint32_t, std::uint32_t> loops_;  // numbers, by region
};

}  // namespace

std::uint32_t process_with_most_iterations(const ArchiveInfo& info) {
  std::map<std::uint32_t, std::uint64_t> iterations;
  for (const PhaseInfo& phase : info.phases)
    if (phase.parent < 0) iterations[phase.process] += phase.iterations;
  std::uint32_t best = reader::kNone;
  for (const auto& [process, count] : iterations)
    if (best == reader::kNone || count > iterations[best]) best = process;
  return best;
}

std::string loop_title(const PhaseInfo& phase) {
  if (phase.named) return phase.name;
  std::string text = phase.function;
  if (!phase.file.empty() && phase.line != 0) {
    text += (text.empty() ? "" : " ") +
            std::filesystem::path(phase.file).filename().string() + ":" +
            std::to_string(phase.line);
    if (phase.last_line > phase.line) text += "-" + std::to_string(phase.last_line);
  }
  return text.empty() ? phase.name : text;
}

void add_nest(Blocks& blocks, const std::string& key, const ArchiveInfo& info,
              std::uint32_t process, const EventViews* views) {
  NestWriter(blocks, key, info, process, views).write();
}

}  // namespace refrain::report
