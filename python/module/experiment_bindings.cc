// Experiments: read from files of Cube of any tool, combined, written, and as arrays.
#include "python/module/experiment_bindings.h"

#include <pybind11/stl.h>

#include <bit>
#include <map>

#include "cube/algebra.h"
#include "cube/cubex_file.h"
#include "cube/cubex_reader.h"
#include "python/module/reading.h"

namespace refrain::python {
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

}  // namespace refrain::python
