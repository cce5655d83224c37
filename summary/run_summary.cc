#include "summary/run_summary.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "base/folder.h"
#include "base/notes.h"
#include "summary/memory_json.h"
#include "summary/summary_json.h"

namespace refrain::summary {
namespace {

using namespace summary_json;
using Sums = RunSummary::Sums;

constexpr const char* kSummaryFormat = "refrain summary";
constexpr std::uint64_t kSummaryVersion = 7;
constexpr std::uint64_t kOldSummaryVersion = 2;  // still read: two columns had other names
constexpr std::uint64_t kWithoutFiles = 3;       // likewise: there was no file I/O
constexpr const char* kPrefix = "process-";
constexpr const char* kSuffix = ".json";

struct Column {
  const char* name;
  const char* old_name;  // up to kOldSummaryVersion
  std::uint64_t Sums::*value;
};
constexpr Column kColumns[] = {
    {"visits", "visits", &Sums::visits},
    {"time", "time", &Sums::time},
    {"minimum", "least", &Sums::least},
    {"maximum", "greatest", &Sums::greatest},
    {"bytes_sent", "bytes_sent", &Sums::bytes_sent},
    {"bytes_received", "bytes_received", &Sums::bytes_received},
    {"messages_sent", "messages_sent", &Sums::messages_sent},
    {"messages_received", "messages_received", &Sums::messages_received},
    {"time_elsewhere", "time_elsewhere", &Sums::time_elsewhere},
    {"regions_elsewhere", "regions_elsewhere", &Sums::regions_elsewhere},
};

json index_or_null(std::uint32_t index) {
  return index == RunSummary::kNone ? json(nullptr) : json(index);
}

json location_to_json(const RunSummary::Location& location) {
  json out = {{"reference", location.reference},
              {"number", location.number},
              {"primary", location.primary},
              {"helper", location.helper},
              {"temporary", location.temporary},
              {"time_outside", location.outside.time_elsewhere},
              {"regions_outside", location.outside.regions_elsewhere}};
  for (const base::ThreadUseNumber& number : base::kThreadUseNumbers)
    out[number.name] = location.use.*number.value;
  out["cores"] = location.use.cores.text();
  if (location.killed_in != RunSummary::kNone) {
    out["killed_in"] = location.killed_in;
    out["killed_since"] = location.killed_since;
  }
  for (const Column& column : kColumns) {
    json values = json::array();
    bool any = false;
    for (const Sums& sums : location.sums) {
      values.push_back(sums.*column.value);
      any = any || sums.*column.value != 0;
    }
    if (any) out[column.name] = std::move(values);
  }
  json edges = json::array();
  for (const RunSummary::Edge& edge : location.edges)
    edges.push_back({index_or_null(edge.from), edge.to, edge.count});
  out["edges"] = std::move(edges);
  if (!location.flow.nodes.empty()) out["flow"] = flow_to_json(location.flow);
  if (!location.iterations.rows.empty())
    out["iterations"] = summary_json::to_json(location.iterations);
  return out;
}

json file_to_json(const base::UsedFile& file) {
  json out = {{"path", file.path}};
  for (const base::FileUseNumber& number : base::kFileUseNumbers)
    if (file.use.*number.value != 0) out[number.name] = file.use.*number.value;
  return out;
}

// --- Reading: nothing in the text is believed ----------------------------------------

bool boolean(const json& value, const char* name) {
  if (!value.is_boolean()) fail(std::string("'") + name + "' is neither true nor false");
  return value.get<bool>();
}

std::uint32_t index_in(const json& value, std::size_t size, const char* name) {
  if (value.is_null()) return RunSummary::kNone;
  const std::uint32_t index = small(value, name);
  if (index >= size) fail(std::string("'") + name + "' leads nowhere");
  return index;
}

RunSummary::Region region_of(const json& from) {
  RunSummary::Region region;
  if (!member(from, "reference").is_null())
    region.reference = small(from["reference"], "reference");
  region.name = text(member(from, "name"), "name");
  region.file = text(member(from, "file"), "file");
  region.line = small(member(from, "line"), "line");
  region.role = small(member(from, "role"), "role");
  region.paradigm = small(member(from, "paradigm"), "paradigm");
  if (from.contains("canonical")) region.canonical = text(from["canonical"], "canonical");
  return region;
}

base::UsedFile file_of(const json& from) {
  base::UsedFile file{.path = text(member(from, "path"), "path"), .use = {}};
  for (const base::FileUseNumber& each : base::kFileUseNumbers)
    if (from.contains(each.name)) file.use.*each.value = number(from[each.name], each.name);
  return file;
}

RunSummary::Node node_of(const json& from, const RunSummary& summary) {
  if (list(from, "node").size() != 4) fail("a node has not four values");
  RunSummary::Node node;
  node.parent = index_in(from[0], summary.nodes.size(), "parent");
  node.region = index_in(from[1], summary.regions.size(), "region");
  const std::uint32_t kind = small(from[2], "kind");
  if (kind > static_cast<std::uint32_t>(RunSummary::Kind::kOther))
    fail("a node of unknown kind");
  node.kind = static_cast<RunSummary::Kind>(kind);
  node.site = index_in(from[3], summary.sites.size(), "site");
  return node;
}

RunSummary::Location location_of(const json& from, const RunSummary& summary,
                                 std::uint64_t version) {
  const std::size_t nodes = summary.nodes.size();
  RunSummary::Location location;
  location.reference = number(member(from, "reference"), "reference");
  location.number = small(member(from, "number"), "number");
  location.primary = boolean(member(from, "primary"), "primary");
  if (from.contains("helper")) location.helper = boolean(from["helper"], "helper");
  if (from.contains("temporary"))
    location.temporary = boolean(from["temporary"], "temporary");
  for (const base::ThreadUseNumber& each : base::kThreadUseNumbers)
    if (from.contains(each.name))
      location.use.*each.value = number(from[each.name], each.name);
  if (from.contains("cores"))
    location.use.cores = base::CoreSet::parse(text(from["cores"], "cores"));
  if (from.contains("killed_in")) {
    location.killed_in = index_in(from["killed_in"], nodes, "killed_in");
    location.killed_since = number(member(from, "killed_since"), "killed_since");
  }
  location.outside.time_elsewhere = number(member(from, "time_outside"), "time_outside");
  location.outside.regions_elsewhere =
      number(member(from, "regions_outside"), "regions_outside");
  location.sums.resize(nodes);
  for (const Column& column : kColumns) {
    const char* const name = version >= kWithoutFiles ? column.name : column.old_name;
    if (!from.contains(name)) continue;
    const json& values = list(from[name], name);
    if (values.size() != nodes)
      fail(std::string("'") + name + "' has not one value a node");
    for (std::size_t i = 0; i < nodes; ++i)
      location.sums[i].*column.value = number(values[i], name);
  }
  for (const json& edge : list(member(from, "edges"), "edges")) {
    if (list(edge, "edge").size() != 3) fail("an edge has not three values");
    RunSummary::Edge out;
    out.from = index_in(edge[0], nodes, "edge");
    out.to = index_in(edge[1], nodes, "edge");
    out.count = number(edge[2], "edge");
    if (out.to == RunSummary::kNone) fail("an edge leads nowhere");
    const std::uint32_t parent = summary.nodes[out.to].parent;
    const bool sibling =
        out.from != RunSummary::kNone && summary.nodes[out.from].parent == parent;
    if (!sibling && out.from != parent) fail("an edge joins two levels");
    location.edges.push_back(out);
  }
  if (from.contains("flow")) location.flow = flow_of(from["flow"]);
  if (from.contains("iterations"))
    location.iterations = iteration_rows_of(from["iterations"], summary.loops.size(),
                                            summary.counters.size());
  return location;
}

}  // namespace

std::string to_text(const RunSummary& summary) {
  json out = {
      {"format", kSummaryFormat},     {"version", kSummaryVersion},
      {"process", summary.process},   {"rank", index_or_null(summary.rank)},
      {"host", summary.host},         {"program", summary.program},
      {"complete", summary.complete}, {"ticks_per_second", summary.ticks_per_second},
      {"begin", summary.begin},       {"end", summary.end}};
  if (summary.exited) out["exited"] = true;
  if (summary.processes != 0) out["processes"] = summary.processes;
  if (summary.peak_memory_bytes != 0) {
    out["peak_memory_bytes"] = summary.peak_memory_bytes;
    out["memory_bytes"] = summary.memory_bytes;
  }
  if (!summary.memory.empty()) {
    json& samples = out["memory"] = json::array();
    for (const base::MemorySample& sample : summary.memory)
      samples.push_back({sample.ticks, sample.bytes});
  }
  json regions = json::array();
  for (const RunSummary::Region& region : summary.regions) {
    regions.push_back({{"reference", index_or_null(region.reference)},
                       {"name", region.name},
                       {"file", region.file},
                       {"line", region.line},
                       {"role", region.role},
                       {"paradigm", region.paradigm}});
    if (!region.canonical.empty()) regions.back()["canonical"] = region.canonical;
  }
  out["regions"] = std::move(regions);
  out["sites"] = summary.sites;
  json nodes = json::array();
  for (const RunSummary::Node& node : summary.nodes)
    nodes.push_back({index_or_null(node.parent), index_or_null(node.region),
                     static_cast<std::uint32_t>(node.kind), index_or_null(node.site)});
  out["nodes"] = std::move(nodes);
  json loops = json::array();
  for (const SummaryLoop& loop : summary.loops) {
    loops.push_back({{"number", loop.number}, {"name", loop.name}});
    if (loop.inner) loops.back()["inner"] = true;
  }
  out["loops"] = std::move(loops);
  json counters = json::array();
  for (const SummaryCounter& counter : summary.counters)
    counters.push_back({{"name", counter.name}, {"unit", counter.unit}});
  out["counters"] = std::move(counters);
  json locations = json::array();
  for (const RunSummary::Location& location : summary.locations)
    locations.push_back(location_to_json(location));
  out["locations"] = std::move(locations);
  out["locations_without"] = summary.locations_without;
  if (!summary.files.empty()) {
    json files = json::array();
    for (const base::UsedFile& file : summary.files) files.push_back(file_to_json(file));
    out["files"] = std::move(files);
  }
  if (summary.allocations.from_bytes != 0)
    out["allocations"] = summary_json::to_json(summary.allocations);
  // Names are bytes of the program's; what is no UTF-8 is replaced.
  return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

namespace {

RunSummary parsed(const std::string& text_of_file, Iterations iterations) {
  // "iterations" comes in a location, which lies in a list of the whole.
  const auto leave = [](int depth, json::parse_event_t event, json& parsed) {
    return depth != 3 || event != json::parse_event_t::key || parsed != "iterations";
  };
  const json from = iterations == Iterations::kLeave
                        ? json::parse(text_of_file, leave, false)
                        : json::parse(text_of_file, nullptr, false);
  if (from.is_discarded() || !from.is_object()) fail("is not a summary");
  if (!from.contains("format") || from["format"] != kSummaryFormat)
    fail("is not a summary");
  const std::uint64_t version = number(member(from, "version"), "version");
  if (version < kOldSummaryVersion || version > kSummaryVersion)
    fail("is a summary of version " + std::to_string(version) +
         "; this program reads versions " + std::to_string(kOldSummaryVersion) + " to " +
         std::to_string(kSummaryVersion));
  RunSummary summary;
  summary.process = small(member(from, "process"), "process");
  if (!member(from, "rank").is_null()) summary.rank = small(from["rank"], "rank");
  summary.host = text(member(from, "host"), "host");
  summary.program = text(member(from, "program"), "program");
  summary.complete = boolean(member(from, "complete"), "complete");
  if (from.contains("exited")) summary.exited = boolean(from["exited"], "exited");
  if (from.contains("processes")) summary.processes = small(from["processes"], "processes");
  if (from.contains("peak_memory_bytes")) {
    summary.peak_memory_bytes = number(from["peak_memory_bytes"], "peak_memory_bytes");
    summary.memory_bytes = number(member(from, "memory_bytes"), "memory_bytes");
  }
  if (from.contains("memory"))
    for (const json& sample : list(from["memory"], "memory")) {
      if (!sample.is_array() || sample.size() != 2) fail("'memory' has no pairs");
      summary.memory.push_back(
          {number(sample[0], "ticks of memory"), number(sample[1], "bytes of memory")});
    }
  if (!member(from, "ticks_per_second").is_number())
    fail("'ticks_per_second' is not a number");
  summary.ticks_per_second = from["ticks_per_second"].get<double>();
  if (!std::isfinite(summary.ticks_per_second) || summary.ticks_per_second <= 0)
    fail("'ticks_per_second' is not possible");
  summary.begin = number(member(from, "begin"), "begin");
  summary.end = number(member(from, "end"), "end");
  for (const json& region : list(member(from, "regions"), "regions"))
    summary.regions.push_back(region_of(region));
  for (const json& site : list(member(from, "sites"), "sites"))
    summary.sites.push_back(text(site, "site"));
  for (const json& node : list(member(from, "nodes"), "nodes"))
    summary.nodes.push_back(node_of(node, summary));
  for (const json& loop : list(member(from, "loops"), "loops"))
    summary.loops.push_back({small(member(loop, "number"), "number"),
                             text(member(loop, "name"), "name"),
                             loop.contains("inner") && loop["inner"] == true});
  for (const json& counter : list(member(from, "counters"), "counters"))
    summary.counters.push_back(
        {text(member(counter, "name"), "name"), text(member(counter, "unit"), "unit")});
  for (const json& location : list(member(from, "locations"), "locations"))
    summary.locations.push_back(location_of(location, summary, version));
  for (const json& reference : list(member(from, "locations_without"), "locations_without"))
    summary.locations_without.push_back(number(reference, "locations_without"));
  if (from.contains("files"))
    for (const json& file : list(from["files"], "files"))
      summary.files.push_back(file_of(file));
  if (from.contains("allocations"))
    summary.allocations = memory_calls_of(from["allocations"]);
  return summary;
}

}  // namespace

base::Result<RunSummary> summary_from_text(const std::string& text_of_file,
                                           Iterations iterations) {
  return result_of([&] { return parsed(text_of_file, iterations); });
}

std::string summary_path(const std::string& archive, std::uint32_t process) {
  return archive + "/summary/" + kPrefix + std::to_string(process) + kSuffix;
}

base::Result<> write_summary(const std::string& archive, const RunSummary& summary) {
  const std::string path = summary_path(archive, summary.process);
  std::error_code error;
  std::filesystem::create_directories(archive + "/summary", error);
  if (error) return base::Failure{archive + "/summary: " + error.message()};
  std::ofstream file(path, std::ios::binary);
  file << to_text(summary);
  file.close();
  if (!file) return base::Failure{path + " cannot be written"};
  return {};
}

base::Result<std::vector<RunSummary>> read_summaries(const std::string& archive,
                                                     Iterations iterations) {
  std::vector<RunSummary> summaries;
  std::size_t files = 0, processes = 0;
  std::error_code error;
  const std::string folder = archive + "/summary";
  const std::vector<std::string> names = base::names_in(folder, error);
  if (error && error != std::errc::no_such_file_or_directory)
    return base::Failure{folder + ": " + error.message()};
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    ++files;
    std::string path = folder;
    path.append("/").append(name);
    const auto text_of_file = base::file_text(path);
    auto summary = text_of_file ? summary_from_text(*text_of_file, iterations)
                                : base::Result<RunSummary>(text_of_file.failure());
    if (summary) {
      processes = std::max<std::size_t>(processes, summary->processes);
      if (!summaries.empty()) {
        summary->regions.share(summaries.back().regions);
        summary->nodes.share(summaries.back().nodes);
      }
      summaries.push_back(*std::move(summary));
    } else
      base::note(path + " " + summary.error() +
                 ": the totals of that process are missing in what follows");
  }
  if (files < processes)
    base::note(folder + " has files of " + std::to_string(files) + " of " +
               std::to_string(processes) +
               " processes: the totals of the others are missing in what follows");
  std::sort(summaries.begin(), summaries.end(),
            [](const RunSummary& a, const RunSummary& b) { return a.process < b.process; });
  return summaries;
}

}  // namespace refrain::summary
