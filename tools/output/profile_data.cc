#include "tools/output/profile_data.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "tools/output/message_output.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

using analysis::ClassTimes;
using analysis::RunProfile;
using Json = nlohmann::ordered_json;

Json or_null(std::uint32_t index) {
  return index == RunProfile::kNone ? Json(nullptr) : Json(index);
}

Json json_of(const analysis::RunEfficiencies& e) {
  const auto value = [&e](double efficiency) {
    return e.known() ? Json(efficiency) : Json(nullptr);
  };
  Json out = {{"unknown_share", e.unknown},
              {"parallel", value(e.parallel)},
              {"load_balance", value(e.load_balance)},
              {"communication", value(e.communication)}};
  if (!e.has_mpi) return out;
  out["mpi"] = value(e.mpi);
  out["mpi_load_balance"] = value(e.mpi_load_balance);
  out["mpi_communication"] = value(e.mpi_communication);
  out["openmp"] = value(e.openmp);
  return out;
}

// 0: not known.
Json bytes_or_null(std::uint64_t bytes) { return bytes == 0 ? Json(nullptr) : Json(bytes); }

Json json_of(const RunProfile::Process& process) {
  return {{"process", process.number},
          {"rank", or_null(process.rank)},
          {"host", process.host},
          {"program", process.program},
          {"complete", process.complete},
          {"ticks_per_second", process.ticks_per_second},
          {"time_ticks", process.time},
          {"peak_memory_bytes", bytes_or_null(process.peak_memory_bytes)},
          {"memory_bytes", bytes_or_null(process.memory_bytes)}};
}

Json json_of(const RunProfile::Sums& sums) {
  return {{"location", std::uint32_t{sums.location}},
          {"visits", sums.visits},
          {"time_ticks", sums.time},
          {"own_ticks", sums.own},
          {"management_ticks", sums.management},
          {"elsewhere_ticks", sums.elsewhere},
          {"regions_elsewhere", sums.regions_elsewhere},
          {"minimum_ticks", sums.minimum},
          {"maximum_ticks", sums.maximum},
          {"bytes_sent", sums.bytes_sent},
          {"bytes_received", sums.bytes_received},
          {"messages_sent", sums.messages_sent},
          {"messages_received", sums.messages_received},
          {"forks", sums.forks},
          {"fork_ticks", sums.fork_time}};
}

// Name, file and line of a region; the role and paradigm are OTF2's numbers.
void put_region(Json& out, const RunProfile& profile, std::uint32_t region) {
  const RunProfile::Region none{.name = "other regions"};
  const RunProfile::Region& from =
      region == RunProfile::kNone ? none : profile.regions[region];
  out["name"] = from.name;
  out["file"] = from.file;
  out["line"] = from.line;
  out["role"] = from.role;
  out["paradigm"] = from.paradigm;
}

// Without what it is on each location.
Json path_json(const ProfiledRun& run, std::uint32_t number) {
  const RunProfile::Path& path = run.profile.paths[number];
  const analysis::PathTotal& total = run.totals.paths[number];
  Json out = {{"path", number}, {"parent", or_null(path.parent)}};
  put_region(out, run.profile, path.region);
  out["site"] = path.site;
  out["class"] = analysis::class_name(path.cls);
  out["visits"] = total.visits;
  out["time_ns"] = total.time_ns;
  out["own_ns"] = total.own_ns;
  out["management_ns"] = total.management_ns;
  out["minimum_ns"] = total.minimum_ns;
  out["maximum_ns"] = total.maximum_ns;
  out["bytes_sent"] = total.bytes_sent;
  out["bytes_received"] = total.bytes_received;
  out["messages_sent"] = total.messages_sent;
  out["messages_received"] = total.messages_received;
  return out;
}

Json location_json(const ProfiledRun& run, LocationId number) {
  const RunProfile::Location& location = run.profile.locations[number];
  return {{"location", std::uint32_t{number}},
          {"reference", location.reference},
          {"process", location.process},
          {"thread", location.thread},
          {"primary", location.primary},
          {"worker", location.worker},
          {"helper", location.helper},
          {"temporary", location.temporary},
          {"time_ticks", run.profile.time_of(number)},
          {"outside_ticks", location.outside},
          {"outside_class", analysis::class_name(run.profile.outside_class(number))},
          {"elsewhere_ticks", location.elsewhere},
          {"classes", class_times_json(run.totals.by_location[number])}};
}

Json region_json(const ProfiledRun& run, const analysis::ParallelRegion& region) {
  Json out = Json::object();
  put_region(out, run.profile, region.region);
  out["forks"] = region.forks;
  out["visits"] = region.visits;
  out["fork_ns"] = region.fork_ns;
  out["time_ns"] = region.total_ns();
  out["classes"] = class_times_json(region.times);
  out["useful_ns_by_location"] = region.busy_ns;
  return out;
}

Json procedure_json(const analysis::MpiProcedure& procedure) {
  return {{"name", procedure.name},
          {"class", analysis::class_name(procedure.cls)},
          {"calls", procedure.calls},
          {"time_ns", procedure.time_ns},
          {"minimum_ns", procedure.minimum_ns},
          {"maximum_ns", procedure.maximum_ns},
          {"bytes_sent", procedure.bytes_sent},
          {"bytes_received", procedure.bytes_received},
          {"messages", procedure.messages},
          {"average_bytes", procedure.average_bytes()}};
}

class CsvWriter {
 public:
  CsvWriter(const ProfiledRun& run, const PutText& put)
      : profile_(run.profile), put_(put) {}

