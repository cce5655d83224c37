#include "tools/detect/detection.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <span>

#include "filters/detectors.h"
#include "filters/nest.h"
#include "filters/nest_builder.h"
#include "filters/nested_policy.h"
#include "filters/written_iterations.h"
#include "tools/detect/symbol_reader.h"

namespace refrain::tools {
namespace {

using periodicity::LoopDetector;
using periodicity::LoopEvent;
using periodicity::LoopEventKind;
using periodicity::Symbol;
using Symbols = std::span<const Symbol>;

constexpr std::size_t kBlockEvents = std::size_t{1} << 20;
constexpr double kLargeMatrixBytes = 1 << 25;

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

// A detector and its policy, as in the tracer.
class Pair {
 public:
  explicit Pair(const DetectionSettings& settings)
      : detector_(filters::make_detector(settings.tracer)),
        policy_({.limit = settings.tracer.limit, .nested = settings.nested}, skipped_) {}

  LoopDetector& detector() noexcept { return *detector_; }
  filters::NestedPolicy& policy() noexcept { return policy_; }
  filters::SkippedIntervals& skipped() noexcept { return skipped_; }

  double time(Symbols symbols) noexcept {
    const double start = cpu_ns();
    for (const Symbol symbol : symbols) {
      detector_->push(symbol, 0, policy_);
      policy_.symbol_done();
    }
    return cpu_ns() - start;
  }

  // Lowers each time to what that push takes here.
  void time_each(Symbols symbols, std::vector<float>& shortest_ns) noexcept {
    using Clock = std::chrono::steady_clock;
    auto before = Clock::now();
    for (std::size_t index = 0; index != symbols.size(); ++index) {
      detector_->push(symbols[index], 0, policy_);
      policy_.symbol_done();
      const auto now = Clock::now();
      const auto ns = std::chrono::duration<float, std::nano>(now - before).count();
      shortest_ns[index] = std::min(shortest_ns[index], ns);
      before = now;
    }
  }

 private:
  filters::SkippedIntervals skipped_;
  std::unique_ptr<LoopDetector> detector_;
  filters::NestedPolicy policy_;
};

// Measures a stream that is fed block by block.
class Stopwatch {
 public:
  explicit Stopwatch(const DetectionSettings& settings) : settings_(settings) {
    const auto& tracer = settings.tracer;
    const bool large = tracer.detector == "matrix" &&
                       static_cast<double>(tracer.window_events) *
                               static_cast<double>(tracer.max_period_events) >
                           kLargeMatrixBytes;
    if (large) repeats_ = 1;
  }

  void feed(Symbols symbols) {
    shortest_ns_.assign(symbols.size(), std::numeric_limits<float>::max());
    double least = std::numeric_limits<double>::max();
    if (whole_.empty() && symbols.size() < kBlockEvents) {
      feed_all(symbols, least);
    } else {
      for (std::size_t repeat = whole_.size(); repeat != repeats_; ++repeat) {
        whole_.push_back(std::make_unique<Pair>(settings_));
        single_.push_back(std::make_unique<Pair>(settings_));
      }
      for (auto& pair : whole_) least = std::min(least, pair->time(symbols));
      for (auto& pair : single_) pair->time_each(symbols, shortest_ns_);
    }
    total_ns_ += least;
    for (const float ns : shortest_ns_) longest_ns_ = std::max(longest_ns_, ns);
  }

  double total_ns() const noexcept { return total_ns_; }
  double longest_ns() const noexcept { return longest_ns_; }

 private:
  // The whole stream is one short block: repeated more often, with new pairs.
  void feed_all(Symbols symbols, double& least) {
    double spent = 0;
    for (std::size_t repeat = 0; repeat < repeats_ || spent < kEnoughNs; ++repeat) {
      if (repeat == kMaxRepeats) return;
      const double ns = Pair(settings_).time(symbols);
      least = std::min(least, ns);
      spent += ns;
      Pair(settings_).time_each(symbols, shortest_ns_);
    }
  }

  static constexpr std::size_t kMaxRepeats = 25;
  static constexpr double kEnoughNs = 10e6;

