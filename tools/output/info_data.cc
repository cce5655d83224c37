#include "tools/output/info_data.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/file_use.h"
#include "base/memory_use.h"
#include "base/result.h"
#include "base/thread_use.h"
#include "reader/trace.h"

namespace refrain::tools {
namespace {

using analysis::ArchiveInfo;
using analysis::PhaseInfo;

std::uint64_t sum(const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t total = 0;
  for (const auto& [name, count] : counts) total += count;
  return total;
}

nlohmann::ordered_json json_of(const std::vector<analysis::CounterInfo>& counters) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const analysis::CounterInfo& counter : counters)
    out.push_back({{"name", counter.name},
                   {"iterations", counter.iterations},
                   {"total", counter.total},
                   {"per_iteration", counter.per_iteration()},
                   {"per_second", counter.per_second()}});
  return out;
}

nlohmann::ordered_json json_of(const PhaseInfo& phase) {
  return {{"name", phase.name},
          {"named", phase.named},
          {"function", phase.function},
          {"file", phase.file},
          {"line", phase.line},
          {"last_line", phase.last_line},
          {"region", phase.region},
          {"process", phase.process},
          {"loop", phase.id},
          {"level", phase.level},
          {"parent", phase.parent},
          {"period_events", phase.body_events},
          {"body", phase.body},
          {"visits", phase.visits},
          {"iterations", phase.iterations},
          {"written", phase.written},
          {"partly_written", phase.partly},
          {"total_ns", phase.total_ns},
          {"mean_ns", phase.mean_ns},
          {"min_ns", phase.min_ns},
          {"max_ns", phase.max_ns},
          {"sigma_ns", phase.sigma_ns},
          {"counters", json_of(phase.counters)}};
}

nlohmann::ordered_json json_of(const analysis::MpiInfo& mpi) {
  return {{"messages", mpi.messages},
          {"sends_dropped", mpi.sends_dropped},
          {"receives_dropped", mpi.receives_dropped},
          {"bytes", mpi.bytes},
          {"collectives", mpi.collectives},
          {"collectives_dropped", mpi.collectives_dropped},
          {"one_sided", mpi.one_sided},
          {"one_sided_dropped", mpi.one_sided_dropped},
          {"polls_together", mpi.polls_together},
          {"clock_checked", mpi.clock_checked},
          {"clock_violations", mpi.clock_violations},
          {"clock_repaired", mpi.clock_repaired},
          {"iterations_given_up", mpi.iterations_given_up},
          {"iterations_alone", mpi.iterations_alone}};
}

// Whole numbers; those that are too large for it are of no run.
nlohmann::ordered_json count(double value) {
  if (value >= 0 && value < 9e18) return static_cast<std::uint64_t>(value);
  return value;
}

nlohmann::ordered_json count(const std::optional<double>& value) {
  return value ? count(*value) : nlohmann::ordered_json();
}

void add_traffic(const analysis::RunTotals::Traffic& traffic, nlohmann::ordered_json& out) {
  out["messages_sent"] = count(traffic.messages_sent);
  out["bytes_sent"] = count(traffic.bytes_sent);
  out["messages_received"] = count(traffic.messages_received);
  out["bytes_received"] = count(traffic.bytes_received);
  out["collectives"] = count(traffic.collectives);
}

nlohmann::ordered_json json_of(const base::MemoryUse& use) {
  nlohmann::ordered_json out;
  for (const base::MemoryUseNumber& number : base::kMemoryUseNumbers)
    out[number.name] = use.*number.value;
  return out;
}

nlohmann::ordered_json json_of(const analysis::RunTotals::Allocations& from) {
  const base::MemoryCalls& sums = from.sums;
  nlohmann::ordered_json out = {
      {"from_bytes", sums.from_bytes},
      {"processes", from.processes},
      {"allocations", sums.allocations()},
      {"bytes", sums.bytes()},
      {"high_water_bytes", sums.high_water_bytes},
      {"high_water_process", from.most},
      {"high_water_s", from.most_s < 0 ? nlohmann::ordered_json(nullptr)
                                       : nlohmann::ordered_json(from.most_s)},
      {"current_bytes", sums.current_bytes},
      {"failed", sums.failed},
      {"unknown_frees", sums.unknown_frees},
      {"untracked", sums.untracked}};
  for (std::size_t i = 0; i < sums.calls.size(); ++i)
    out[base::kAllocationCallNames[i]] = sums.calls[i];
  out["sizes"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < sums.sizes.size(); ++i)
    if (sums.sizes[i].calls != 0)
      out["sizes"].push_back(
          {{"up_to_bytes", i + 1 == sums.sizes.size()
                               ? nlohmann::ordered_json(nullptr)
                               : nlohmann::ordered_json(std::uint64_t{16} << i)},
           {"calls", sums.sizes[i].calls},
           {"bytes", sums.sizes[i].bytes}});
  out["small"] = json_of(sums.small);
  out["rest"] = json_of(sums.rest);
  out["paths"] = nlohmann::ordered_json::array();
  for (const analysis::RunTotals::AllocatingPath& path : from.paths) {
    auto& entry = out["paths"].emplace_back();
    entry = {{"place", base::place_text(path.frames[path.at])},
             {"processes", path.processes}};
    entry.update(json_of(path.use));
    entry["most_process"] = path.most;
    entry["most_high_water_bytes"] = path.most_bytes;
    entry["at"] = path.at;
    entry["frames"] = nlohmann::ordered_json::array();
    for (const base::CallingPlace& frame : path.frames)
      entry["frames"].push_back({{"function", frame.function},
                                 {"file", frame.file},
                                 {"line", frame.line},
                                 {"module", frame.module}});
  }
  return out;
}

