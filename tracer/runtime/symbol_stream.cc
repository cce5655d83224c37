#include "tracer/runtime/symbol_stream.h"

#include "filters/detectors.h"
#include "filters/rolling_limit.h"
#include "spool/format.h"
#include "tracer/recorder/clock.h"
#include "tracer/runtime/notices.h"

namespace refrain::runtime {

using recorder::Clock;

namespace {

// Of the shortest gap: what tracing itself takes now and then (the first touch of a page, a system
// call) is not more than that, and no reason to write an iteration as a slow one.
constexpr double kNoiseOfGap = 0.1;
constexpr double kLongIteration_s = 1;
constexpr double kSumsReportedEvery_s = 0.1;
// What an epoch takes in a thread's ring, with room to spare.
constexpr std::uint64_t kBytesOfEpoch = 32 * spool::kRecordBytes;
constexpr std::size_t kSpareSymbols = 64;

filters::GatePolicy policy_of(const filters::Settings& settings,
                              std::uint64_t start_ticks) {
  const auto at = [&](double seconds) {
    return seconds > 0 ? start_ticks + Clock::ticks_of_seconds(seconds) : 0;
  };
  // Nothing is written, so that there is nothing to leave out.
  if (settings.summary_only) return {.limit = 0, .start_ticks = start_ticks, .slow = {}};
  return {
      .limit =
          settings.budget_bytes != 0 ? filters::RollingLimit::kUnlimited : settings.limit,
      .nested = filters::nested_of(settings.nested),
      .min_gap_ticks = Clock::ticks_of_seconds(settings.min_gap_s),
      .start_ticks = start_ticks,
      .from_ticks = at(settings.from_s),
      .until_ticks = at(settings.until_s),
      .marks_summary = settings.marks == "summary",
      .long_ticks = Clock::ticks_of_seconds(kLongIteration_s),
      .slow = {.factor = settings.slow_factor,
               .share = settings.slow_share,
               .noise_ticks = Clock::ticks_of_seconds(settings.min_gap_s * kNoiseOfGap)},
      .sums_ticks = Clock::ticks_of_seconds(kSumsReportedEvery_s),
      .slow_epochs = settings.ring_bytes / kBytesOfEpoch};
}

}  // namespace

ProgramFacts& SymbolStream::facts() {
  if (facts_ == nullptr) facts_ = std::make_unique<ProgramFacts>();
  return *facts_;
}

void SymbolStream::prepare(const filters::Settings& settings) {
  std::unique_ptr<periodicity::LoopDetector> inner = filters::make_detector(settings, true);
  const bool activation = settings.detector == "activation";
  if (activation && !facts().reads_code())
    warn(
        "loops are detected as with --detector nested: reading the program's code needs "
        "Zydis (libzydis4.0)");
  if (activation && facts().reads_code()) {
    auto made = std::make_unique<periodicity::FallbackDetector>(facts(), std::move(inner));
    by_paths_ = made.get();
    facts_->paths().begin_on_this_thread();
    inner = std::move(made);
  }
  detector_ = std::make_unique<periodicity::PhaseDetector>(std::move(inner));
  history_ = SymbolHistory(detector_->reach_events() + kSpareSymbols);
}

std::string SymbolStream::loop_limits() const {
  static_assert(Paths::kMax == spool::kMostCallPaths &&
                periodicity::ActivationDetector::kMostLoops == spool::kMostLoops);
  const bool limited = activations() != nullptr;
  const std::uint64_t counts[] = {limited ? facts_->functions_cut() : 0,
                                  limited ? facts_->paths().unnumbered() : 0,
                                  limited ? activations()->paths_cut() : 0, turns_};
  std::string text;
  bool any = false;
  for (const std::uint64_t count : counts) {
    any = any || count != 0;
    text += (text.empty() ? "" : " ") + std::to_string(count);
  }
  return any ? text : std::string();
}

void SymbolStream::start(const filters::Settings& settings, std::uint64_t start_ticks,
                         filters::GateSink& sink) {
  gate_ = std::make_unique<filters::IterationGate>(policy_of(settings, start_ticks),
                                                   *detector_, sink);
}

}  // namespace refrain::runtime