  void write() {
    out_ =
        "path,parent,name,file,line,site,class,process,rank,thread,visits,time_ns,own_ns,"
        "management_ns,elsewhere_ns,minimum_ns,maximum_ns,bytes_sent,bytes_received,"
        "messages_sent,messages_received\n";
    for (LocationId i; i < profile_.locations.size(); ++i) outside(i);
    for (std::uint32_t i = 0; i < profile_.paths.size(); ++i) {
      for (const RunProfile::Sums& sums : profile_.paths[i].sums) row(i, sums);
      put_(out_);
      out_.clear();
    }
    put_(out_);
  }

 private:
  template <typename Ticks>
  std::string ns(LocationId location, Ticks ticks) const {
    return fmt::format("{:.3f}",
                       profile_.nanoseconds(location, static_cast<double>(ticks)));
  }

  std::string who(LocationId location) const {
    const RunProfile::Process& process = profile_.process_of(location);
    return fmt::format(
        "{},{},{}", process.number,
        process.rank == RunProfile::kNone ? "" : std::to_string(process.rank),
        profile_.locations[location].thread);
  }

  // No path: the location itself.
  void outside(LocationId number) {
    const RunProfile::Location& location = profile_.locations[number];
    fmt::format_to(std::back_inserter(out_), ",,,,,,{},{},1,{},{},0,{},,,,,,\n",
                   analysis::class_name(profile_.outside_class(number)), who(number),
                   ns(number, profile_.time_of(number)), ns(number, location.outside),
                   ns(number, location.elsewhere));
  }

  void row(std::uint32_t number, const RunProfile::Sums& sums) {
    const RunProfile::Path& path = profile_.paths[number];
    const RunProfile::Region none{.name = "other regions"};
    const RunProfile::Region& region =
        path.region == RunProfile::kNone ? none : profile_.regions[path.region];
    const LocationId at = sums.location;
    fmt::format_to(std::back_inserter(out_),
                   "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", number,
                   path.parent == RunProfile::kNone ? "" : std::to_string(path.parent),
                   csv_quoted(region.name), csv_quoted(region.file), region.line,
                   csv_quoted(path.site), analysis::class_name(path.cls), who(at),
                   sums.visits, ns(at, sums.time), ns(at, sums.own),
                   ns(at, sums.management), ns(at, sums.elsewhere), ns(at, sums.minimum),
                   ns(at, sums.maximum), sums.bytes_sent, sums.bytes_received,
                   sums.messages_sent, sums.messages_received);
  }

  const RunProfile& profile_;
  const PutText& put_;
  std::string out_;
};

// All but the lists.
Json head_json(const ProfiledRun& run) {
  const analysis::ProfileTotals& totals = run.totals;
  return {{"format", "refrain profile"},
          {"version", 1},
          {"archive", run.archive},
          {"command", run.command},
          {"openmp", run.openmp},
          {"openmp_note", run.openmp_note},
          {"source", run.from_events ? "events" : "summary"},
          {"intervals_not_written", run.gaps},
          {"events_seen", run.events_seen},
          {"events_written", run.events_written},
          {"run_ns", totals.run_ns},
          {"time_ns", totals.time_ns},
          {"outside_ns", totals.outside_ns},
          {"elsewhere_ns", totals.elsewhere_ns},
          {"regions_elsewhere", totals.regions_elsewhere},
          {"locations_without", run.profile.locations_without},
          {"efficiencies", json_of(totals.efficiencies)},
          {"classes", class_times_json(totals.times)}};
}

// Behind the paths.
Json tail_json(const ProfiledRun& run) {
  Json out = {{"parallel_regions", Json::array()}, {"mpi", Json::array()}};
  for (const auto& region : run.totals.parallel_regions)
    out["parallel_regions"].push_back(region_json(run, region));
  for (const auto& procedure : run.totals.mpi)
    out["mpi"].push_back(procedure_json(procedure));
  out["mpi_by_size"] = by_size_json(run.messages);
  out["mpi_by_partner"] = by_partner_json(run.messages);
  return out;
}

}  // namespace

Json profile_value(const ProfiledRun& run) {
  Json out = head_json(run);
  out["processes"] = Json::array();
  for (const auto& process : run.profile.processes)
    out["processes"].push_back(json_of(process));
  out["locations"] = Json::array();
  for (LocationId i; i < run.profile.locations.size(); ++i)
    out["locations"].push_back(location_json(run, i));
  out["paths"] = Json::array();
  for (std::uint32_t i = 0; i < run.profile.paths.size(); ++i)
    out["paths"].push_back(path_json(run, i));
  out.update(tail_json(run));
  return out;
}

void put_profile_json(const ProfiledRun& run, const PutText& put) {
  JsonStream out(put, 2);
  out.begin_object();
  out.members(head_json(run));
  out.key("processes");
  out.begin_array();
  for (const auto& process : run.profile.processes) out.value(json_of(process));
  out.end();
  out.key("locations");
  out.begin_array();
  for (LocationId i; i < run.profile.locations.size(); ++i)
    out.value(location_json(run, i));
  out.end();
  out.key("paths");
  out.begin_array();
  for (std::uint32_t i = 0; i < run.profile.paths.size(); ++i) {
    out.begin_object();
    out.members(path_json(run, i));
    out.key("locations");
    out.begin_array();
    for (const RunProfile::Sums& sums : run.profile.paths[i].sums) out.value(json_of(sums));
    out.end();
    out.end();
  }
  out.end();
  out.members(tail_json(run));
  out.end();
  out.finish();
}

std::string profile_json(const ProfiledRun& run) {
  std::string text;
  put_profile_json(run, [&text](std::string_view part) { text += part; });
  return text;
}

void put_profile_csv(const ProfiledRun& run, const PutText& put) {
  CsvWriter(run, put).write();
}

std::string profile_csv(const ProfiledRun& run) {
  std::string text;
  put_profile_csv(run, [&text](std::string_view part) { text += part; });
  return text;
}

}  // namespace refrain::tools
