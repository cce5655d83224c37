// Paths: numbers for the ways in which the program comes to its calls: all return addresses up the stack.
//
// Place in the flow: ARCHITECTURE.md, stage 2 and 3: what a loop's events are told apart by, and where the program
// is (shared frames of two paths are the same activation if their bases are equal).
//
// How: an entry remembers a call's site with the words of the stack that decide who the callers are
// (call_walk.h). Looked at are the up to four that came next after the latest one before, then a table by
// site and stack or frame pointer. While all words are as they were, nothing else is. Otherwise the stack is walked:
// the row of places is looked up, so that the same callers at other stack addresses are the same path.
//
// One row at other addresses (a caller's caller differs in size, alloca) is a *variant* with bases of its own; a
// path with more than kVariants is *moving*: bases that differed anywhere are 0 from then on, which is to be taken
// as equal to all. Innermost frames beyond kMaxFrames are what is kept of deeper stacks: then the first
// frame's base is not 0.
//
// Stacks that are not the thread's own (coroutines) are told apart by where their outermost frame lies; a path is on one of them. So
// is what lies above a frame that nothing can be walked beyond (of code that was made at run time, or the 64th). Of more than
// kMaxStacks no more is known than that.
//
// Frames of Python code are frames like others (python_frames.h); their words lie in memory of the interpreter, and each
// is read when those before it are right: then it is that of a function that has not returned.
//
// Thread-safety: the primary thread's alone, not for its signal handlers; another one may go on (all is walked again
// once). code_unloaded() from any thread.
// Ownership: fixed memory, 90 MiB of which only what is used is taken. find() allocates nothing and takes no
// lock, but what call_walk.h says. Errors: what finds no room has the number 0.
// Cost: see docs/lab/cost.md; nanoseconds for what was seen before.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "periodicity/activation/code_facts.h"
#include "periodicity/zeroed_array.h"
#include "tracer/sampler/call_walk.h"

namespace refrain::runtime {

using sampler::CallSite;

class Paths {
 public:
  // `place`: return address into the frame's function, as recorded (code_address.h); `base`: where the
  // function's own return address lies (on aarch64: just below its canonical frame address); of the outermost 0.
  using Frame = sampler::CallWalk::Frame;
  using Hidden = sampler::CallWalk::Hidden;
  static constexpr std::uint32_t kMax = periodicity::CodeFacts::kMaxPaths - 1;  // without 0
  static constexpr unsigned kMaxFrames = sampler::CallWalk::kMaxFrames;
  static constexpr unsigned kVariants = 4;
  static constexpr unsigned kMoving = kVariants;
  static constexpr unsigned kMaxStacks = 8;  // with the thread's own, which is 0
  static constexpr unsigned kOtherStack = kMaxStacks;

  // `hidden`: whether frames of a place are left out (libraries between the program's functions); asked once
  // for each place. The call's own frame never is. Throws std::bad_alloc.
  explicit Paths(Hidden hidden = nullptr);

  // Number of the path, from 1; 0: unknown. `callee`: what is called, part of the path.
  std::uint32_t find(CallSite site, std::uint64_t callee) noexcept {
    if (unloads_.load(std::memory_order_relaxed) == unloads_seen_ &&
        __builtin_thread_pointer() == thread_) [[likely]] {
      const Key key{reinterpret_cast<std::uint64_t>(site.returns_to),
                    reinterpret_cast<std::uint64_t>(site.stack),
                    reinterpret_cast<std::uint64_t>(site.frame), callee};
      for (const std::uint16_t next : last_->next) {
        const Entry& entry = entries_[next];
        if (entry.key.is(key, entry) && unchanged(entry)) [[likely]] {
          last_ = &entries_[next];
          rows_[entry.path].latest = entry.variant;
          __builtin_prefetch(&entries_[entry.next[0]]);
          return entry.path;
        }
      }
    }
    const std::uint32_t path = find_slow(site, callee);
    rows_[path].latest = static_cast<std::uint8_t>(variant_);
    return path;
  }

