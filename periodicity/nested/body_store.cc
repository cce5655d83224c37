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
    for (int tries = 0; tries != kMostAlike && body != kNoBody; ++tries) {
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

}  // namespace refrain::periodicity
