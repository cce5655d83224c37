// Rules for unwinding in 16 bytes, and the latest ones by address, for all threads of the process.
//
// Place in the flow: under stack_walk.h: a rule is made once of the unwind tables, then found here.
// Thread-safety: all; safe in signal handlers: no lock; an entry that was written by two at once is
// seen by its checksum, and is then not used.
// Ownership: fixed memory, 128 KiB, of which only used pages are taken; at fork the child has a copy.
// Errors: an entry belongs to an object, by the place of its mapping, its tables and its link map.
// Where a library is unloaded and another one has all three, addresses may have the former's rule:
// callers are wrong then; no memory is read that may not be.
// Cost: some ns. Made for x86-64; on aarch64, whose functions save more registers, nothing is compact.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <initializer_list>

#include "tracer/sampler/frame_rules.h"

namespace refrain::sampler {

// What most frames need: the return address just below the canonical frame address, and saved registers
// at small distances from it or, where a function aligned its stack, from the register that holds it.
struct CompactRule {
  enum Form : std::uint8_t { kFromCfa, kAlignedStack, kOutermost };
#if defined(__x86_64__)
  static constexpr std::uint8_t kSaved[6] = {kRbx, kFramePointer, 12, 13, 14, 15};
#else
  static constexpr std::uint8_t kSaved[6] = {19, 20, 21, 22, 23, 24};
#endif
  static constexpr std::int8_t kNotSaved = -128;

  std::int32_t offset = 0;
  std::uint8_t base = kStackPointer;
  Form form = kFromCfa;
  std::int8_t saved[6] = {kNotSaved, kNotSaved, kNotSaved, kNotSaved, kNotSaved, kNotSaved};
  std::uint32_t unused = 0;
};
static_assert(sizeof(CompactRule) == 16);

// False: the rules need more than a compact one can say.
bool make_compact(const FrameRules& rules, CompactRule& compact) noexcept;

// As apply_rules(). The rule is not kOutermost.
bool apply_compact(const CompactRule& rule, StackMemory& memory,
                   FrameRegisters& registers) noexcept;

class RuleCache {
 public:
  bool find(std::uintptr_t address, std::uintptr_t object,
            CompactRule& rule) const noexcept {
    const Entry& entry = entries_[place_of(address)];
    const Words words{entry.words[0].load(std::memory_order_relaxed),
                      entry.words[1].load(std::memory_order_relaxed)};
    if (entry.address.load(std::memory_order_relaxed) != address ||
        entry.check.load(std::memory_order_relaxed) != check(address, object, words))
      return false;
    rule = std::bit_cast<CompactRule>(words);
    return true;
  }
  void keep(std::uintptr_t address, std::uintptr_t object,
            const CompactRule& rule) noexcept {
    Entry& entry = entries_[place_of(address)];
    const auto words = std::bit_cast<Words>(rule);
    entry.address.store(address, std::memory_order_relaxed);
    entry.words[0].store(words.first, std::memory_order_relaxed);
    entry.words[1].store(words.second, std::memory_order_relaxed);
    entry.check.store(check(address, object, words), std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kBits = 12;
  static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;

  struct Words {
    std::uint64_t first;
    std::uint64_t second;
  };
  struct Entry {
    std::atomic<std::uintptr_t> address;
    std::atomic<std::uint64_t> words[2];
    std::atomic<std::uint64_t> check;
  };

  static std::size_t place_of(std::uintptr_t address) noexcept {
    return address * kOdd >> (64 - kBits);
  }
  // Of all that the entry holds. Never 0 * anything: an entry of zeros has no valid one.
  static std::uint64_t check(std::uintptr_t address, std::uintptr_t object,
                             Words words) noexcept {
    std::uint64_t mixed = (address ^ kOdd) * kOdd;
    for (const std::uint64_t word : {words.first, words.second, std::uint64_t{object}})
      mixed = (std::rotl(mixed, 29) ^ word) * kOdd;
    return mixed ^ mixed >> 32;
  }

  Entry entries_[std::size_t{1} << kBits] = {};
};

// That of the process.
extern constinit RuleCache g_rules;

}  // namespace refrain::sampler