  // Brings what find() will most likely look at next near to the processor, where that is more than its caches have: a
  // program that comes through thousands of paths in an iteration. Returns that path; 0: there is no need.
  std::uint32_t expect_next() const noexcept {
    if (used_entries_ < kManyEntries) [[likely]]
      return 0;
    const Entry& next = entries_[last_->next[0]];
    const auto* const begin = reinterpret_cast<const char*>(&words_[next.words]);
    const std::size_t bytes = (std::size_t{next.count} + next.python) * sizeof(Word);
    for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(begin + at);
    return next.path;
  }

  // The calling thread will ask first; what that would take is done now.
  void begin_on_this_thread() noexcept {
    walk_.know_stack();
    thread_ = __builtin_thread_pointer();
  }

  sampler::StackBounds own_stack() const noexcept { return walk_.own_stack(); }
  // As find() found the path last: its variant, below kVariants, or kMoving.
  unsigned variant(std::uint32_t path) const noexcept {
    const Row& row = rows_[path];
    return row.moving ? kMoving : row.latest;
  }
  // Outermost first; the last one is the call itself. The places of all variants are the same.
  std::span<const Frame> frames(std::uint32_t path, unsigned variant = 0) const noexcept;
  std::uint64_t callee(std::uint32_t path) const noexcept { return rows_[path].callee; }
  unsigned stack(std::uint32_t path) const noexcept { return rows_[path].stack; }
  std::uint32_t size() const noexcept { return used_rows_; }

  // Some code is not there any more. Paths keep their numbers, where addresses mean what they did.
  void code_unloaded() noexcept { unloads_.fetch_add(1, std::memory_order_relaxed); }

  // How often find() had no number left to give.
  std::uint64_t unnumbered() const noexcept { return unnumbered_; }

  const sampler::PythonFrames& python() const noexcept { return walk_.python(); }
  sampler::PythonFrames& python() noexcept { return walk_.python(); }

  // For tests and figures: how often a stack was walked, and how often by libgcc.
  std::uint64_t walks() const noexcept { return walks_; }
  std::uint64_t unwinds() const noexcept { return walk_.unwinds(); }

 private:
  using Word = sampler::CallWalk::Word;
  static constexpr std::size_t kEntries = 65536 - 64;
  static constexpr std::size_t kEntrySlots = std::size_t{1} << 17;
  static constexpr std::size_t kManyEntries = 512;  // with their words half a megabyte
  static constexpr std::size_t kProbes = 8;
  static constexpr std::size_t kWords = std::size_t{1} << 21;
  static constexpr std::size_t kFrames = std::size_t{1} << 21;
  static constexpr std::size_t kRowSlots = std::size_t{1} << 16;
  static constexpr unsigned kEntriesOfRow = 16;

  struct Entry;
  struct Key {
    std::uint64_t site;
    std::uint64_t stack;
    std::uint64_t frame;
    std::uint64_t callee;
    bool is(const Key& other, const Entry& entry) const noexcept;
  };
  struct alignas(64) Entry {
    Key key;
    std::uint32_t path;
    std::uint32_t words;                // the first
    std::array<std::uint16_t, 4> next;  // 0: none
    std::uint8_t count;                 // words
    std::uint8_t pairs;                 // the first ones, where two lie side by side
    std::int8_t by_stack;               // -1: counts
    std::int8_t by_frame;
    bool own_stack;
    std::uint8_t variant;
    std::uint8_t replaced;      // in `next`
    std::uint8_t python;        // words behind the others: frames of Python code
    std::uint16_t next_of_row;  // 0: none
  };
  struct Row {
    std::uint64_t hash;
    std::uint64_t callee;
    std::array<std::uint32_t, kVariants> frames;  // the first of each variant
    std::uint8_t count;
    std::uint8_t variants;
    std::uint8_t entries;
    bool moving;
    std::uint8_t stack;
    std::uint8_t latest;  // variant
    std::uint16_t entry;  // the latest; 0: none
  };

