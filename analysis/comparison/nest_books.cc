#include "analysis/comparison/nest_books.h"

#include <algorithm>

namespace refrain::analysis {

void Sums::add(const Sums& other, double counts, double times) {
  for (std::size_t i = 0; i < regions.size(); ++i) {
    regions[i].calls += counts * other.regions[i].calls;
    regions[i].inclusive_ns += times * other.regions[i].inclusive_ns;
    regions[i].exclusive_ns += times * other.regions[i].exclusive_ns;
  }
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].useful_ns += times * other.threads[i].useful_ns;
    threads[i].outside_mpi_ns += times * other.threads[i].outside_mpi_ns;
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
  for (std::size_t i = 0; i < regions.size(); ++i)
    raise(regions[i].calls, like.regions[i].calls);
  raise(sends, like.sends);
  raise(bytes_sent, like.bytes_sent);
  raise(receives, like.receives);
  raise(bytes_received, like.bytes_received);
  raise(collectives, like.collectives);
}

Place& Place::inside(std::uint32_t loop, SampleKind kind, std::uint32_t variant) {
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
  if (place.kind_ == SampleKind::kPartial) {
    const Sample like = sample(place.loop_);
    if (like.iterations == 0) {
      unexplained_ns_ += left;
    } else {
      sums.add(like.times, 0, left / like.ns);
      sums.raise_counts(like.counts, place.iterations_ / like.iterations);
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
void NestBooks::estimate(Place& place, const Place::Variant& variant,
                         const Place::Skipped& skipped, Sums& sums) {
  const auto [loop, number] = variant;
  Sample sample = no_sample();
  fill(place, {loop, number, false}, sample);
  if (sample.iterations == 0) fill(root_, {loop, number, true}, sample);
  if (sample.iterations == 0) fill(place, {loop, Wanted::kAny, false}, sample);
  if (sample.iterations == 0) sample = this->sample(loop);
  if (sample.iterations == 0) {
    unexplained_ns_ += skipped.ns;
    return;
  }
  sums.add(sample.counts, skipped.count / sample.iterations, 0);
  sums.add(sample.times, 0, skipped.ns / sample.ns);
}

NestBooks::Sample NestBooks::sample(std::uint32_t loop) {
  Sample result = no_sample();
  fill(root_, {loop, Wanted::kAny, true}, result);
  return result;
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

}  // namespace refrain::analysis
