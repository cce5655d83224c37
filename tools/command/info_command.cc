#include "tools/command/info_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "writer/archive_info.h"
#include "writer/otf2/short_properties.h"
#include "writer/rank_phases.h"
#include "writer/summary.h"

namespace refrain::tools {
namespace {

using writer::ArchiveInfo;
using writer::PhaseInfo;

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 100.0
                    : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::uint64_t sum(const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t total = 0;
  for (const auto& [name, count] : counts) total += count;
  return total;
}

std::string where(const PhaseInfo& phase) {
  if (phase.file.empty()) return "?";
  const std::string file = std::filesystem::path(phase.file).filename();
  return phase.line == 0 ? file : file + ":" + std::to_string(phase.line);
}

// The regions of an iteration, in order: "a; b; c", cut short where there are many.
std::string body_text(const PhaseInfo& phase) {
  constexpr std::size_t kMost = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, phase.body.size()); ++i)
    text += (i == 0 ? "" : "; ") + phase.body[i];
  if (phase.body_events > kMost && phase.body.size() > kMost)
    text += fmt::format("; ... ({} in all)", phase.body_events);
  return text;
}

nlohmann::ordered_json json_of(const std::vector<writer::CounterInfo>& counters) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const writer::CounterInfo& counter : counters)
    out.push_back({{"name", counter.name},
                   {"iterations", counter.iterations},
                   {"total", counter.total},
                   {"per_iteration", counter.per_iteration()},
                   {"per_second", counter.per_second()}});
  return out;
}

