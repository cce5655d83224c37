#include "analysis/report/timeline_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "analysis/report/profile_blocks.h"

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
    for (std::uint32_t i = 0; i < profile_.locations.size(); ++i)
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
          "The time line has " + std::to_string(out["kept"].get<std::size_t>()) +
          " of the " + std::to_string(timeline.seen()) +
          " visits of regions that are in the archive: all of the begin, then the longest";
      out["detail"] = {{"all", false},
                       {"until_ns", timeline.until_ns()},
                       {"shortest_ns", timeline.shortest_ns()},
                       {"why", why}};
      limits.push_back(why);
    }
    if (views_.rows().rows().size() < profile_.locations.size())
      limits.push_back("The time line shows " +
                       std::to_string(views_.rows().rows().size()) + " of " +
                       std::to_string(profile_.locations.size()) +
                       " threads; the picture of the whole run has all of them");
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
