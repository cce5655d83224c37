// The control flow graph of regions, and the event flow graph of MPI calls, as arrays.
#include <pybind11/stl.h>

#include <filesystem>

#include "analysis/flow/control_flow.h"
#include "python/module/reading.h"
#include "summary/merged_flow.h"
#include "tools/output/profile_source.h"

namespace refrain::python {
namespace {

using analysis::ControlFlow;

// A place of the graph as one number: a path, or what is no path.
std::int64_t number_of(const ControlFlow::Place& place) {
  switch (place.kind) {
    case ControlFlow::Kind::kRegion:
      return place.path;
    case ControlFlow::Kind::kStart:
      return -1;
    case ControlFlow::Kind::kEnd:
      return -2;
    default:
      return -3;
  }
}

py::dict control_flow(const std::string& archive, bool from_events) {
  const auto [run, flow] = reading([&] {
    auto read = tools::read_profiled_run(archive, from_events, {});
    require(read);
    ControlFlow made = analysis::control_flow(
        read->profile, std::vector<bool>(read->profile.locations.size(), true));
    return std::pair(*std::move(read), std::move(made));
  });
  std::vector<std::int64_t> level, from, to;
  std::vector<std::uint64_t> count;
  for (const ControlFlow::Level& each : flow.levels)
    for (const ControlFlow::Edge& edge : each.edges) {
      level.push_back(each.parent == ControlFlow::kNone ? -1 : std::int64_t{each.parent});
      from.push_back(number_of(edge.from));
      to.push_back(number_of(edge.to));
      count.push_back(edge.count);
    }
  py::list nodes;
  for (std::size_t i = 0; i < flow.nodes.size(); ++i) {
    const analysis::RunProfile::Path& path = run.profile.paths[i];
    const ControlFlow::Node& node = flow.nodes[i];
    const bool known = path.region < run.profile.regions.size();
    nodes.append(py::make_tuple(
        text(known ? run.profile.regions[path.region].name : "other regions"),
        number(path.parent), text(path.site), node.depth, node.visits, node.time_ns,
        node.own_ns));
  }
  py::dict out;
  out["nodes"] = nodes;
  out["level"] = array_of(std::move(level));
  out["from"] = array_of(std::move(from));
  out["to"] = array_of(std::move(to));
  out["count"] = array_of(std::move(count));
  out["unknown"] = flow.unknown;
  return out;
}

// None: there is no such graph.
py::object event_flow(const std::string& archive) {
  std::error_code error;
  std::filesystem::path folder(archive);
  if (!std::filesystem::is_directory(folder, error)) folder = folder.parent_path();
  if (!std::filesystem::exists(archive, error))
    throw Error(archive + ": no such file or directory");
  const auto flow = [&] {
    const py::gil_scoped_release release;
    try {
      auto read = summary::read_merged_flow(folder.empty() ? "." : folder.string());
      if (!read) throw std::runtime_error(read.error());
      return *std::move(read);
    } catch (const std::exception& problem) {
      throw Error(problem.what());
    }
  }();
  if (!flow || flow->nodes.empty()) return py::none();
  py::list nodes, ranks;
  for (const summary::FlowGraph::Node& node : flow->nodes) {
    py::list callers;
    for (const std::string& caller : node.callers) callers.append(text(caller));
    nodes.append(py::make_tuple(static_cast<std::uint32_t>(node.kind), text(node.name),
                                text(node.site), callers,
                                text(summary::partners_text(node.to, node.from)),
                                node.size_least, node.size_greatest));
  }
  std::vector<std::uint32_t> from, to;
  std::vector<std::uint64_t> count, time, gap, sent, received;
  for (const summary::FlowLink& link : summary::links(*flow)) {
    from.push_back(link.sums.from);
    to.push_back(link.sums.to);
    count.push_back(link.sums.count);
    time.push_back(link.sums.time);
    gap.push_back(link.sums.gap);
    sent.push_back(link.sums.bytes_sent);
    received.push_back(link.sums.bytes_received);
    ranks.append(text(summary::label(link)));
  }
  py::dict out;
  out["nodes"] = nodes;
  out["from"] = array_of(std::move(from));
  out["to"] = array_of(std::move(to));
  out["count"] = array_of(std::move(count));
  out["time_ns"] = array_of(std::move(time));
  out["gap_ns"] = array_of(std::move(gap));
  out["bytes_sent"] = array_of(std::move(sent));
  out["bytes_received"] = array_of(std::move(received));
  out["ranks"] = ranks;
  return out;
}

}  // namespace

void bind_graph(py::module_& module) {
  module.def("control_flow", control_flow, py::arg("archive"), py::arg("from_events"));
  module.def("event_flow", event_flow, py::arg("archive"));
}

}  // namespace refrain::python
