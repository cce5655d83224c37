// Makes the loop detector that the settings ask for.
//
// Place in the flow: used by the tracer and `refrain detect`, so that both detect the same.
// Allocates; the detectors do not allocate later.
#pragma once

#include <memory>

#include "filters/settings.h"
#include "periodicity/loop_detector.h"

namespace refrain::filters {

// By settings.detector: "nested", "matrix" or "exact", the flat ones with the window and
// the longest period of the settings.
// `messages`: its symbols may have the bit periodicity::kMessageSymbol.
std::unique_ptr<periodicity::LoopDetector> make_detector(const Settings& settings,
                                                         bool messages = false);

}  // namespace refrain::filters
