// The search for wait states, with patterns of Python and of shared objects.
#include "python/module/analysis_bindings.h"

#include <pybind11/stl.h>

#include <bit>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/flow/control_flow.h"
#include "analysis/scaling/scaling.h"
#include "cube/algebra.h"
#include "cube/cubex_file.h"
#include "cube/cubex_reader.h"
#include "python/module/python_pattern.h"
#include "python/module/reading.h"
#include "summary/merged_flow.h"
#include "tools/output/analyze_output.h"
#include "tools/output/profile_source.h"
#include "tools/output/scaling_output.h"
#include "tools/output/whole_run.h"
#include "waits/modules/pattern_modules.h"
#include "waits/wait_analysis.h"

namespace refrain::python {

namespace {

struct PyAnalysis {
  std::string archive;
  waits::WaitAnalysis analysis;
  analysis::Conclusions conclusions;
};

std::shared_ptr<PyAnalysis> analyze(
    const std::string& archive, const std::vector<std::shared_ptr<PythonPattern>>& patterns,
    const std::vector<std::string>& modules) {
  waits::PatternModules loaded;
  for (const std::string& file : modules) require(loaded.load(file));
  waits::MorePatterns more;
  if (!loaded.empty() || !patterns.empty())
    more = [&] {
      std::vector<std::unique_ptr<waits::Pattern>> made = loaded.make();
      for (const std::shared_ptr<PythonPattern>& each : patterns)
        made.push_back(each->make());
      return made;
    };
  auto result = std::make_shared<PyAnalysis>();
  result->archive = archive;
  const base::Result<> done = reading([&]() -> base::Result<> {
    const auto read = tools::summaries_of_events(archive);
    auto analysis =
        waits::analyze_archive(archive, {}, waits::with_sinks(read.get()), more);
    if (!analysis) return analysis.failure();
    result->analysis = *std::move(analysis);
    if (result->analysis.problems.gaps != 0)
      if (auto estimated = tools::estimate_whole_run(archive, result->analysis); !estimated)
        return estimated;
    auto conclusions = tools::conclude_run(archive, 0, read.get());
    if (!conclusions) return conclusions.failure();
    result->conclusions = *std::move(conclusions);
    tools::add_what_events_say(result->conclusions, archive, result->analysis);
    return {};
  });
  // What a pattern has raised, as it was raised.
  for (const std::shared_ptr<PythonPattern>& each : patterns) each->raise();
  require(done);
  return result;
}

// Seconds by call path and location.
py::array values(const PyAnalysis& self, std::uint32_t metric, bool with_children) {
  const waits::WaitAnalysis& from = self.analysis;
  if (metric >= from.tree.metrics.size()) throw py::index_error("there is no such metric");
  const std::size_t width = from.locations.size();
  std::vector<double> out(from.paths.size() * width);
  for (std::uint32_t path = 0; path < from.paths.size(); ++path) {
    const waits::WaitAnalysis::Row row =
        with_children ? from.inclusive(metric, PathId(path)) : from.values[metric][path];
    for (const auto& [location, ticks] : row)
      out[path * width + location] = from.seconds(static_cast<double>(ticks));
  }
  return array_of(std::move(out), {static_cast<py::ssize_t>(from.paths.size()),
                                   static_cast<py::ssize_t>(width)});
}

py::list parents(const PyAnalysis& self) {
  py::list out;
  for (const waits::WaitAnalysis::Path& path : self.analysis.paths)
    out.append(number(path.parent));
  return out;
}

// Of runs on equally many threads the one with the median time, as the command does it.
py::str scaling(const std::vector<std::string>& archives, const std::string& loop,
                bool whole, std::optional<bool> weak, double at) {
  return text(reading([&] {
    std::vector<analysis::Scale> runs;
    for (const std::string& archive : archives) {
      auto run = tools::read_scale(archive);
      require(run);
      runs.push_back(*std::move(run));
    }
    const auto found =
        analysis::scaling_of(analysis::medians_of(std::move(runs)),
                             {.whole = whole, .loop = loop, .weak = weak, .at = at});
    require(found);
    return tools::scaling_json(*found);
  }));
}

}  // namespace

void bind_analysis(py::module_& module) {
  py::class_<PyAnalysis, std::shared_ptr<PyAnalysis>>(module, "Analysis")
      .def("json",
           [](const PyAnalysis& self) {
             return text(tools::analysis_json(self.analysis, &self.conclusions));
           })
      .def(
          "screen",
          [](const PyAnalysis& self, std::size_t width, bool all) {
            py::list lines;
            for (const std::string& line : tools::findings_screen(
                     self.analysis, self.conclusions, {.width = width, .all = all}))
              lines.append(text(line));
            return lines;
          },
          py::arg("width"), py::arg("all"))
      .def("values", values, py::arg("metric"), py::arg("with_children"))
      .def_property_readonly("parents", parents)
      .def("experiment", [](const PyAnalysis& self) {
        auto result = std::make_shared<PyExperiment>();
        auto made = tools::experiment_of_waits(self.archive, self.analysis);
        require(made);
        result->experiment = *std::move(made);
        return result;
      });
  module.def("scaling", scaling, py::arg("archives"), py::arg("loop"), py::arg("whole"),
             py::arg("weak"), py::arg("at"));
  module.def("analyze", analyze, py::arg("archive"), py::arg("patterns"),
             py::arg("modules"));
}

// Experiments: read from files of Cube of any tool, combined, written, and as arrays.

namespace {

using Pointer = std::shared_ptr<PyExperiment>;

Pointer read(const std::string& file) {
  auto read = [&] {
    const py::gil_scoped_release release;
    return cube::read_cubex(file);
  }();
  require(read);
  return std::make_shared<PyExperiment>(
      PyExperiment{std::move(read->experiment), std::move(read->notes)});
}

Pointer combine(const std::string& operation, const std::vector<Pointer>& of) {
  static const std::map<std::string, cube::Operation> kOperations = {
      {"diff", cube::Operation::kDifference}, {"mean", cube::Operation::kMean},
      {"min", cube::Operation::kLeast},       {"max", cube::Operation::kGreatest},
      {"merge", cube::Operation::kMerge},
  };
  const auto found = kOperations.find(operation);
  if (found == kOperations.end())
    throw Error("'" + operation + "' is no operation: diff, mean, min, max, merge");
  if (of.empty()) throw Error(operation + " needs at least one experiment");
  if (found->second == cube::Operation::kDifference && of.size() != 2)
    throw Error("diff needs two experiments");
  std::vector<cube::Experiment> operands;
  for (const Pointer& each : of) operands.push_back(each->experiment);
  const py::gil_scoped_release release;
  return std::make_shared<PyExperiment>(
      PyExperiment{cube::combine(found->second, operands), {}});
}

py::list metrics(const PyExperiment& self) {
  py::list out;
  for (const cube::Metric& metric : self.experiment.metrics)
    out.append(py::make_tuple(text(metric.name), text(metric.title), text(metric.unit),
                              text(metric.description), number(metric.parent),
                              metric.inclusive));
  return out;
}

py::list paths(const PyExperiment& self) {
  py::list out;
  for (const cube::CallPath& path : self.experiment.paths) {
    const cube::Region& region = self.experiment.regions[path.region];
    out.append(py::make_tuple(number(path.parent), text(region.name), text(region.file),
                              region.line));
  }
  return out;
}

py::list locations(const PyExperiment& self) {
  py::list out;
  for (const cube::Location& location : self.experiment.locations)
    out.append(py::make_tuple(text(location.name),
                              self.experiment.processes[location.process].rank,
                              location.number));
  return out;
}

py::array values_of(const PyExperiment& self, std::uint32_t metric) {
  const cube::Experiment& from = self.experiment;
  if (metric >= from.metrics.size()) throw py::index_error("there is no such metric");
  const std::size_t width = from.locations.size();
  std::vector<double> out(from.paths.size() * width);
  const cube::Experiment::Values none;
  const cube::Experiment::Values& rows =
      metric < from.values.size() ? from.values[metric] : none;
  for (std::size_t path = 0; path < rows.size(); ++path)
    for (std::size_t at = 0; at < rows[path].size(); ++at) {
      const std::uint64_t bits = rows[path][at];
      out[path * width + at] = from.metrics[metric].is_count()
                                   ? static_cast<double>(bits)
                                   : std::bit_cast<double>(bits);
    }
  return array_of(std::move(out), {static_cast<py::ssize_t>(from.paths.size()),
                                   static_cast<py::ssize_t>(width)});
}

}  // namespace

void bind_experiment(py::module_& module) {
  py::class_<PyExperiment, Pointer>(module, "Experiment")
      .def_property_readonly("metrics", metrics)
      .def_property_readonly("paths", paths)
      .def_property_readonly("locations", locations)
      .def_property_readonly("notes",
                             [](const PyExperiment& self) {
                               py::list out;
                               for (const std::string& note : self.notes)
                                 out.append(text(note));
                               return out;
                             })
      .def("values", values_of, py::arg("metric"))
      .def("totals",
           [](const PyExperiment& self) { return cube::totals_of(self.experiment); })
      .def(
          "write",
          [](const PyExperiment& self, const std::string& file) {
            const py::gil_scoped_release release;
            require(cube::write_cubex(self.experiment, file));
          },
          py::arg("file"));
  module.def("read_experiment", read, py::arg("file"));
  module.def("combine", combine, py::arg("operation"), py::arg("experiments"));
}

// The control flow graph of regions, and the event flow graph of MPI calls, as arrays.

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
