// Definitions of an archive, and what the commands print of it as JSON.
#include <pybind11/stl.h>

#include "analysis/archive_info.h"
#include "python/module/reading.h"
#include "reader/archive_stream.h"
#include "tools/output/info_data.h"
#include "tools/output/message_output.h"
#include "tools/output/profile_data.h"
#include "tools/output/profile_iterations.h"

namespace refrain::python {
namespace {

py::dict definitions(const std::string& archive) {
  const reader::TraceDefinitions d = reading([&] {
    reader::ArchiveStream stream;
    require(stream.open(archive));
    return stream.definitions();
  });
  py::dict out;
  out["creator"] = text(d.creator);
  out["machine"] = text(d.machine);
  out["of_refrain"] = d.is_refrain();
  out["ticks_per_second"] = d.ticks_per_second;
  py::dict properties;
  for (const auto& [name, value] : d.properties) properties[text(name)] = text(value);
  out["properties"] = properties;
  py::list regions, locations, processes, communicators;
  for (const reader::RegionInfo& region : d.regions)
    regions.append(py::make_tuple(text(region.name), text(region.file), region.line,
                                  region.role, region.paradigm, region.is_loop));
  for (const reader::LocationInfo& location : d.locations)
    locations.append(py::make_tuple(text(location.name), location.process, location.thread,
                                    location.ref, location.is_thread(), location.events));
  for (const reader::ProcessInfo& process : d.processes)
    processes.append(py::make_tuple(
        text(process.name), number(process.rank),
        process.node < d.nodes.size() ? text(d.nodes[process.node]) : text(""),
        process.locations));
  for (const reader::CommInfo& comm : d.comms) {
    py::object members = py::none();
    if (comm.group < d.groups.size()) members = py::cast(d.groups[comm.group]);
    communicators.append(py::make_tuple(text(comm.name), comm.of_processes, members));
  }
  out["regions"] = regions;
  out["locations"] = locations;
  out["processes"] = processes;
  out["communicators"] = communicators;
  return out;
}

py::str info(const std::string& archive) {
  return text(reading([&] {
    const auto info = analysis::read_archive_info(archive);
    require(info);
    std::string json;
    tools::put_info_json(*info, archive, [&](std::string_view part) { json += part; });
    return json;
  }));
}

tools::ProfiledRun profiled(const std::string& archive, bool from_events) {
  auto run = tools::read_profiled_run(archive, from_events, {});
  require(run);
  return *std::move(run);
}

py::str profile(const std::string& archive, bool from_events) {
  return text(reading([&] { return tools::profile_json(profiled(archive, from_events)); }));
}

py::str messages(const std::string& archive, bool from_events) {
  return text(reading([&] {
    tools::ProfiledRun run = profiled(archive, from_events);
    // What the summary does not say is counted in the events, if there are any.
    if (!run.messages.complete() && !run.summary_only && !from_events)
      run = profiled(archive, true);
    return tools::messages_json(run);
  }));
}

// A row for each call path and location.
py::dict profile_values(const std::string& archive, bool from_events) {
  const tools::ProfiledRun run = reading([&] { return profiled(archive, from_events); });
  std::vector<std::uint32_t> path, location;
  std::vector<std::uint64_t> visits, sent, received, sends, receives;
  std::vector<double> time, own, management, least, greatest;
  for (std::uint32_t i = 0; i < run.profile.paths.size(); ++i)
    for (const analysis::RunProfile::Sums& sums : run.profile.paths[i].sums) {
      const auto ns = [&](auto ticks) {
        return run.profile.nanoseconds(sums.location, static_cast<double>(ticks));
      };
      path.push_back(i);
      location.push_back(sums.location);
      visits.push_back(sums.visits);
      time.push_back(ns(sums.time));
      own.push_back(ns(sums.own));
      management.push_back(ns(sums.management));
      least.push_back(ns(sums.minimum));
      greatest.push_back(ns(sums.maximum));
      sent.push_back(sums.bytes_sent);
      received.push_back(sums.bytes_received);
      sends.push_back(sums.messages_sent);
      receives.push_back(sums.messages_received);
    }
  py::dict out;
  out["path"] = array_of(std::move(path));
  out["location"] = array_of(std::move(location));
  out["visits"] = array_of(std::move(visits));
  out["time_ns"] = array_of(std::move(time));
  out["own_ns"] = array_of(std::move(own));
  out["management_ns"] = array_of(std::move(management));
  out["minimum_ns"] = array_of(std::move(least));
  out["maximum_ns"] = array_of(std::move(greatest));
  out["bytes_sent"] = array_of(std::move(sent));
  out["bytes_received"] = array_of(std::move(received));
  out["messages_sent"] = array_of(std::move(sends));
  out["messages_received"] = array_of(std::move(receives));
  return out;
}

tools::ProfiledIterations rows_of(const std::string& archive) {
  auto run = tools::read_iterations(archive, 12);
  require(run);
  return *std::move(run);
}

py::str iterations(const std::string& archive) {
  return text(reading([&] { return tools::iterations_json(rows_of(archive)); }));
}

// A row for each location and row of iterations.
py::dict iteration_values(const std::string& archive) {
  const tools::ProfiledIterations run = reading([&] { return rows_of(archive); });
  std::vector<std::uint32_t> location;
  std::vector<std::int64_t> loop, outermost;
  const auto index_of = [&run](std::uint32_t at) {
    return at < run.profile.loops.size() ? std::int64_t{at} : -1;
  };
  std::vector<std::uint64_t> first, count, memory, peak;
  std::vector<double> begin, end;
  std::vector<std::vector<double>> times(analysis::kTimeClasses);
  std::vector<std::vector<std::uint64_t>> counters(run.profile.counters.size());
  for (std::uint32_t i = 0; i < run.profile.locations.size(); ++i)
    for (const analysis::IterationProfile::Row& row : run.profile.locations[i].rows) {
      location.push_back(i);
      loop.push_back(index_of(row.loop));
      outermost.push_back(index_of(row.outermost));
      first.push_back(row.first);
      count.push_back(row.count);
      begin.push_back(row.begin_ns);
      end.push_back(row.end_ns);
      memory.push_back(row.memory.bytes);
      peak.push_back(row.memory.peak_bytes);
      for (std::size_t k = 0; k < times.size(); ++k) times[k].push_back(row.times[k]);
      for (std::size_t k = 0; k < counters.size(); ++k)
        counters[k].push_back(k < row.counters.size() ? row.counters[k] : 0);
    }
  py::dict out;
  out["location"] = array_of(std::move(location));
  out["loop"] = array_of(std::move(loop));
  out["outermost"] = array_of(std::move(outermost));
  out["first"] = array_of(std::move(first));
  out["count"] = array_of(std::move(count));
  out["begin_ns"] = array_of(std::move(begin));
  out["end_ns"] = array_of(std::move(end));
  for (std::size_t k = 0; k < times.size(); ++k)
    out[py::str(std::string(analysis::class_name(static_cast<analysis::TimeClass>(k))) +
                "_ns")] = array_of(std::move(times[k]));
  out["memory_bytes"] = array_of(std::move(memory));
  out["peak_memory_bytes"] = array_of(std::move(peak));
  for (std::size_t k = 0; k < counters.size(); ++k)
    out[text(run.profile.counters[k])] = array_of(std::move(counters[k]));
  return out;
}

}  // namespace

void bind_archive(py::module_& module) {
  module.def("definitions", definitions, py::arg("archive"));
  module.def("info", info, py::arg("archive"));
  module.def("profile", profile, py::arg("archive"), py::arg("from_events"));
  module.def("messages", messages, py::arg("archive"), py::arg("from_events"));
  module.def("profile_values", profile_values, py::arg("archive"), py::arg("from_events"));
  module.def("iterations", iterations, py::arg("archive"));
  module.def("iteration_values", iteration_values, py::arg("archive"));
}

}  // namespace refrain::python
