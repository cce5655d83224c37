// Makes the loop detector that the settings ask for.
#pragma once

#include <memory>

#include "filters/settings.h"
#include "periodicity/loop_detector.h"

namespace refrain::runtime {

std::unique_ptr<periodicity::LoopDetector> make_detector(const filters::Settings& settings);

}  // namespace refrain::runtime
