#include "writer/profile/nest_books.h"

#include <algorithm>

namespace refrain::profile {

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

Place& Place::inside(std::uint32_t loop, SampleKind kind) {
  last_loop_ = loop;
  auto& place = inside_[{loop, kind}];
  if (!place)
    place = std::make_unique<Place>(own_.regions.size(), own_.threads.size(), loop, kind);
  return *place;
}

Sums NestBooks::total() { return whole(root_); }

const Sums& NestBooks::whole(Place& place) {
  auto& [state, sums] =
      whole_.try_emplace(&place, State::kOpen, Sums(regions_, threads_)).first->second;
  if (state != State::kOpen) return sums;
  state = State::kBusy;
  Sums result = place.own_;
  for (const auto& [key, inner] : place.inside_) result.add(whole(*inner), 1, 1);
  settle_gap(place, result);
  for (const auto& [loop, held] : place.held_) estimate(place, loop, held, result);
  sums = std::move(result);
  state = State::kDone;
  return sums;
}

// What was not written in a place are its held iterations, and a little around them.
// Without marks all that is known is how long it was: a part of such an iteration, or
// iterations of the loop that came last.
void NestBooks::settle_gap(Place& place, Sums& sums) {
  gap_ns_ += place.gap_ns_;
  double left = place.gap_ns_;
  for (const auto& [loop, held] : place.held_) left -= held.ns;
  if (left <= 0) return;
  if (place.kind_ == SampleKind::kPartial) {
    const Sample like = sample(place.loop_);
    if (like.iterations == 0) {
      unexplained_ns_ += left;
    } else {
      sums.add(like.sums, 0, left / like.ns);
      sums.raise_counts(like.sums, place.iterations_ / like.iterations);
    }
    return;
  }
  if (!place.held_.empty()) {
    const auto most = std::max_element(
        place.held_.begin(), place.held_.end(),
        [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
    most->second.ns += left;
    return;
  }
  for (const SampleKind kind : {SampleKind::kTypical, SampleKind::kOther}) {
    const auto inner = place.inside_.find({place.last_loop_, kind});
    if (inner == place.inside_.end() || inner->second->iterations_ == 0) continue;
    const double count = left * inner->second->iterations_ / inner->second->ns_;
    place.hold(place.last_loop_, count, left);
    sums.regions[place.last_loop_].calls += count;
    sums.regions[place.last_loop_].inclusive_ns += left;
    return;
  }
  unexplained_ns_ += left;
}

// From the best sample there is: typical iterations in this place, others in this place,
// then those of any place.
void NestBooks::estimate(Place& place, std::uint32_t loop, const Place::Held& held,
                         Sums& sums) {
  Sample here{Sums(regions_, threads_)};
  bool found = false;
  for (const SampleKind kind : {SampleKind::kTypical, SampleKind::kOther}) {
    const auto inner = place.inside_.find({loop, kind});
    if (!found && inner != place.inside_.end()) found = add_sample(*inner->second, here);
  }
  if (!found) here = sample(loop);
  if (here.iterations == 0) {
    unexplained_ns_ += held.ns;
    return;
  }
  add_estimate(here, held, sums);
}

void NestBooks::add_estimate(const Sample& sample, const Place::Held& held, Sums& sums) {
  sums.add(sample.sums, held.count / sample.iterations, held.ns / sample.ns);
}

NestBooks::Sample NestBooks::sample(std::uint32_t loop) {
  Sample result{Sums(regions_, threads_)};
  if (!sample_anywhere(root_, loop, SampleKind::kTypical, result))
    sample_anywhere(root_, loop, SampleKind::kOther, result);
  return result;
}

bool NestBooks::add_sample(Place& place, Sample& sample) {
  if (place.iterations_ == 0 || place.ns_ <= 0) return false;
  const Sums& sums = whole(place);
  if (whole_.at(&place).first != State::kDone) return false;  // it asks for itself
  sample.sums.add(sums, 1, 1);
  sample.iterations += place.iterations_;
  sample.ns += place.ns_;
  return true;
}

bool NestBooks::sample_anywhere(Place& place, std::uint32_t loop, SampleKind kind,
                                Sample& sample) {
  bool found = false;
  for (const auto& [key, inner] : place.inside_) {
    if (key == Place::Key{loop, kind}) found |= add_sample(*inner, sample);
    found |= sample_anywhere(*inner, loop, kind, sample);
  }
  return found;
}

}  // namespace refrain::profile
