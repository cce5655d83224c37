#include "tracer/runtime/detectors.h"

#include "periodicity/exact_detector.h"
#include "periodicity/flat_loop_detector.h"
#include "periodicity/matrix_detector.h"

namespace refrain::runtime {

std::unique_ptr<periodicity::LoopDetector> make_detector(const filters::Settings& settings) {
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

}  // namespace refrain::runtime
