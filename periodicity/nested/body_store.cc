#include "periodicity/nested/body_store.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "periodicity/body_table.h"

namespace refrain::periodicity {
namespace {

constexpr std::uint64_t key_hash(std::uint64_t hash, std::uint32_t size) noexcept {
  return hash ^ (std::uint64_t{size} << 56);
}

}  // namespace

BodyStore::BodyStore(Settings settings)
    : bodies_(std::max(settings.bodies, 16u)),
      items_(std::max(settings.items, 1024u)),
      scratch_(items_.size()),
      enough_bits_(settings.enough_bits * Surprise::kOneBit),
      by_hash_(std::bit_ceil(bodies_.size() * 2)),
      by_key_(by_hash_.size()),
      shift_(64 - std::countr_zero(by_hash_.size())),
      marks_(2 * items_.size()),
      next_same_(items_.size()) {}

void BodyStore::clear() noexcept {
  body_count_ = 0;
  item_count_ = 0;
  mark_count_ = 0;
  key_sizes_in_use_ = 0;
  ++epoch_;
}

BodyStore::Form BodyStore::form_of(const TokenHistory& tokens, std::uint64_t from,
                                   std::uint32_t size) {
  for (std::uint32_t offset = 0; offset < size; ++offset) {
    scratch_[offset] = tokens[from + offset].id;
  }
  return form_of_scratch(size);
}

BodyStore::Form BodyStore::form_of_scratch(std::uint32_t size) noexcept {
  const std::uint32_t least = least_rotation(&scratch_[0], size);
  std::uint64_t hash = 0;
  for (std::uint32_t offset = 0; offset < size; ++offset) {
    hash = hash * kHashBase + scratch_[(least + offset) % size];
  }
  return {hash, least};
}

BodyStore::Found BodyStore::find_or_add(const TokenHistory& tokens, std::uint64_t from,
                                        std::uint32_t lag) {
  assert(lag != 0);
  const Form form = form_of(tokens, from, lag);
  const std::uint32_t known = find(form.hash, lag);
  if (known != kNoBody) {
    bodies_[known].obsolete = false;
    if (bodies_[known].part) {
      bodies_[known].part = false;
      add_keys(known, tokens.bits(from, from + lag) / lag);
      outdate_bodies_with(known);
    }
    return {known, from + (form.least + lag - bodies_[known].least) % lag};
  }
  std::uint32_t start = 0;
  for (std::uint32_t offset = 0; offset < lag; ++offset) {
    if (tokens[from + offset].depth < tokens[from + start].depth) start = offset;
  }
  const std::uint32_t least = (form.least + lag - start) % lag;
  return {add(tokens, from + start, lag, {form.hash, least}), from + start};
}

void BodyStore::see_variant(const TokenHistory& tokens, std::uint64_t from,
                            std::uint64_t to) {
  const auto size = static_cast<std::uint32_t>(to - from);
  if (tokens.bits(from, to) < 2 * enough_bits_) return;
  const std::uint64_t hash = mix(tokens.hash(from, size) ^ size);
  Variant& variant = variants_[hash >> 56];
  if (variant.hash != hash || to < variant.first_end) variant = {hash, to};
  if (to - variant.first_end < tokens.max_lag()) return;
  const Form form = form_of(tokens, from, size);
  if (find(form.hash, size) == kNoBody) add(tokens, from, size, form);
}

std::uint32_t BodyStore::find(std::uint64_t hash, std::uint32_t size) const noexcept {
  for (std::uint64_t slot = slot_of(hash); by_hash_[slot].epoch == epoch_;
       slot = (slot + 1) & (by_hash_.size() - 1)) {
    const Body& body = bodies_[by_hash_[slot].body];
    if (body.hash == hash && body.size == size) return by_hash_[slot].body;
  }
  return kNoBody;
}

std::uint32_t BodyStore::add(const TokenHistory& tokens, std::uint64_t start,
                             std::uint32_t size, Form form) {
  assert(size != 0);
  const std::uint32_t number = add_body(size, form);
  if (number == kNoBody) return kNoBody;
  Body& body = bodies_[number];
  body.depth = tokens[start].depth;
  std::uint32_t straight_end = size;
  for (std::uint32_t index = size; index-- != 0;) {
    const Token& token = tokens[start + index];
    if (token.body != kNoBody) straight_end = index;
    items_[body.first_item + index] = {token.id, token.body, straight_end, token.depth};
    body.depth = std::min(body.depth, token.depth);
    body.events += static_cast<std::uint32_t>(token.events);
  }
  add_keys(number, tokens.bits(start, start + size) / size);
  outdate_bodies_with(number);
  find_parts(number);
  return number;
}

// One without items.
std::uint32_t BodyStore::add_body(std::uint32_t size, Form form) noexcept {
  if (body_count_ == bodies_.size() || items_.size() - item_count_ < size) return kNoBody;
  const std::uint32_t number = body_count_++;
  Body& body = bodies_[number];
  body = Body{.first_item = item_count_, .size = size, .loop = next_loop_++};
  body.hash = form.hash;
  body.least = form.least;
  item_count_ += size;
  std::uint64_t slot = slot_of(form.hash);
  while (by_hash_[slot].epoch == epoch_) slot = (slot + 1) & (by_hash_.size() - 1);
  by_hash_[slot] = {number, epoch_};
  return number;
}

// A body found before one of its inner loops was known has the events of that loop in a row.
// From now on they are read as that loop and the body is found anew: the old form must not
// compete.
void BodyStore::outdate_bodies_with(std::uint32_t inner) noexcept {
  const Body& part = bodies_[inner];
  const Item* const wanted = &items_[part.first_item];
  const auto same = [](const Item& a, const Item& b) { return a.id == b.id; };
  for (std::uint32_t number = 0; number != body_count_; ++number) {
    Body& body = bodies_[number];
    if (body.obsolete || body.size <= part.size) continue;
    const Item* const begin = &items_[body.first_item];
    const Item* const end = begin + body.size;
    body.obsolete = std::search(begin, end, wanted, wanted + part.size, same) != end;
  }
}

// The keys: the first tokens of the body repeated for ever, of several lengths, beginning with
// the one that may carry enough bits.
void BodyStore::add_keys(std::uint32_t number, std::uint32_t bits_per_token) {
  Body& body = bodies_[number];
  const Item* const items = &items_[body.first_item];
  std::uint64_t hash = 0;
  std::uint32_t size = 0;
  for (std::uint32_t which = 0; which < std::size(kKeySizes); ++which) {
    for (; size < kKeySizes[which]; ++size) {
      hash = hash * kHashBase + items[size % body.size].id;
    }
    if (size * bits_per_token < enough_bits_ && which + 1 < std::size(kKeySizes)) continue;
    Slot& slot = by_key_[slot_of(key_hash(hash, size))];
    if (slot.epoch == epoch_) {
      body.older[which] = slot.body;
      body.ambiguous = bodies_[slot.body].ambiguous = true;
    }
    slot = {number, epoch_};
    key_sizes_in_use_ |= 1u << which;
  }
}

BodyStore::Recognised BodyStore::recognise_known(const TokenHistory& tokens,
                                                 const Tried& tried) const noexcept {
  for (std::uint32_t left = key_sizes_in_use_; left != 0; left &= left - 1) {
    const int which = std::countr_zero(left);
    const std::uint32_t size = kKeySizes[which];
    if (tokens.end() - tokens.begin() < size) break;
    const std::uint64_t start = tokens.end() - size;
    if (tokens.bits(start, tokens.end()) < enough_bits_) continue;
    const bool again = tokens[start].position == tried.at;
    if (tried.only && !again) continue;
    const Slot slot = by_key_[slot_of(key_hash(tokens.hash(start, size), size))];
    if (slot.epoch != epoch_) continue;
    std::uint32_t body = slot.body;
    for (int tries = 0; tries != kMaxAlike && body != kNoBody; ++tries) {
      const bool excluded = bodies_[body].obsolete ||
                            (again && (body >= tried.body || body == tried.running));
      if (!excluded && begins_like(body, tokens, start, size)) return {body, start};
      body = bodies_[body].older[which];
    }
  }
  return {kNoBody, 0};
}

bool BodyStore::begins_like(std::uint32_t number, const TokenHistory& tokens,
                            std::uint64_t start, std::uint32_t size) const noexcept {
  const Body& body = bodies_[number];
  for (std::uint32_t index = 0; index < size; ++index) {
    const Item& item = items_[body.first_item + index % body.size];
    if (item.id != tokens[start + index].id) return false;
  }
  return true;
}

namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
// What looking for parts may cost: a comparison counts as one.
constexpr std::uint32_t kEffort = 2048;
constexpr std::uint32_t kEffortOfPart = 8;
// Adding a longer one takes as long as one event may take.
constexpr std::uint32_t kMaxItems = 512;
constexpr int kMaxLags = 6;  // tried at one place

}  // namespace

void BodyStore::find_parts(std::uint32_t number) noexcept {
  Body& body = bodies_[number];
  whole_ = items(number);
  if (body.size > kMaxItems || whole_->straight_end != body.size) return;
  effort_ = kEffort;
  last_same_.fill(kNone);
  for (std::uint32_t index = body.size; index-- != 0;) {
    std::uint32_t& last = last_same_[mix(whole_[index].id) >> 54];
    next_same_[index] = last;
    last = index;
  }
  body.first_mark = mark_count_;
  most_marks_ =
      std::min(mark_count_ + kMaxMarks, static_cast<std::uint32_t>(marks_.size()));
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
  for (int lags = kMaxLags; lags != 0 && other < to; --lags, other = next_same_[other]) {
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
