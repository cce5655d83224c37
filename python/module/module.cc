// The module refrain._refrain: what python/refrain makes classes and frames of.
#include "base/version.h"
#include "python/module/reading.h"

PYBIND11_MODULE(_refrain, module) {
  using namespace refrain::python;
  module.doc() =
      "Reads archives and what Refrain knows of them; used by the package refrain.";
  module.attr("__version__") = refrain::kVersion;
  py::register_exception<Error>(module, "Error");
  bind_archive(module);
  bind_trace(module);
  bind_patterns(module);
  bind_analysis(module);
  bind_experiment(module);
  bind_graph(module);
}
