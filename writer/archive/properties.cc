#include "writer/archive/properties.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string_view>

namespace refrain::writer {
namespace {

constexpr std::size_t kMaxComplaints = 20;

// OTF2 allows [A-Z0-9_] in a name.
std::string property_name(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) != 0 && byte < 128 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return text;
}

// Arguments end with NUL; users read them with blanks.
std::string readable(std::string command) {
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return command;
}

std::string dumped(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string kinds_json(const std::array<std::uint64_t, kEventKinds>& by_kind) {
  nlohmann::json json = nlohmann::json::object();
  for (const spool::RecordKind& row : spool::kRecordKinds)
    if (row.kind < by_kind.size() && by_kind[row.kind] != 0)
      json[row.name] = by_kind[row.kind];
  return dumped(json);
}

constexpr const char* kLibgomp = "libgomp";

// Returns true if the process had loaded a library whose name begins so.
bool has_library(const spool::Journal& journal, std::string_view name) {
  return std::ranges::any_of(journal.modules, [name](const std::string& module) {
    return std::string_view(module).substr(module.rfind('/') + 1).starts_with(name);
  });
}

// The runtime that has run regions of OpenMP, and whether it is not the one that the program is linked with. Where LLVM's is
// there and gave no name, it was not used.
struct OpenMp {
  std::string runtime;
  bool replaces = false;  // libgomp
};

OpenMp openmp_of(const spool::Journal& journal) {
  const std::string runtime = journal.text(spool::kTextRuntime);
  if (!has_library(journal, kLibgomp)) return {runtime};
  const bool kept = ('\n' + journal.text(spool::kTextSettings)).find("\nlibomp=none\n") !=
                    std::string::npos;
  if (!runtime.empty()) return {runtime, !kept};
  const bool has_llvm = has_library(journal, "libomp") || has_library(journal, "libiomp");
  return {has_llvm ? "" : kLibgomp};
}

// A line each: calls, their mean in nanoseconds, the name.
std::string functions_text(const WriteResult& result) {
  constexpr std::size_t kMax = 1000;
  std::string text;
  for (const FunctionOff& off : result.functions_off) {
    if (std::count(text.begin(), text.end(), '\n') == kMax) break;
    text += std::to_string(off.calls) + " " +
            std::to_string(static_cast<std::uint64_t>(off.mean_ns)) + " " + off.name + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace

namespace {

template <typename Add>
void add_mpi(const WriteResult& result, Add add) {
  const MpiCounts& counts = result.mpi.counts;
  const std::pair<const char*, std::uint64_t> values[] = {
      {"PROCESSES", result.processes},
      {"MESSAGES", counts.sends},
      {"SENDS_DROPPED", counts.sends_dropped},
      {"RECEIVES_DROPPED", counts.receives_dropped},
      {"MESSAGE_BYTES", counts.bytes_sent},
      {"COLLECTIVES", counts.collectives},
      {"COLLECTIVES_DROPPED", counts.collectives_dropped},
      {"ONE_SIDED", counts.one_sided},
      {"ONE_SIDED_DROPPED", counts.one_sided_dropped},
      {"POLLS_TOGETHER", counts.polls_together},
      {"CLOCK_CHECKED", result.mpi.clock_checked},
      {"CLOCK_VIOLATIONS", result.mpi.clock_violations},
      {"CLOCK_REPAIRED", result.mpi.clock_repaired},
      {"ITERATIONS_GIVEN_UP", result.mpi.iterations_given_up},
      {"ITERATIONS_ALONE", result.mpi.iterations_alone}};
  for (const auto& [name, value] : values) add(name, std::to_string(value));
}

}  // namespace

std::string loop_limits_text(const spool::LoopLimits& limits) {
  std::string text;
  const auto add = [&text](std::uint64_t count, const char* one, const std::string& what) {
    if (count != 0)
      text += (text.empty() ? "" : "; ") + std::to_string(count) + " " + one +
              (count == 1 ? "" : "s") + " " + what;
  };
  add(limits.functions, "function", "too long");
  add(limits.events, "event",
      "by more than " + std::to_string(spool::kMostCallPaths) + " call paths");
  add(limits.paths, "call path",
      "in more than " + std::to_string(spool::kMostLoops) + " loops");
  return text;
}

Properties archive_properties(const spool::Journal& journal, const WriteOptions& options,
                              const WriteResult& result,
                              const std::array<std::uint64_t, kEventKinds>& by_kind) {
  Properties out;
  const auto add = [&out](const std::string& name, const std::string& value) {
    if (!value.empty()) out.emplace_back("REFRAIN::" + name, value);
  };
  const std::string version = journal.text(spool::kTextVersion);
  add("VERSION", !version.empty()          ? version
                 : options.version.empty() ? "unknown"
                                           : options.version);
  add("COMMAND", readable(journal.text(spool::kTextCommand)));
  add("RUN", journal.text(spool::kTextRun));
  const OpenMp openmp = openmp_of(journal);
  add("RUNTIME", openmp.runtime);
  if (openmp.replaces) add("RUNTIME_FOR", kLibgomp);
  add("MPI_TAKEN", journal.mpi.taken);
  std::istringstream settings(journal.text(spool::kTextSettings));
  for (std::string line; std::getline(settings, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    add("SETTING::" + property_name(line.substr(0, equals)), line.substr(equals + 1));
  }
  add("EVENTS_SEEN", std::to_string(result.events_seen));
  add("EVENTS_WRITTEN", std::to_string(result.events_written));
  if (result.locks_left_out != 0)
    add("LOCKS_LEFT_OUT", std::to_string(result.locks_left_out));
  add("EVENTS_FILTERED", std::to_string(result.events_filtered));
  add("EVENTS_UNMATCHED", std::to_string(result.events_unmatched));
  add("MOVED_TICKS", std::to_string(result.moved_ticks));
  add("EVENTS_BY_KIND", kinds_json(by_kind));
  add("MARK_RECORDS", std::to_string(result.mark_records));
  std::uint64_t lost = 0;
  for (std::size_t cause = 0; cause < spool::kLossCauses; ++cause) {
    lost += result.lost[cause];
    if (result.lost[cause] != 0)
      add("LOST::" + property_name(spool::kLossNames[cause]),
          std::to_string(result.lost[cause]));
  }
  add("LOST", std::to_string(lost));
  if (result.threads_missing != 0)
    add("THREADS_MISSING", std::to_string(result.threads_missing));
  if (result.threads_unrecorded != 0)
    add("THREADS_UNRECORDED", std::to_string(result.threads_unrecorded));
  if (result.records_damaged != 0)
    add("RECORDS_DAMAGED", std::to_string(result.records_damaged));
  add("GAPS", std::to_string(result.gaps));
  add("RECOVERED", options.recovered ? "1" : "0");
  add("SPOOL_BYTES", std::to_string(result.spool_bytes));
  add("LOOPS", loops_json(result.loops));
  add("FUNCTIONS_OFF", functions_text(result));
  if (!result.structure.empty()) add("STRUCTURE", result.structure);
  add("LIMIT_REASON", result.limit_reason);
  add("LOOP_LIMITS", loop_limits_text(result.loop_limits));
  if (const std::uint64_t turns = result.loop_limits.turns; turns != 0)
    add("LOOP_TURNS", std::to_string(turns));
  if (result.budget_limit != 0) add("BUDGET_LIMIT", std::to_string(result.budget_limit));
  if (result.mpi.used) add_mpi(result, add);
  add("RANKS::POLICY", result.ranks.policy);
  add("RANKS::WRITTEN", result.ranks.written);
  add("RANKS::CLUSTERS", result.ranks.clusters);
  add("RANKS::WHY", result.ranks.why);
  std::string complaints;
  for (std::size_t i = 0; i < std::min(kMaxComplaints, result.complaints.size()); ++i)
    complaints += (i == 0 ? "" : "\n") + result.complaints[i];
  add("COMPLAINTS", complaints);
  return out;
}

std::string archive_description(const WriteResult& result,
                                const std::array<std::uint64_t, kEventKinds>& by_kind) {
  const bool openmp = by_kind[spool::kParallelBegin] != 0;
  const char* program = openmp && result.mpi.used ? "an OpenMP and MPI program"
                        : result.mpi.used         ? "an MPI program"
                        : openmp                  ? "an OpenMP program"
                                                  : "a program";
  return std::string("trace of ") + program + ", recorded by Refrain";
}

std::string loops_json(const std::vector<LoopSummary>& loops) {
  nlohmann::json json = nlohmann::json::array();
  for (const LoopSummary& loop : loops) {
    json.push_back({{"process", loop.process},
                    {"id", loop.id},
                    {"level", loop.level},
                    {"parent", loop.parent},
                    {"name", loop.name},
                    {"named", loop.named},
                    {"function", loop.function},
                    {"file", loop.file},
                    {"line", loop.line},
                    {"last_line", loop.last_line},
                    {"region", loop.region},
                    {"body_events", loop.body_events},
                    {"body", loop.body},
                    {"visits", loop.visits},
                    {"iterations", loop.iterations},
                    {"written", loop.written},
                    {"partly", loop.partly},
                    {"total_ns", loop.total_ns},
                    {"mean_ns", loop.mean_ns},
                    {"min_ns", loop.min_ns},
                    {"max_ns", loop.max_ns},
                    {"sigma_ns", loop.sigma_ns}});
    for (const LoopCounter& counter : loop.counters)
      json.back()["counters"].push_back({{"name", counter.name},
                                         {"iterations", counter.iterations},
                                         {"total", counter.total},
                                         {"ns", counter.ns}});
  }
  return dumped(json);
}

namespace {

constexpr const char* kLoops = "REFRAIN::LOOPS";
constexpr const char* kShortened = "REFRAIN::SHORTENED";
constexpr const char* kMore = " ...";
constexpr std::size_t kNamesOfBody = 8;
// At least the bytes of a property in the anchor file besides its name and value.
constexpr std::size_t kBytesOfProperty = 64;

std::size_t bytes_of(const Properties& properties) {
  std::size_t sum = 0;
  for (const auto& [name, value] : properties)
    sum += name.size() + value.size() + kBytesOfProperty;
  return sum;
}

bool inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// The `count` loops that took the longest, in their original order.
std::vector<LoopSummary> longest(const std::vector<LoopSummary>& loops, std::size_t count) {
  std::vector<std::size_t> order(loops.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return loops[a].total_ns > loops[b].total_ns;
  });
  order.resize(count);
  std::sort(order.begin(), order.end());
  std::vector<LoopSummary> out;
  out.reserve(order.size());
  for (const std::size_t i : order) out.push_back(loops[i]);
  return out;
}

std::string short_loops(std::vector<LoopSummary> loops, std::size_t most_bytes) {
  for (LoopSummary& loop : loops)
    if (loop.body.size() > kNamesOfBody) loop.body.resize(kNamesOfBody);
  std::string text = loops_json(loops);
  if (text.size() <= most_bytes) return text;
  std::size_t fits = 0, too_many = loops.size();
  while (fits + 1 < too_many) {
    const std::size_t middle = fits + (too_many - fits) / 2;
    (loops_json(longest(loops, middle)).size() <= most_bytes ? fits : too_many) = middle;
  }
  return loops_json(longest(loops, fits));
}

}  // namespace

std::string beginning(const std::string& text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  std::size_t end = most_bytes;
  for (int back = 0; back < 3 && end > 0 && inside_character(text[end]); ++back) --end;
  return text.substr(0, end) + kMore;
}

Properties shortened(Properties properties, const std::vector<LoopSummary>& loops,
                     std::size_t most_bytes) {
  if (bytes_of(properties) <= most_bytes) return properties;
  std::vector<std::string> incomplete;
  const auto mark_incomplete = [&](const std::string& name) {
    if (std::find(incomplete.begin(), incomplete.end(), name) == incomplete.end())
      incomplete.push_back(name);
  };
  const auto all_loops =
      std::find_if(properties.begin(), properties.end(),
                   [](const auto& property) { return property.first == kLoops; });
  Properties::value_type kept;
  if (all_loops != properties.end()) {
    kept = std::move(*all_loops);
    properties.erase(all_loops);
  }
  // Texts may use half of the room, each up to the same length.
  for (std::size_t each = most_bytes / 4;
       each > 64 && bytes_of(properties) > most_bytes / 2; each /= 2)
    for (auto& [name, value] : properties)
      if (value.size() > each + 8) {
        value = beginning(value, each);
        mark_incomplete(name);
      }
  if (!kept.first.empty()) {
    const std::size_t used = bytes_of(properties) + kBytesOfProperty * 8;
    const std::size_t room = used < most_bytes ? most_bytes - used : 0;
    if (kept.second.size() > room) {
      kept.second = short_loops(loops, room);
      mark_incomplete(kept.first);
    }
    properties.push_back(std::move(kept));
  }
  std::string names;
  for (const std::string& name : incomplete) names += (names.empty() ? "" : ",") + name;
  properties.emplace_back(kShortened, names);
  return properties;
}

}  // namespace refrain::writer