  const DetectionSettings& settings_;
  std::size_t repeats_ = 3;
  std::vector<std::unique_ptr<Pair>> whole_;
  std::vector<std::unique_ptr<Pair>> single_;
  std::vector<float> shortest_ns_;
  double total_ns_ = 0;
  float longest_ns_ = 0;
};

using Numbers = std::map<std::uint32_t, std::uint32_t>;

// As in archives: from 1, each before the loops in it, in the order of their first begin.
Numbers number_loops(const std::map<std::uint32_t, filters::NestLoop>& loops) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> children;
  for (const auto& [id, loop] : loops)
    children[loops.contains(loop.parent) ? loop.parent : periodicity::kNoLoop].push_back(
        id);
  for (auto& [parent, inner] : children)
    std::stable_sort(inner.begin(), inner.end(), [&](std::uint32_t a, std::uint32_t b) {
      return loops.at(a).first_event < loops.at(b).first_event;
    });
  Numbers numbers;
  std::uint32_t last = 0;
  const auto number = [&](const auto& self, std::uint32_t id) -> void {
    if (!numbers.try_emplace(id, last + 1).second) return;
    ++last;
    for (const std::uint32_t inner : children[id]) self(self, inner);
  };
  for (const std::uint32_t id : children[periodicity::kNoLoop]) number(number, id);
  for (const auto& [id, loop] : loops) number(number, id);
  return numbers;
}

filters::Nest numbered(filters::Nest nest, const Numbers& numbers) {
  const auto number_of = [&](std::uint64_t loop) -> std::uint64_t {
    const auto found = numbers.find(static_cast<std::uint32_t>(loop));
    return found == numbers.end() ? loop : found->second;
  };
  const auto number_row = [&](filters::NestRow row) {
    for (filters::NestPiece& piece : row)
      if (piece.kind == filters::NestPiece::Kind::kLoop) piece.id = number_of(piece.id);
    return row;
  };
  filters::Nest out{.run = number_row(std::move(nest.run))};
  for (auto& [id, row] : nest.bodies)
    out.bodies[number_of(id)] = number_row(std::move(row));
  return out;
}

// Gives the answer: the pair, and the other listeners to its detector.
class Observer final : private periodicity::LoopSink {
 public:
  explicit Observer(const DetectionSettings& settings)
      : pair_(settings),
        nest_(pair_.detector().reach_events()),
        written_(pair_.skipped()) {}

  void feed(Symbols symbols) {
    for (const Symbol symbol : symbols) {
      nest_.append(symbol);
      pair_.detector().push(symbol, 0, *this);
      pair_.policy().symbol_done();
      distinct_.add(symbol);
    }
  }

  void finish() {
    ended_ = true;
    pair_.detector().finish(*this);
    const std::uint64_t events = pair_.detector().position();
    written_.finish(events);
    pair_.skipped().finish(events);
    nest_.finish();
  }

  void report(Detection& result, bool is_signed) {
    result.events = pair_.detector().position();
    result.distinct = distinct_.size();
    result.skipped = pair_.skipped().skipped_events();
    result.gaps = pair_.skipped().intervals().size();
    const std::map<std::uint32_t, std::uint32_t> numbers = number_loops(nest_.loops());
    for (const auto& [id, loop] : nest_.loops()) {
      const auto parent = numbers.find(loop.parent);
      result.loops.push_back(
          {.id = numbers.at(id),
           .parent = parent != numbers.end() ? std::int64_t{parent->second} : -1,
           .level = loop.level,
           .body_events = loop.body_events,
           .visits = loop.visits,
           .iterations = loop.iterations,
           .written = written_.written(id),
           .first_event = loop.first_event});
    }
    std::sort(result.loops.begin(), result.loops.end(),
              [](const DetectedLoop& a, const DetectedLoop& b) { return a.id < b.id; });
    result.structure = filters::nest_text(
        numbered(nest_.nest(), numbers), [is_signed](std::uint64_t symbol) {
          return is_signed ? std::to_string(static_cast<std::int64_t>(symbol))
                           : std::to_string(symbol);
        });
  }

 private:
  void on_loop_event(const LoopEvent& event) noexcept override {
    // A loop that is open at the end has not broken.
    const bool only_ended = ended_ && event.kind == LoopEventKind::kLeft &&
                            event.position >= pair_.detector().position();
    if (!only_ended) pair_.policy().on_loop_event(event);
    nest_.on_loop_event(event);
    written_.on_loop_event(event);
  }

  Pair pair_;
  filters::NestBuilder nest_;
  filters::WrittenIterations written_;
  DistinctSymbols distinct_;
  bool ended_ = false;
};

}  // namespace

base::Result<Detection> detect(const std::string& path, const DetectionSettings& settings) {
  SymbolReader reader(path);
  Observer observer(settings);
  Stopwatch stopwatch(settings);
  std::vector<Symbol> block;
  while (block.clear(), reader.read(kBlockEvents, block)) {
    observer.feed(block);
    stopwatch.feed(block);
  }
  if (!reader.error().empty()) return base::Failure{reader.error()};
  Detection result;
  observer.finish();
  observer.report(result, reader.has_negative());
  result.ns_per_event = stopwatch.total_ns() / static_cast<double>(result.events);
  result.max_push_ns = stopwatch.longest_ns();
  return result;
}

}  // namespace refrain::tools
