#include "filters/detectors.h"

#include "periodicity/flat/exact_detector.h"
#include "periodicity/flat/flat_loop_detector.h"
#include "periodicity/flat/matrix_detector.h"
#include "periodicity/nested/nested_detector.h"

namespace refrain::filters {

std::unique_ptr<periodicity::LoopDetector> make_detector(const Settings& settings,
                                                         bool messages) {
  if (settings.detector == "nested" || settings.detector == "activation")  // (no stacks)
    return std::make_unique<periodicity::NestedDetector>(
        periodicity::NestedSettings{.messages = messages});
  const periodicity::PeriodSettings periods{
      .max_period = static_cast<std::uint32_t>(settings.max_period_events),
      .window = static_cast<std::uint32_t>(settings.window_events)};
  std::unique_ptr<periodicity::PeriodDetector> detector;
  if (settings.detector == "matrix")
    detector = std::make_unique<periodicity::MatrixDetector>(periods);
  else
    detector = std::make_unique<periodicity::ExactDetector>(periods);
  return std::make_unique<periodicity::FlatLoopDetector>(std::move(detector));
}

}  // namespace refrain::filters
