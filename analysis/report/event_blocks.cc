#include "analysis/report/event_blocks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "analysis/report/flow_blocks.h"

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

namespace refrain::report {
namespace {

using analysis::TimeClass;
using json = nlohmann::ordered_json;

json class_values() {
  json out = json::array();
  for (std::size_t i = 0; i < analysis::kTimeClasses; ++i)
    out.push_back({{"key", analysis::class_name(static_cast<TimeClass>(i))},
                   {"name", analysis::class_title(static_cast<TimeClass>(i))}});
  out.push_back({{"key", "outside"}, {"name", "in no region"}});
  out.push_back({{"key", "skipped"}, {"name", "not in the archive"}});
  return out;
}

class TimelineWriter {
 public:
  TimelineWriter(Blocks& blocks, const std::string& key,
                 const analysis::RunProfile& profile, EventViews& views,
                 const std::map<std::string, std::uint32_t>& loops)
      : blocks_(blocks),
        key_(key + "timeline"),
        profile_(profile),
        views_(views),
        loops_(loops) {}

  void write(std::vector<std::string>& limits) {
    TimelineSink& timeline = views_.timeline();
    json out = {
        {"begin_ns", 0}, {"end_ns", timeline.end_ns()}, {"classes", class_values()}};
    put_regions(out);
    put_locations(out);
    out["gaps"] = json::array();
    for (const NestSink::Gap& gap : views_.nest().gaps())
      out["gaps"].push_back(
          {{"begin_ns", gap.begin_ns}, {"end_ns", gap.end_ns}, {"text", gap.text}});
    out["spans"] = timeline.seen();
    out["kept"] = timeline.spans().size();
    put_detail(out, limits);
    out["comms"] = views_.comms();
    blocks_.add(key_, out);
    put_overview();
    put_spans();
    put_messages(limits);
    put_collectives(limits);
    put_waits(limits);
  }

 private:
  void put_regions(json& out) const {
    json& list = out["regions"] = json::array();
    for (const EventViews::Region& region : views_.regions()) {
      const auto loop = region.loop ? loops_.find(region.name) : loops_.end();
      list.push_back({{"name", region.name},
                      {"file", region.file},
                      {"line", region.line},
                      {"class", region.cls},
                      {"site", region.site},
                      {"loop", loop == loops_.end() ? json() : json(loop->second)}});
    }
  }

  void put_locations(json& out) const {
    json& list = out["locations"] = json::array();
    for (LocationId i; i < profile_.locations.size(); ++i)
      list.push_back({{"rank", rank_of(profile_.process_of(i))},
                      {"thread", profile_.locations[i].thread},
                      {"name", views_.names()[i]},
                      {"primary", profile_.locations[i].primary}});
    json& rows = out["rows"] = json::array();
    for (const TimelineRows::Row& row : views_.rows().rows())
      rows.push_back({row.first, row.last, row.shown});
  }

  void put_detail(json& out, std::vector<std::string>& limits) const {
    const TimelineSink& timeline = views_.timeline();
    if (timeline.all()) {
      out["detail"] = {{"all", true}};
    } else {
      const std::string why =
          "The timeline has " + std::to_string(out["kept"].get<std::size_t>()) +
          " of the " + std::to_string(timeline.seen()) +
          " visits of regions in the archive: first all visits at the start, then the longest";
      out["detail"] = {{"all", false},
                       {"until_ns", timeline.until_ns()},
                       {"shortest_ns", timeline.shortest_ns()},
                       {"why", why}};
      limits.push_back(why);
    }
    if (views_.rows().rows().size() < profile_.locations.size())
      limits.push_back("The timeline shows " + std::to_string(views_.rows().rows().size()) +
                       " of " + std::to_string(profile_.locations.size()) +
                       " threads; the picture of the whole run shows all of them");
  }

  void put_overview() {
    const TimelineSink& timeline = views_.timeline();
    const std::vector<std::size_t> shape = {views_.rows().rows().size(), timeline.bins()};
    blocks_.add(key_ + "/overview", timeline.overview(), shape);
    blocks_.add(key_ + "/overview_share", timeline.shares(), shape);
  }

  void put_spans() {
    const std::vector<Span>& spans = views_.timeline().spans();
    for (std::size_t from = 0; from < spans.size();) {
      std::size_t to = from;
      while (to < spans.size() && spans[to].row == spans[from].row) ++to;
      put_row(std::span(spans).subspan(from, to - from));
      from = to;
    }
  }

