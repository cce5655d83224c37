// The part of BodyStore that finds loops of few rounds inside a body.
//
// The body is known to repeat, so a row of events that comes twice in succession in it does so
// each time: evidence enough even for a short row. Only rows of events are looked at, not of
// inner loops.
#include <algorithm>
#include <cassert>

#include "periodicity/nested/body_store.h"

namespace refrain::periodicity {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
// What looking for parts may cost: a comparison counts as one.
constexpr std::uint32_t kEffort = 2048;
constexpr std::uint32_t kEffortOfPart = 8;
// Adding a longer one takes as long as one event may take.
constexpr std::uint32_t kMostItems = 512;
constexpr int kMostLags = 6;  // tried at one place

}  // namespace

void BodyStore::find_parts(std::uint32_t number) noexcept {
  Body& body = bodies_[number];
  whole_ = items(number);
  if (body.size > kMostItems || whole_->straight_end != body.size) return;
  effort_ = kEffort;
  last_same_.fill(kNone);
  for (std::uint32_t index = body.size; index-- != 0;) {
    std::uint32_t& last = last_same_[mix(whole_[index].id) >> 54];
    next_same_[index] = last;
    last = index;
  }
  body.first_mark = mark_count_;
  most_marks_ =
      std::min(mark_count_ + kMostMarks, static_cast<std::uint32_t>(marks_.size()));
  parts_between(0, body.size, 0);
  const std::uint32_t count = mark_count_ - body.first_mark;
  body.marks = count;
}

void BodyStore::parts_between(std::uint32_t from, std::uint32_t to,
                              std::uint8_t level) noexcept {
  while (from < to) {
    const Repeat repeat = repeat_at(from, to);
    if (repeat.lag != 0) add_part(from, repeat, level);
    from = std::max(from + 1, repeat.end);
  }
}

// The repetition that begins here and goes furthest.
BodyStore::Repeat BodyStore::repeat_at(std::uint32_t from, std::uint32_t to) noexcept {
  Repeat best;
  std::uint32_t other = next_same_[from];
  for (int lags = kMostLags; lags != 0 && other < to; --lags, other = next_same_[other]) {
    const std::uint32_t lag = other - from;
    assert(lag != 0);
    if (other + lag > to || effort_ == 0) break;
    --effort_;
    std::uint32_t end = other;
    while (end < to && whole_[end].child == kNoBody &&
           whole_[end].id == whole_[end - lag].id && effort_ != 0) {
      ++end;
      --effort_;
    }
    end -= (end - from) % lag;
    if (end >= other + lag && end > best.end) best = {lag, end};
  }
  return best;
}

void BodyStore::add_part(std::uint32_t from, Repeat repeat, std::uint8_t level) noexcept {
  const std::uint32_t before = mark_count_;
  effort_ -= std::min(effort_, kEffortOfPart + 4 * repeat.lag);
  const auto [part, start] = part_of(from, repeat.lag);
  if (part == kNoBody) return;
  const std::uint32_t lag = repeat.lag;
  auto begin = static_cast<std::uint32_t>(start);
  std::uint32_t iteration = 0;
  bool room = mark_part({begin, part, 0, LoopEventKind::kFound, level});
  for (; begin + lag <= repeat.end; begin += lag) {
    room &= mark_part({begin, part, iteration++, LoopEventKind::kIteration, level});
    if (level + 1u < kPartLevels && lag > 1) {
      parts_between(begin, begin + lag, static_cast<std::uint8_t>(level + 1));
    }
  }
  room &= mark_part({begin, part, iteration, LoopEventKind::kLeft, level});
  if (!room) mark_count_ = before;
}

// The body that these events are, and where its iterations begin here.
BodyStore::Found BodyStore::part_of(std::uint32_t from, std::uint32_t size) noexcept {
  for (std::uint32_t offset = 0; offset < size; ++offset) {
    scratch_[offset] = whole_[from + offset].id;
  }
  const Form form = form_of_scratch(size);
  const std::uint32_t known = find(form.hash, size);
  if (known != kNoBody) {
    return {known, from + (form.least + size - bodies_[known].least) % size};
  }
  std::uint32_t start = 0;
  for (std::uint32_t offset = 0; offset < size; ++offset) {
    if (whole_[from + offset].depth < whole_[from + start].depth) start = offset;
  }
  const std::uint32_t number =
      add_body(size, {form.hash, (form.least + size - start) % size});
  if (number == kNoBody) return {kNoBody, 0};
  Body& body = bodies_[number];
  body.part = true;
  body.depth = whole_[from + start].depth;
  body.events = size;
  for (std::uint32_t index = 0; index != size; ++index) {
    Item& item = items_[body.first_item + index];
    item = whole_[from + (start + index) % size];
    item.straight_end = size;
  }
  return {number, from + start};
}

bool BodyStore::mark_part(PartMark mark) noexcept {
  if (mark_count_ == most_marks_) return false;
  marks_[mark_count_++] = mark;
  return true;
}

}  // namespace refrain::periodicity
