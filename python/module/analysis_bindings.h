// An experiment of Cube as an object of Python.
//
// Place in the flow: private to python/. Thread-safety: as the experiment's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cube/experiment.h"

namespace refrain::python {

struct PyExperiment {
  cube::Experiment experiment;
  std::vector<std::string> notes;
};

}  // namespace refrain::python