  void put_row(std::span<const Span> spans) {
    std::vector<double> begins;
    std::vector<float> durations;
    std::vector<std::uint32_t> regions;
    std::vector<std::uint8_t> depths;
    for (const Span& span : spans) {
      begins.push_back(span.begin_ns);
      durations.push_back(span.duration_ns);
      regions.push_back(span.region);
      depths.push_back(span.depth);
    }
    const std::string name = key_ + "/" + std::to_string(spans.front().row);
    blocks_.add_ascending(name + "/begin", begins);
    blocks_.add(name + "/duration", durations, {spans.size()});
    if (views_.regions().size() <= std::numeric_limits<std::uint16_t>::max()) {
      const std::vector<std::uint16_t> small(regions.begin(), regions.end());
      blocks_.add(name + "/region", small, {spans.size()});
    } else {
      blocks_.add(name + "/region", regions, {spans.size()});
    }
    blocks_.add(name + "/depth", depths, {spans.size()});
  }

  void tell(std::vector<std::string>& limits, std::size_t kept, std::uint64_t seen,
            const char* what) const {
    if (kept < seen)
      limits.push_back("Of " + std::to_string(seen) + " " + what + " the " +
                       std::to_string(kept) + " longest are shown");
  }

  void put_messages(std::vector<std::string>& limits) {
    const auto& lines = views_.messages().lines();
    tell(limits, lines.size(), views_.messages().matched(), "messages");
    if (lines.empty()) return;
    std::vector<double> values;
    for (const MessageSink::Line& line : lines)
      values.insert(values.end(),
                    {static_cast<double>(line.from), line.sent_ns,
                     static_cast<double>(line.to), line.received_ns, line.bytes});
    blocks_.add(key_ + "/messages", values, {lines.size(), 5});
  }

  void put_collectives(std::vector<std::string>& limits) {
    const auto& operations = views_.collectives().operations();
    tell(limits, operations.size(), views_.collectives().seen(), "collective operations");
    if (operations.empty()) return;
    std::vector<double> values;
    for (const CollectiveSink::Operation& each : operations)
      values.insert(values.end(),
                    {static_cast<double>(each.region), static_cast<double>(each.comm),
                     each.first_ns, each.last_ns, each.left_ns});
    blocks_.add(key_ + "/collectives", values, {operations.size(), 5});
  }

  void put_waits(std::vector<std::string>& limits) {
    const auto& waits = views_.waits().waits();
    tell(limits, waits.size(), views_.waits().seen(), "waits");
    if (waits.empty()) return;
    std::vector<double> values;
    for (const WaitIntervals::Wait& wait : waits) {
      const auto ns = [&](waits::Ticks ticks) {
        return std::round(static_cast<double>(ticks) * views_.ns_per_tick());
      };
      values.insert(values.end(),
                    {static_cast<double>(wait.row), ns(wait.begin),
                     ns(wait.begin + wait.ticks), static_cast<double>(wait.metric)});
    }
    blocks_.add(key_ + "/waits", values, {waits.size(), 4});
  }

  Blocks& blocks_;
  const std::string key_;
  const analysis::RunProfile& profile_;
  EventViews& views_;
  const std::map<std::string, std::uint32_t>& loops_;
};

}  // namespace

void add_timeline(Blocks& blocks, const std::string& key,
                  const analysis::RunProfile& profile, EventViews& views,
                  const std::map<std::string, std::uint32_t>& loops,
                  std::vector<std::string>& limits) {
  TimelineWriter(blocks, key, profile, views, loops).write(limits);
}

void add_matrix(Blocks& blocks, const std::string& key, const EventViews& views) {
  const MessageSink& messages = views.messages();
  if (messages.matrix().empty()) return;
  json groups = json::array();
  for (const auto& [first, last] : messages.groups()) groups.push_back({first, last});
  blocks.add(key + "matrix",
             json{{"ranks", messages.ranks()}, {"groups", groups}, {"of", "written"}});
  std::vector<double> values;
  for (const auto& [ranks, cell] : messages.matrix())
    values.insert(values.end(),
                  {static_cast<double>(ranks.first), static_cast<double>(ranks.second),
                   cell.messages, cell.bytes});
  blocks.add(key + "matrix/values", values, {messages.matrix().size(), 4});
}

}  // namespace refrain::report