  static bool unchanged_pairs(const Word* word, unsigned pairs, unsigned count) noexcept;
  static bool unchanged_in_order(const Word* word, unsigned count) noexcept;
  __attribute__((hot)) bool unchanged(const Entry& entry) const noexcept {
    const Word* const words = &words_[entry.words];
    const bool same = entry.own_stack ? unchanged_pairs(words, entry.pairs, entry.count)
                                      : unchanged_in_order(words, entry.count);
    return same &&
           (entry.python == 0 || unchanged_in_order(words + entry.count, entry.python));
  }
  static std::size_t slot_of(std::uint64_t site, std::uint64_t by) noexcept {
    return ((site ^ by * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9) >>
           (64 - std::countr_zero(kEntrySlots));
  }

  std::uint32_t find_slow(CallSite site, std::uint64_t callee) noexcept;
  std::uint16_t look_up(const Key& key) const noexcept;
  std::uint16_t look_up(const Key& key, const Row& row) const noexcept;
  void follow(std::uint16_t number) noexcept;
  unsigned stack_of(const sampler::CallWalk::Found& found,
                    std::uint64_t innermost) noexcept;
  std::size_t row_slot(const Row& wanted) const noexcept;
  std::uint32_t add_row(const Row& row, std::size_t slot) noexcept;
  bool keep_frames(unsigned count, std::uint32_t& first) noexcept;
  bool has_variant(const Row& row) noexcept;
  void add_variant(Row& row) noexcept;
  void add_entry(const Key& key, const sampler::CallWalk::Found& found,
                 std::uint32_t path) noexcept;
  void drop_entries() noexcept;

  Entry* last_ = nullptr;
  std::uint64_t unloads_seen_ = 0;
  const void* thread_ = nullptr;  // whose stack is the own one
  std::atomic<std::uint64_t> unloads_{0};
  unsigned variant_ = 0;  // found by find_slow()
  std::uint32_t used_rows_ = 0;
  std::uint32_t used_entries_ = 0;
  std::uint32_t used_words_ = 0;
  std::uint32_t used_frames_ = 0;
  std::uint64_t walks_ = 0;
  std::uint64_t unnumbered_ = 0;
  std::array<std::uint64_t, kMaxStacks>
      stacks_{};  // where the outermost frames of others lie
  periodicity::ZeroedArray<Entry> entries_{kEntries};  // of 0: nothing came before
  periodicity::ZeroedArray<Word> words_{kWords};
  periodicity::ZeroedArray<std::uint16_t> entry_slots_{kEntrySlots};
  periodicity::ZeroedArray<Row> rows_{kMax + 1};
  periodicity::ZeroedArray<std::uint16_t> row_slots_{kRowSlots};
  periodicity::ZeroedArray<Frame> frames_{kFrames};
  std::array<Frame, kMaxFrames> found_;  // outermost first
  sampler::CallWalk walk_;
};

inline bool Paths::Key::is(const Key& other, const Entry& entry) const noexcept {
  const auto counts = [](std::int8_t by) {
    return static_cast<std::uint64_t>(std::int64_t{by});
  };
  return ((site ^ other.site) | ((stack ^ other.stack) & counts(entry.by_stack)) |
          ((frame ^ other.frame) & counts(entry.by_frame)) | (callee ^ other.callee)) == 0;
}

// Words of other functions' frames, which the sanitizers would report. On the thread's own stack all are mapped.
__attribute__((no_sanitize("address"), no_sanitize("thread"))) inline bool
Paths::unchanged_pairs(const Word* word, unsigned pairs, unsigned count) noexcept {
  using Two = std::uint64_t __attribute__((vector_size(16), aligned(8), may_alias));
  using One = std::uint64_t __attribute__((may_alias));
  const Word* const end_of_pairs = word + pairs;
  const Word* const end = word + count;
  Two two{};
  for (; word != end_of_pairs; ++word)
    two |= *reinterpret_cast<const Two*>(word->address - sizeof(One)) ^
           *reinterpret_cast<const Two*>(&word->below);
  std::uint64_t changed = two[0] | two[1];
  for (; word != end; ++word)
    changed |= *reinterpret_cast<const One*>(word->address) ^ word->word;
  return changed == 0;
}

}  // namespace refrain::runtime
