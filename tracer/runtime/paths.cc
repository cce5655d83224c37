#include "tracer/runtime/paths.h"

#include <algorithm>

#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/code_address.h"

namespace refrain::runtime {

using sampler::CallWalk;

namespace {

// What was written before is all there: a handler that jumps out of find_slow() leaves tables that can be used. (While a new path is
// written most that may jump wait, but not those of SIGSEGV and its like. An entry is often new: none waits for it.)
void written_so_far() noexcept { std::atomic_signal_fence(std::memory_order_release); }

}  // namespace

Paths::Paths(Hidden hidden) : walk_(hidden) { drop_entries(); }

std::span<const Paths::Frame> Paths::frames(std::uint32_t path,
                                            unsigned variant) const noexcept {
  const Row& row = rows_[path];
  const unsigned which = row.moving || variant >= row.variants ? 0 : variant;
  return {&frames_[row.frames[which]], row.count};
}

// Each word may be read once those before it are right: the rest may lie where nothing is mapped any more.
__attribute__((no_sanitize("address"), no_sanitize("thread"))) bool
Paths::unchanged_in_order(const Word* word, unsigned count) noexcept {
  using One = std::uint64_t __attribute__((may_alias));
  for (const Word* const end = word + count; word != end; ++word) {
    const auto* const at = reinterpret_cast<const One*>(word->address & ~Word::kBelow);
    if (*at != word->word || ((word->address & Word::kBelow) != 0 && at[-1] != word->below))
      return false;
  }
  return true;
}

std::uint16_t Paths::look_up(const Key& key) const noexcept {
  for (const std::uint64_t by : {key.stack, key.frame}) {
    std::size_t at = slot_of(key.site, by);
    for (std::size_t probe = 0; probe != kProbes; ++probe, at = (at + 1) % kEntrySlots) {
      if (entry_slots_[at] == 0) break;
      const Entry& entry = entries_[entry_slots_[at]];
      if (entry.key.is(key, entry) && unchanged(entry)) return entry_slots_[at];
    }
  }
  return 0;
}

std::uint16_t Paths::look_up(const Key& key, const Row& row) const noexcept {
  std::uint16_t number = row.entry;
  while (number != 0 &&
         (!entries_[number].key.is(key, entries_[number]) || !unchanged(entries_[number])))
    number = entries_[number].next_of_row;
  return number;
}

// It came after the latest one.
void Paths::follow(std::uint16_t number) noexcept {
  auto& next = last_->next;
  const auto free = std::find(next.begin(), next.end(), 0);
  (free != next.end() ? *free : next[last_->replaced++ % next.size()]) = number;
  last_ = &entries_[number];
  variant_ = last_->variant;
}

// Those that are half dropped are never found, and are dropped again.
void Paths::drop_entries() noexcept {
  last_ = &entries_[0];
  // Only what was used is touched: a page that is not costs microseconds in some virtual machines.
  for (std::size_t i = 0; i != used_entries_; ++i) {
    const Entry& entry = entries_[i];
    std::size_t at =
        slot_of(entry.key.site, entry.by_stack != 0 ? entry.key.stack : entry.key.frame);
    for (std::size_t probe = 0; i != 0 && probe != kProbes;
         ++probe, at = (at + 1) % kEntrySlots)
      if (entry_slots_[at] == i) entry_slots_[at] = 0;
    entries_[i] = {};
  }
  for (std::uint32_t row = 1; row <= used_rows_; ++row)
    rows_[row].entries = 0, rows_[row].entry = 0;
  written_so_far();
  used_entries_ = 1;
  used_words_ = 0;
  entries_[0].key.callee = ~std::uint64_t{0};
  entries_[0].by_stack = entries_[0].by_frame = -1;
}

__attribute__((noinline)) std::uint32_t Paths::find_slow(CallSite site,
                                                         std::uint64_t callee) noexcept {
  const std::uint64_t unloads = unloads_.load(std::memory_order_relaxed);
  if (unloads != unloads_seen_ || __builtin_thread_pointer() != thread_) {
    const recorder::SlowPath slow_path;
    drop_entries();
    walk_.forget();
    if (__builtin_thread_pointer() != thread_) begin_on_this_thread();
    unloads_seen_ = unloads;
  }
  const Key key{reinterpret_cast<std::uint64_t>(site.returns_to),
                reinterpret_cast<std::uint64_t>(site.stack),
                reinterpret_cast<std::uint64_t>(site.frame), callee};
  if (const std::uint16_t number = look_up(key); number != 0) {
    follow(number);
    return last_->path;
  }
  const recorder::KeepErrno keep_errno;
  ++walks_;
  const CallWalk::Found found = walk_.walk(site);
  if (found.frames == 0) return 0;
  std::reverse_copy(walk_.frames(), walk_.frames() + found.frames, found_.begin());
  std::uint64_t hash = found.hash;
  if (any_code_reused()) {
    hash = 0;
    for (unsigned i = found.frames; i-- != 0;) {
      if (!sampler::PythonFrames::is_place(found_[i].place) &&
          found_[i].place != CallWalk::kHiddenPlace)
        found_[i].place = code_address(found_[i].place);
      hash = CallWalk::mixed(hash, found_[i].place);
    }
  }
  const unsigned stack = stack_of(found, key.stack);
  hash ^= (callee ^ std::uint64_t{stack} << 40) * 0x94d049bb133111eb;
  const Row row{.hash = hash,
                .callee = callee,
                .frames = {},
                .count = static_cast<std::uint8_t>(found.frames),
                .variants = 1,
                .entries = 0,
                .moving = false,
                .stack = static_cast<std::uint8_t>(stack),
                .latest = 0,
                .entry = 0};
  const std::size_t slot = row_slot(row);
  std::uint32_t path = row_slots_[slot];
  if (path != 0 && has_variant(rows_[path])) {
    if (!found.certain) return path;
    if (const std::uint16_t number = look_up(key, rows_[path]); number != 0) {
      follow(number);
      return path;
    }
    if (rows_[path].entries == kEntriesOfRow) return path;
  }
  if (path == 0 && used_rows_ == kMax) {
    ++unnumbered_;
    return 0;
  }
  if (path == 0 || !has_variant(rows_[path])) {
    const recorder::SlowPath slow_path;
    if (path == 0) path = add_row(row, slot);
    if (path == 0) return 0;
    if (!has_variant(rows_[path])) add_variant(rows_[path]);
  }
  if (found.certain && rows_[path].entries < kEntriesOfRow) add_entry(key, found, path);
  return path;
}

// Of what was found; `innermost`: somewhere on it.
unsigned Paths::stack_of(const CallWalk::Found& found, std::uint64_t innermost) noexcept {
  std::uint64_t outermost = innermost;
  for (unsigned i = found.frames; i-- != 0;)
    if (found_[i].base != 0) outermost = found_[i].base;
  if ((found.whole || !found.certain) && walk_.on_own_stack(outermost)) return 0;
  unsigned stack = 1;
  while (stack != kMaxStacks && stacks_[stack] != outermost && stacks_[stack] != 0) ++stack;
  if (stack != kMaxStacks) stacks_[stack] = outermost;
  return stack;
}

// Of the path with these places, which are those that were found; or free.
std::size_t Paths::row_slot(const Row& wanted) const noexcept {
  std::size_t at = (wanted.hash * 0x9e3779b97f4a7c15) >> (64 - std::countr_zero(kRowSlots));
  for (; row_slots_[at] != 0; at = (at + 1) % kRowSlots) {
    const Row& row = rows_[row_slots_[at]];
    if (row.hash != wanted.hash || row.callee != wanted.callee ||
        row.count != wanted.count || row.stack != wanted.stack)
      continue;
    const Frame* const frames = &frames_[row.frames[0]];
    if (std::equal(frames, frames + row.count, found_.begin(),
                   [](const Frame& a, const Frame& b) { return a.place == b.place; }))
      break;
  }
  return at;
}

// 0: no room for its frames. It is there once its slot says so.
std::uint32_t Paths::add_row(const Row& made, std::size_t slot) noexcept {
  Row& row = rows_[used_rows_ + 1];
  row = made;
  if (!keep_frames(row.count, row.frames[0])) return 0;
  const std::uint32_t number = ++used_rows_;
  written_so_far();
  row_slots_[slot] = static_cast<std::uint16_t>(number);
  return number;
}

bool Paths::keep_frames(unsigned count, std::uint32_t& first) noexcept {
  if (kFrames - used_frames_ < count) return false;
  first = used_frames_;
  std::copy_n(found_.begin(), count, &frames_[first]);
  used_frames_ += count;
  return true;
}

// The one with the bases that were found, which is variant_ then.
bool Paths::has_variant(const Row& row) noexcept {
  const auto same = [&row](const Frame& known, const Frame& found) {
    return known.base == found.base || (row.moving && known.base == 0);
  };
  for (variant_ = 0; variant_ != row.variants; ++variant_) {
    const Frame* const frames = &frames_[row.frames[variant_]];
    if (std::equal(frames, frames + row.count, found_.begin(), same)) return true;
  }
  return false;
}

// Where there are too many, those that do not fit the path's any more become 0.
void Paths::add_variant(Row& row) noexcept {
  if (!row.moving && row.variants < kVariants &&
      keep_frames(row.count, row.frames[row.variants])) {
    written_so_far();
    variant_ = row.variants++;
    return;
  }
  Frame* const kept = &frames_[row.frames[0]];
  const auto merge = [&](const Frame* other) {
    for (unsigned i = 0; i != row.count; ++i)
      if (kept[i].base != other[i].base) kept[i].base = 0;
  };
  for (unsigned i = 1; i < row.variants; ++i) merge(&frames_[row.frames[i]]);
  merge(found_.data());
  written_so_far();
  row.moving = true;
  row.variants = 1;
  variant_ = 0;
}

void Paths::add_entry(const Key& key, const CallWalk::Found& found,
                      std::uint32_t path) noexcept {
  if (used_entries_ == kEntries || kWords - used_words_ < found.words + found.python_words)
    drop_entries();
  Entry& entry = entries_[used_entries_];
  entry = {.key = key,
           .path = path,
           .words = used_words_,
           .next = {},
           .count = static_cast<std::uint8_t>(found.words),
           .pairs = 0,
           .by_stack = static_cast<std::int8_t>(found.by_stack ? -1 : 0),
           .by_frame = static_cast<std::int8_t>(found.by_frame ? -1 : 0),
           .own_stack = found.own_stack,
           .variant = static_cast<std::uint8_t>(variant_),
           .replaced = 0,
           .python = static_cast<std::uint8_t>(found.python_words),
           .next_of_row = rows_[path].entry};
  Word* const words = &words_[used_words_];
  std::copy_n(walk_.words(), found.words, words);
  if (found.own_stack) {
    Word* const singles = std::partition(words, words + found.words, [](const Word& word) {
      return (word.address & Word::kBelow) != 0;
    });
    entry.pairs = static_cast<std::uint8_t>(singles - words);
    std::for_each(words, singles, [](Word& word) { word.address &= ~Word::kBelow; });
  }
  std::copy_n(walk_.python_words(), found.python_words, words + found.words);
  written_so_far();
  used_words_ += found.words + found.python_words;
  const auto number = static_cast<std::uint16_t>(used_entries_++);
  written_so_far();
  ++rows_[path].entries;
  rows_[path].entry = number;
  const std::size_t first = slot_of(key.site, found.by_stack ? key.stack : key.frame);
  std::size_t at = first;
  for (std::size_t probe = 0; probe != kProbes && entry_slots_[at] != 0; ++probe)
    at = (at + 1) % kEntrySlots;
  // Where all are taken, some other one has to be found by what comes before it, or walked to.
  if (at == (first + kProbes) % kEntrySlots) at = (first + number % kProbes) % kEntrySlots;
  entry_slots_[at] = number;
  follow(number);
}

}  // namespace refrain::runtime
