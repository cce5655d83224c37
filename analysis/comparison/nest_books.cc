#include "analysis/comparison/nest_books.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace refrain::analysis {

void Sums::add(const Sums& other, double counts, double times) {
  for (const auto& [number, from] : other.regions) {
    Region& region = regions[number];
    region.calls += counts * from.calls;
    region.inclusive_ns += times * from.inclusive_ns;
    region.exclusive_ns += times * from.exclusive_ns;
  }
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].times.add(other.threads[i].times, times);
    threads[i].outside_ns += times * other.threads[i].outside_ns;
  }
  for (std::size_t i = 0; i < region_counters.size(); ++i) {
    region_counters[i].sum += counts * other.region_counters[i].sum;
    region_counters[i].calls += counts * other.region_counters[i].calls;
  }
  for (std::size_t i = 0; i < thread_counters.size(); ++i)
    thread_counters[i] += counts * other.thread_counters[i];
  sends += counts * other.sends;
  bytes_sent += counts * other.bytes_sent;
  receives += counts * other.receives;
  bytes_received += counts * other.bytes_received;
  collectives += counts * other.collectives;
}

void Sums::raise_counts(const Sums& like, double times) {
  const auto raise = [times](double& count, double other) {
    count = std::max(count, times * other);
  };
  for (const auto& [number, from] : like.regions) raise(regions[number].calls, from.calls);
  raise(sends, like.sends);
  raise(bytes_sent, like.bytes_sent);
  raise(receives, like.receives);
  raise(bytes_received, like.bytes_received);
  raise(collectives, like.collectives);
}

Place& Place::inside(RegionId loop, SampleKind kind, std::uint32_t variant) {
  last_loop_ = loop;
  auto& place = inside_[{loop, kind, variant}];
  if (!place) place = std::make_unique<Place>(shape_, loop, kind);
  return *place;
}

const Sums& NestBooks::total() { return whole(root_); }

const Sums& NestBooks::whole(Place& place) {
  auto& [state, sums] =
      whole_.try_emplace(&place, State::kOpen, Sums(shape_)).first->second;
  if (state != State::kOpen) return sums;
  state = State::kBusy;
  Sums result = place.own_;
  for (const auto& [key, inner] : place.inside_) result.add(whole(*inner), 1, 1);
  settle_gap(place, result);
  for (const auto& [variant, skipped] : place.skipped_)
    estimate(place, variant, skipped, result);
  sums = std::move(result);
  state = State::kDone;
  return sums;
}

