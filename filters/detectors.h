// Makes the loop detector that the settings ask for.
//
// Place in the flow: one place for the tracer and `refrain detect`, so that both decide
// alike. Allocates; what it makes does not allocate later.
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
