// The search for wait states, with patterns of Python and of shared objects.
#include <pybind11/stl.h>

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/scaling.h"
#include "python/module/experiment_bindings.h"
#include "python/module/python_pattern.h"
#include "python/module/reading.h"
#include "tools/output/analyze_output.h"
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
    auto analysis = waits::analyze_archive(archive, {}, {}, more);
    if (!analysis) return analysis.failure();
    result->analysis = *std::move(analysis);
    if (result->analysis.problems.gaps != 0)
      if (auto estimated = tools::estimate_whole_run(archive, result->analysis); !estimated)
        return estimated;
    auto conclusions = tools::conclude_run(archive);
    if (!conclusions) return conclusions.failure();
    result->conclusions = *std::move(conclusions);
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

}  // namespace refrain::python