// What was not written in a place is its skipped iterations, and a little around them.
// Without marks only its duration is known: a part of such an iteration, or iterations of
// the latest loop.
void NestBooks::settle_gap(Place& place, Sums& sums) {
  gap_ns_ += place.gap_ns_;
  double left = place.gap_ns_;
  for (const auto& [variant, skipped] : place.skipped_) left -= skipped.ns;
  if (left <= 0) return;
  if (place.kind_ == SampleKind::kPartial || place.kind_ == SampleKind::kBroken) {
    constexpr double kMuch = 0.01;
    const Sample like = sample(place.loop_);
    const double iterations =
        like.iterations == 0 ? 0 : place.iterations_ / like.iterations;
    // It has more than a whole one, so that says nothing of the rest.
    const bool more = sums.sends > (1 + kMuch) * iterations * like.counts.sends ||
                      sums.bytes_sent > (1 + kMuch) * iterations * like.counts.bytes_sent;
    place.unlike_ = left > kMuch * place.ns_ && (like.iterations == 0 || more);
    if (like.iterations == 0) {
      unexplained_ns_ += left;
    } else {
      sums.add(like.times, 0, left / like.ns);
      sums.raise_counts(like.counts, iterations);
    }
    return;
  }
  if (!place.skipped_.empty()) {
    const auto most = std::max_element(
        place.skipped_.begin(), place.skipped_.end(),
        [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
    // At most the distance of a cut from an iteration's begin: what the program did after
    // its last loop belongs to no iteration.
    const double mean = most->second.ns / std::max(1.0, most->second.count);
    most->second.ns += std::min(left, mean);
    unexplained_ns_ += left - std::min(left, mean);
    return;
  }
  for (const SampleKind kind :
       {SampleKind::kTypical, SampleKind::kOther, SampleKind::kFirst}) {
    double iterations = 0;
    double ns = 0;
    for (const auto& [key, inner] : place.inside_) {
      if (std::get<0>(key) != place.last_loop_ || std::get<1>(key) != kind) continue;
      iterations += inner->iterations_;
      ns += inner->ns_;
    }
    if (iterations == 0) continue;
    const double count = left * iterations / ns;
    place.suspend(place.last_loop_, 0, count, left);
    sums.regions[place.last_loop_].calls += count;
    sums.regions[place.last_loop_].inclusive_ns += left;
    return;
  }
  unexplained_ns_ += left;
}

// Of the same class and place, if there is one; else of the same class, else of any.
NestBooks::Sample NestBooks::like_skipped(Place& place, const Place::Variant& variant) {
  const auto [loop, number] = variant;
  Sample sample = no_sample();
  fill(place, {loop, number, false}, sample);
  if (sample.iterations == 0) fill(root_, {loop, number, true}, sample);
  if (sample.iterations == 0) fill(place, {loop, Wanted::kAny, false}, sample);
  if (sample.iterations == 0) sample = this->sample(loop);
  return sample;
}

void NestBooks::estimate(Place& place, const Place::Variant& variant,
                         const Place::Skipped& skipped, Sums& sums) {
  const Sample sample = like_skipped(place, variant);
  if (sample.iterations == 0) {
    unexplained_ns_ += skipped.ns;
    return;
  }
  sums.add(sample.counts, skipped.count / sample.iterations, 0);
  sums.add(sample.times, 0, skipped.ns / sample.ns);
}

NestBooks::Sample NestBooks::sample(RegionId loop) {
  Sample result = no_sample();
  fill(root_, {loop, Wanted::kAny, true}, result);
  return result;
}

NestBooks::Messages NestBooks::messages(RegionId loop) {
  Messages result;
  add_messages(root_, loop, false, result);
  return result;
}

// `inside`: of an iteration of the loop.
void NestBooks::add_messages(Place& place, RegionId loop, bool inside, Messages& messages) {
  if (inside) {
    messages.gap_ns += place.gap_ns_;
    messages.known &= !place.unlike_;
  }
  for (const auto& [key, inner] : place.inside_) {
    const bool is_it = inner->loop_ == loop;
    if (is_it && inner->kind_ != SampleKind::kBroken) {
      messages.outermost &= &place == &root_;
      messages.iterations += inner->iterations_;
      messages.sends += whole(*inner).sends;
      messages.bytes_sent += whole(*inner).bytes_sent;
    }
    add_messages(*inner, loop, inside || is_it, messages);
  }
  for (const auto& [variant, skipped] : place.skipped_) {
    if (variant.first != loop) continue;
    messages.outermost &= &place == &root_;
    messages.iterations += skipped.count;
    if (!inside) messages.gap_ns += skipped.ns;
    const Sample sample = like_skipped(place, variant);
    if (sample.iterations == 0) {
      messages.known = false;
      continue;
    }
    messages.sends += skipped.count / sample.iterations * sample.counts.sends;
    messages.bytes_sent += skipped.count / sample.iterations * sample.counts.bytes_sent;
  }
}

// Counts from all but the first of a visit, so that what other threads do a little before
// or after the marks averages out; times from typical ones.
void NestBooks::fill(Place& place, const Wanted& wanted, Sample& sample) {
  for (const SampleKind kind : {SampleKind::kTypical, SampleKind::kOther})
    each_sample(place, wanted, kind, &NestBooks::add_counts, sample);
  if (sample.iterations == 0)
    each_sample(place, wanted, SampleKind::kFirst, &NestBooks::add_counts, sample);
  for (const SampleKind kind :
       {SampleKind::kTypical, SampleKind::kOther, SampleKind::kFirst})
    if (sample.ns == 0) each_sample(place, wanted, kind, &NestBooks::add_times, sample);
}

void NestBooks::each_sample(Place& place, const Wanted& wanted, SampleKind kind, Add add,
                            Sample& sample) {
  for (const auto& [key, inner] : place.inside_) {
    const auto& [loop, its_kind, variant] = key;
    const bool fits = loop == wanted.loop && its_kind == kind &&
                      (wanted.variant == Wanted::kAny || wanted.variant == variant);
    if (fits && may_tell(*inner)) (this->*add)(*inner, sample);
    if (wanted.anywhere) each_sample(*inner, wanted, kind, add, sample);
  }
}

// Not one that is being computed already.
bool NestBooks::may_tell(Place& place) {
  if (place.iterations_ == 0 || place.ns_ <= 0) return false;
  whole(place);
  return whole_.at(&place).first == State::kDone;
}

void NestBooks::add_counts(Place& place, Sample& sample) {
  sample.counts.add(whole(place), 1, 0);
  sample.iterations += place.iterations_;
}

void NestBooks::add_times(Place& place, Sample& sample) {
  sample.times.add(whole(place), 0, 1);
  sample.ns += place.ns_;
}

using reader::EventKind;
using reader::TraceDefinitions;
using reader::TraceEvent;

base::Result<> SampleSink::begin(const TraceDefinitions& definitions) {
  definitions_ = &definitions;
  attributes_.emplace(definitions);
  processes_.resize(definitions.processes.size());
  on_.assign(definitions.locations.size(), true);
  return {};
}

void SampleSink::event(const TraceEvent& event) {
  Process& process = processes_[definitions_->locations[event.location].process];
  if (event.kind == EventKind::kMeasurementOnOff) {
    if (event.location == process.location) count_gap(process, event.ns);
    on_[event.location] = event.op == OTF2_MEASUREMENT_ON;
    return;
  }
  if (!attributes_->is_mark(event)) return;
  process.location = event.location;
  count_gap(process, event.ns);
  if (event.kind == EventKind::kLeave) {
    if (event.uncertain && !process.open.empty()) {
      Open& cut = process.open.back();
      cut.complete = false;
      if (cut.written != kSkipped) process.written[cut.written].complete = false;
    }
    return end_iteration(process, event.ns);
  }
  const bool written = attributes_->written(event);
  const VisitCounter::Visit& visit =
      process.visits.begin(process.open.size(), event.ref, !written);
  process.open.push_back({event.ref, written ? process.written.size() : kSkipped, event.ns,
                          attributes_->complete(event)});
  if (!written) return;
  const auto depth =
      std::count_if(process.open.begin(), process.open.end() - 1,
                    [](const Open& open) { return open.written != kSkipped; });
  process.written.push_back({event.ref, attributes_->complete(event), visit.iterations - 1,
                             !visit.skipped, static_cast<std::size_t>(depth)});
}

// A gap belongs to the innermost written iteration around it.
void SampleSink::count_gap(Process& process, std::uint64_t ns) const {
  const std::uint64_t passed = ns - process.ns;
  process.ns = ns;
  if (on_[process.location]) return;
  const auto around =
      std::find_if(process.open.rbegin(), process.open.rend(),
                   [](const Open& open) { return open.written != kSkipped; });
  if (around != process.open.rend()) around->gap_ns += passed;
}

void SampleSink::end_iteration(Process& process, std::uint64_t ns) {
  if (process.open.empty()) return;
  const Open open = process.open.back();
  process.open.pop_back();
  const std::uint64_t duration = ns - open.begin_ns;
  std::uint64_t& least_ns = process.loops[open.region].least_ns;
  if (open.complete) least_ns = std::min(least_ns, duration);
  if (open.complete && !process.open.empty()) ++process.open.back().inner;
  if (open.written != kSkipped) {
    Written& iteration = process.written[open.written];
    iteration.ns = duration;
    iteration.inner = open.inner;
    iteration.unreported_ns = open.gap_ns - std::min(open.gap_ns, open.skipped_ns);
    return;
  }
  Range& skipped = process.loops[open.region].skipped;
  skipped.least = std::min(skipped.least, duration);
  skipped.greatest = std::max(skipped.greatest, duration);
  if (!process.open.empty() && process.open.back().written != kSkipped)
    process.open.back().skipped_ns += duration;
}

SampleKind SampleSink::kind_of(const Process& process, const Written& iteration) {
  // Smaller parts can be neglected. For a slow iteration its own duration does not matter:
  // most of it may be one inner iteration, written alone.
  constexpr std::uint64_t kUnreportedPart = 100;
  constexpr std::uint64_t kUnreportedPartOfLeast = 10;
  const auto found = process.loops.find(iteration.region);
  const Durations durations = found == process.loops.end() ? Durations() : found->second;
  const std::uint64_t reported_well =
      std::min(iteration.ns / kUnreportedPart, durations.least_ns / kUnreportedPartOfLeast);
  if (!iteration.complete) return SampleKind::kBroken;
  if (iteration.unreported_ns > reported_well) return SampleKind::kPartial;
  if (iteration.position == 0) return SampleKind::kFirst;
  const Range& skipped = durations.skipped;
  const bool known = skipped.least <= skipped.greatest;
  const bool like_skipped =
      !known || (iteration.ns >= skipped.least && iteration.ns <= skipped.greatest);
  return like_skipped ? SampleKind::kTypical : SampleKind::kOther;
}

base::Result<> SampleSink::finish(std::uint64_t) {
  for (const Process& process : processes_) {
    ProcessMarks& marks = marks_.emplace_back();
    marks.location = process.location;
    for (const Written& iteration : process.written) {
      marks.written.push_back(
          {kind_of(process, iteration), RegionId(iteration.region), iteration.depth});
      const auto found = process.loops.find(iteration.region);
      const Range skipped = found == process.loops.end() ? Range() : found->second.skipped;
      if (skipped.least <= skipped.greatest &&
          marks.written.back().kind < SampleKind::kPartial)
        marks.classes[iteration.region].add(
            {iteration.inner, iteration.position, iteration.ns, iteration.leading});
    }
    for (auto& [loop, classes] : marks.classes) classes.settle();
    for (std::size_t i = 0; i < process.written.size(); ++i) {
      const Written& iteration = process.written[i];
      const auto classes = marks.classes.find(iteration.region);
      if (classes != marks.classes.end())
        marks.written[i].variant = classes->second.of_inner(iteration.inner);
    }
  }
  return {};
}

namespace {

double median(std::vector<std::uint64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

// A rule that sorts samples into classes is useful if it is wrong about at most a quarter of
// those that are not in the largest class.
bool is_of_use(std::size_t wrong, std::size_t all, std::size_t most) {
  return 4 * wrong <= all - most;
}

}  // namespace

void IterationClasses::settle() {
  for (const Sample& sample : samples_) inner_.push_back(sample.inner);
  std::sort(inner_.begin(), inner_.end());
  inner_.erase(std::unique(inner_.begin(), inner_.end()), inner_.end());
  const bool useful = inner_.size() >= 2 && inner_.size() <= kMax;
  if (!useful || (!by_position() && !by_duration())) inner_.clear();
  samples_.clear();
}

// Only visits that can be compared with others count.
bool IterationClasses::by_position() {
  std::map<std::uint64_t, std::array<std::size_t, kMax>> counts;
  for (const Sample& sample : samples_) ++counts[sample.position][of_inner(sample.inner)];
  std::size_t all = 0;
  std::size_t compared = 0;
  std::size_t wrong = 0;
  std::array<std::size_t, kMax> sums{};
  for (const auto& [position, of_class] : counts) {
    const auto most = std::max_element(of_class.begin(), of_class.end());
    std::size_t here = 0;
    for (const std::size_t count : of_class) here += count;
    at_[position] = static_cast<std::uint32_t>(most - of_class.begin());
    all += here;
    if (here < 2) continue;
    compared += here;
    wrong += here - *most;
    for (std::size_t i = 0; i < kMax; ++i) sums[i] += of_class[i];
  }
  const std::size_t most = *std::max_element(sums.begin(), sums.end());
  if (2 * compared > all && is_of_use(wrong, compared, most)) return true;
  at_.clear();
  return false;
}

bool IterationClasses::by_duration() {
  std::map<std::uint64_t, std::vector<std::uint64_t>> durations;
  for (const Sample& sample : samples_)
    if (sample.leading) durations[sample.inner].push_back(sample.ns);
  inner_.clear();
  double before = 0;
  for (auto& [inner, of_class] : durations) {
    const double typical = median(of_class);
    if (!inner_.empty()) end_ns_.push_back(std::sqrt(before * typical));
    inner_.push_back(inner);
    before = typical;
  }
  std::size_t all = 0;
  std::size_t wrong = 0;
  std::size_t most = 0;
  for (const auto& [inner, of_class] : durations) {
    most = std::max(most, of_class.size());
    for (const std::uint64_t ns : of_class) {
      ++all;
      wrong += of_duration(ns) != of_inner(inner) ? 1 : 0;
    }
  }
  if (std::is_sorted(end_ns_.begin(), end_ns_.end()) && is_of_use(wrong, all, most))
    return true;
  end_ns_.clear();
  return false;
}

std::uint32_t IterationClasses::of_inner(std::uint64_t inner) const noexcept {
  if (inner_.empty()) return 0;
  const auto found = std::lower_bound(inner_.begin(), inner_.end(), inner);
  if (found == inner_.end() || *found != inner) return kNoClass;
  return static_cast<std::uint32_t>(found - inner_.begin());
}

std::uint32_t IterationClasses::of_skipped(std::uint64_t position,
                                           std::uint64_t ns) const noexcept {
  if (at_.empty()) return of_duration(ns);
  const auto next = at_.upper_bound(position);
  return next == at_.begin() ? next->second : std::prev(next)->second;
}

std::uint32_t IterationClasses::of_duration(std::uint64_t ns) const noexcept {
  return static_cast<std::uint32_t>(
      std::upper_bound(end_ns_.begin(), end_ns_.end(), static_cast<double>(ns)) -
      end_ns_.begin());
}

}  // namespace refrain::analysis