nlohmann::ordered_json json_of(const base::Result<analysis::RunTotals>& read,
                               bool uses_mpi) {
  if (!read) return {{"error", read.error()}};
  const analysis::RunTotals& totals = *read;
  if (totals.summaries == 0) return nullptr;
  nlohmann::ordered_json out = {
      {"processes_counted", totals.summaries},
      {"calls", count(totals.calls)},
      {"calls_without_region", count(totals.calls_without_region)},
      {"ns_without_region", totals.ns_without_region}};
  if (uses_mpi) add_traffic(totals.traffic, out);
  out["regions"] = nlohmann::ordered_json::array();
  for (const analysis::RunTotals::Region& region : totals.regions)
    out["regions"].push_back({{"name", region.name},
                              {"file", region.file},
                              {"line", region.line},
                              {"calls", count(region.calls)},
                              {"inclusive_ns", region.inclusive_ns},
                              {"exclusive_ns", region.exclusive_ns}});
  if (!totals.files.empty()) {
    out["files"] = nlohmann::ordered_json::array();
    for (const analysis::RunTotals::File& file : totals.files) {
      auto& entry = out["files"].emplace_back();
      entry = {{"path", file.path}, {"processes", file.processes}};
      for (const base::FileUseNumber& number : base::kFileUseNumbers)
        entry[number.name] = file.use.*number.value;
      entry["most_time_process"] = file.most;
      entry["most_time_ns"] = file.most_ns;
    }
  }
  if (totals.allocations.processes != 0) out["allocations"] = json_of(totals.allocations);
  out["processes"] = nlohmann::ordered_json::array();
  for (const analysis::RunTotals::Process& process : totals.processes) {
    auto& entry = out["processes"].emplace_back();
    entry = {{"name", process.name}, {"counted", process.counted}};
    if (!process.counted) continue;
    entry["calls"] = count(process.calls);
    entry["calls_without_region"] = count(process.calls_without_region);
    if (uses_mpi) add_traffic(process.traffic, entry);
    if (process.peak_memory_bytes != 0) {
      entry["peak_memory_bytes"] = process.peak_memory_bytes;
      entry["memory_bytes"] = process.memory_bytes;
    }
    if (process.allocations_counted) {
      entry["allocations"] = process.allocations;
      entry["allocated_bytes"] = process.allocated_bytes;
      entry["high_water_bytes"] = process.high_water_bytes;
      entry["left_bytes"] = process.left_bytes;
    }
    if (process.threads == 0) continue;
    entry["threads"] = process.threads;
    entry["cores"] = process.use.cores.text();
    for (const base::ThreadUseNumber& number : base::kThreadUseNumbers)
      entry[number.name] = process.use.*number.value;
  }
  return out;
}

// Without what there is of each thread.
nlohmann::ordered_json whole_value(const ArchiveInfo& info, const std::string& archive) {
  nlohmann::ordered_json out = {{"archive", archive},
                                {"version", info.version},
                                {"command", info.command},
                                {"machine", info.machine},
                                {"openmp", reader::openmp_runtime(info.properties)},
                                {"openmp_note", reader::openmp_note(info.properties)},
                                {"start_epoch_ns", info.start_epoch_ns},
                                {"recovered", info.recovered},
                                {"duration_s", info.duration_s},
                                {"processes", info.processes},
                                {"threads", info.threads()},
                                {"helper_threads", info.locations.size() - info.threads()},
                                {"events_seen", info.events_seen},
                                {"events_written", info.events_written},
                                {"events_filtered", info.events_filtered},
                                {"locks_left_out", info.locks_left_out},
                                {"events_lost", sum(info.lost)},
                                {"lost", info.lost},
                                {"threads_missing", info.threads_missing},
                                {"threads_unrecorded", info.threads_unrecorded},
                                {"records_damaged", info.records_damaged},
                                {"events_unreadable", info.events_unreadable},
                                {"archive_events", info.archive_events},
                                {"archive_bytes", info.archive_bytes},
                                {"gaps", info.gaps}};
  if (info.mpi.used) out["mpi"] = json_of(info.mpi);
  out["summary"] = json_of(info.totals, info.mpi.used);
  out["structure"] = info.structure;
  return out;
}

nlohmann::ordered_json json_of(const analysis::LocationInfo& location, bool mpi) {
  nlohmann::ordered_json entry = {{"name", location.name},
                                  {"process", location.process},
                                  {"events_seen", location.events_seen},
                                  {"events_written", location.events_written},
                                  {"archive_events", location.archive_events},
                                  {"lost", location.lost}};
  if (!mpi) return entry;
  entry["sends"] = location.sends;
  entry["sends_dropped"] = location.sends_dropped;
  entry["receives"] = location.receives;
  entry["receives_dropped"] = location.receives_dropped;
  entry["bytes_sent"] = location.bytes_sent;
  entry["bytes_received"] = location.bytes_received;
  return entry;
}

}  // namespace

void put_info_json(const ArchiveInfo& info, const std::string& archive,
                   const PutText& put) {
  JsonStream out(put, 2);
  out.begin_object();
  out.members(whole_value(info, archive));
  out.key("phases");
  out.begin_array();
  for (const PhaseInfo& phase : info.phases) out.value(json_of(phase));
  out.end();
  out.key("locations");
  out.begin_array();
  for (const analysis::LocationInfo& location : info.locations)
    out.value(json_of(location, info.mpi.used));
  out.end();
  out.key("properties");
  out.value(nlohmann::ordered_json(info.properties));
  out.end();
  out.finish();
}

}  // namespace refrain::tools