nlohmann::ordered_json json_of(const PhaseInfo& phase) {
  return {{"name", phase.name},
          {"file", phase.file},
          {"line", phase.line},
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

nlohmann::ordered_json json_of(const writer::MpiInfo& mpi) {
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

void print_json(const ArchiveInfo& info, const std::string& archive) {
  nlohmann::ordered_json out = {{"archive", archive},
                                {"version", info.version},
                                {"command", info.command},
                                {"machine", info.machine},
                                {"start_epoch_ns", info.start_epoch_ns},
                                {"recovered", info.recovered},
                                {"duration_s", info.duration_s},
                                {"processes", info.processes},
                                {"threads", info.locations.size()},
                                {"events_seen", info.events_seen},
                                {"events_written", info.events_written},
                                {"events_filtered", info.events_filtered},
                                {"events_lost", sum(info.lost)},
                                {"lost", info.lost},
                                {"archive_events", info.archive_events},
                                {"archive_bytes", info.archive_bytes},
                                {"gaps", info.gaps}};
  if (info.mpi.used) out["mpi"] = json_of(info.mpi);
  out["structure"] = info.structure;
  out["phases"] = nlohmann::ordered_json::array();
  for (const PhaseInfo& phase : info.phases) out["phases"].push_back(json_of(phase));
  out["locations"] = nlohmann::ordered_json::array();
  for (const auto& location : info.locations) {
    auto& entry = out["locations"].emplace_back();
    entry = {{"name", location.name},
             {"process", location.process},
             {"events_seen", location.events_seen},
             {"events_written", location.events_written},
             {"archive_events", location.archive_events},
             {"lost", location.lost}};
    if (!info.mpi.used) continue;
    entry["sends"] = location.sends;
    entry["sends_dropped"] = location.sends_dropped;
    entry["receives"] = location.receives;
    entry["receives_dropped"] = location.receives_dropped;
    entry["bytes_sent"] = location.bytes_sent;
    entry["bytes_received"] = location.bytes_received;
  }
  out["properties"] = info.properties;
  // A name that is no UTF-8 must not cost the rest.
  fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

// "loop 3", or the name that the program gave it.
std::string label(const PhaseInfo& phase) {
  const bool found = phase.name.empty() || phase.name.rfind("loop ", 0) == 0;
  return std::string(2 * std::size_t{phase.level}, ' ') +
         (found ? fmt::format("loop {}", phase.id) : phase.name);
}

std::string property(const ArchiveInfo& info, const char* name) {
  const auto found = info.properties.find(std::string("REFRAIN::") + name);
  return found == info.properties.end() ? "" : found->second;
}

// What else is not as it is in other archives.
void print_reservations(const ArchiveInfo& info) {
  if (const std::string taken = property(info, "MPI_TAKEN"); !taken.empty())
    fmt::print("Left out  messages and collectives; calls that were not seen: {}\n", taken);
  if (const std::string names = property(info, "SHORTENED"); !names.empty())
    fmt::print("Shortened {}: longer than the archive can hold\n", names);
  std::istringstream complaints(property(info, "COMPLAINTS"));
  for (std::string line; std::getline(complaints, line);)
    fmt::print("Complaint {}\n", line);
}

void print_functions_off(const ArchiveInfo& info) {
  const std::string functions = property(info, "FUNCTIONS_OFF");
  if (functions.empty()) return;
  std::istringstream lines(functions);
  fmt::print("Off       functions that were not recorded any more, for what they do:\n");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::uint64_t calls = 0;
    double mean_ns = 0;
    std::string name;
    words >> calls >> mean_ns >> std::ws;
    std::getline(words, name);
    fmt::print("          {} after {} calls of {}\n", name, calls,
               writer::duration_text(mean_ns));
  }
}

void print_counters(const PhaseInfo& phase) {
  for (const writer::CounterInfo& counter : phase.counters)
    fmt::print("         {}: {:.6g} an iteration, {:.4g} a second\n", counter.name,
               counter.per_iteration(), counter.per_second());
}

constexpr const char* kPhaseRow =
    "{:<14} {:<22} {:>6} {:>7} {:>7} {:>11} {:>8} {:>8} {:>10} {:>10} {:>10} {:>10}\n";

void print_phases(const ArchiveInfo& info) {
  if (info.phases.empty()) {
    fmt::print("Phases    none found: everything is written{}\n",
               info.mpi.polls_together == 0 ? "" : ", but for polls in a row");
    return;
  }
  if (!info.structure.empty()) fmt::print("\nNest      {}\n", info.structure);
  fmt::print(kPhaseRow, "phase", "where", "parent", "period", "visits", "iterations",
             "written", "in part", "mean", "min", "max", "sigma");
  for (const PhaseInfo& phase : info.phases) {
    fmt::print(kPhaseRow, label(phase), where(phase),
               phase.parent < 0 ? "-" : std::to_string(phase.parent), phase.body_events,
               phase.visits, phase.iterations, phase.written, phase.partly,
               writer::duration_text(phase.mean_ns), writer::duration_text(phase.min_ns),
               writer::duration_text(phase.max_ns), writer::duration_text(phase.sigma_ns));
    if (!phase.body.empty()) fmt::print("         {}\n", body_text(phase));
    print_counters(phase);
  }
}

// What ranks agree on in one row.
void print_rank_phases(const ArchiveInfo& info) {
  const std::vector<writer::RankPhase> phases = writer::rank_phases(info);
  fmt::print("\nRanks     {}\n", writer::ranks_agree(phases, info.processes)
                                     ? "all agree on all phases"
                                     : "do not agree: what differs has rows of its own");
  if (!info.structure.empty()) fmt::print("Nest      {}\n", info.structure);
  fmt::print("{:<10} ", "ranks");
  fmt::print(kPhaseRow, "phase", "where", "parent", "period", "visits", "iterations",
             "written", "in part", "mean", "min", "max", "sigma");
  for (const writer::RankPhase& row : phases) {
    const PhaseInfo& phase = row.phase;
    const std::string period = row.least_body == row.most_body
                                   ? std::to_string(row.most_body)
                                   : fmt::format("{}-{}", row.least_body, row.most_body);
    fmt::print("{:<10} ", writer::ranks_text(row.ranks, info.processes));
    fmt::print(kPhaseRow, label(phase), where(phase),
               phase.parent < 0 ? "-" : std::to_string(phase.parent), period, phase.visits,
               phase.iterations, phase.written, phase.partly,
               writer::duration_text(phase.mean_ns), writer::duration_text(phase.min_ns),
               writer::duration_text(phase.max_ns), writer::duration_text(phase.sigma_ns));
    if (!phase.body.empty()) fmt::print("         {}\n", body_text(phase));
  }
}

void print_mpi(const writer::MpiInfo& mpi) {
  fmt::print(
      "Messages  {} written, {}; left out for want of the other end: {} send{}, {} "
      "receive{}\n",
      mpi.messages, writer::bytes_text(mpi.bytes), mpi.sends_dropped,
      mpi.sends_dropped == 1 ? "" : "s", mpi.receives_dropped,
      mpi.receives_dropped == 1 ? "" : "s");
  fmt::print(
      "Others    {} ends of collectives written, {} left out; {} one-sided operations\n",
      mpi.collectives, mpi.collectives_dropped, mpi.one_sided);
  if (mpi.polls_together != 0)
    fmt::print("Polls     {} in a row with others are told together with them\n",
               mpi.polls_together);
  if (mpi.iterations_given_up != 0 || mpi.iterations_alone != 0)
    fmt::print(
        "One cut   {} iterations given up that not all ranks had, {} kept that one rank "
        "has alone\n",
        mpi.iterations_given_up, mpi.iterations_alone);
  fmt::print("Clocks    {} of {} messages received before they were sent{}\n",
             mpi.clock_violations, mpi.clock_checked,
             mpi.clock_repaired == 0 ? ""
                                     : fmt::format("; {} more until clocks were corrected",
                                                   mpi.clock_repaired));
}

void print_text(const ArchiveInfo& info, const std::string& archive) {
  fmt::print("Archive   {}, {}, by Refrain {}{}\n", archive,
             writer::bytes_text(info.archive_bytes), info.version,
             info.recovered ? ", recovered after the process was killed" : "");
  fmt::print("Program   {}\n", writer::beginning(info.command, 400));
  fmt::print("Machine   {}", info.machine);
  if (info.start_epoch_ns != 0)
    fmt::print(
        ", {:%Y-%m-%d %H:%M:%S}",
        fmt::localtime(static_cast<std::time_t>(info.start_epoch_ns / 1'000'000'000)));
  fmt::print("\nDuration  {}, {} process{}, {} thread{}\n",
             writer::duration_text(info.duration_s * 1e9), info.processes,
             info.processes == 1 ? "" : "es", info.locations.size(),
             info.locations.size() == 1 ? "" : "s");
  fmt::print("Events    {} seen, {} written ({:.3g} %), {} lost, {} gap{}\n",
             info.events_seen, info.events_written,
             percent(info.events_written, info.events_seen), sum(info.lost), info.gaps,
             info.gaps == 1 ? "" : "s");
  if (const auto reason = info.properties.find("REFRAIN::LIMIT_REASON");
      reason != info.properties.end())
    fmt::print("          {}\n", reason->second);
  for (const auto& [cause, count] : info.lost)
    if (count != 0) fmt::print("Lost      {} by {}\n", count, cause);
  if (info.events_filtered != 0)
    fmt::print("Filtered  {} enters and leaves\n", info.events_filtered);
  print_reservations(info);
  print_functions_off(info);
  if (info.mpi.used) print_mpi(info.mpi);
  if (info.mpi.used && info.processes > 1 && !info.phases.empty())
    print_rank_phases(info);
  else
    print_phases(info);
}

}  // namespace

void InfoCommand::add_options(CLI::App& app) {
  app.add_option("archive", archive_, "the archive's folder, or its traces.otf2")
      ->required();
  app.add_flag("--json", json_, "as JSON");
}

int InfoCommand::run() {
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::path(archive_) / "spool", error) &&
      !std::filesystem::exists(std::filesystem::path(archive_) / "traces.otf2", error))
    return fail("'" + archive_ +
                "' is a recording without an archive yet: 'refrain recover " + archive_ +
                "' makes it");
  if (std::filesystem::exists(std::filesystem::path(archive_) / "traces.prv", error) &&
      !std::filesystem::exists(std::filesystem::path(archive_) / "traces.otf2", error))
    return fail("'" + archive_ +
                "' holds a Paraver trace only (--format paraver), which is not "
                "read: open its traces.prv with Paraver");
  const ArchiveInfo info = writer::read_archive_info(archive_);
  if (!info.error.empty()) return fail(info.error);
  if (json_)
    print_json(info, archive_);
  else
    print_text(info, archive_);
  return kDone;
}

}  // namespace refrain::tools
