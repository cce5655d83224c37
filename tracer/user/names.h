// NameTable: gives texts numbers, from 1 on, equal texts the same. Where two threads add one at the same time a number
// may stay unused.
//
// Place in the flow: ARCHITECTURE.md, stage 2, next to the user source: regions, parameters and
// their string values are recorded by number; their texts go to the journal when they are new.
// Thread-safety: any thread. Ownership: texts are copied, and stay until the process ends: what
// they came from may be unloaded.
// Errors: 0 where there is no room for another text: more than `most`, or no memory.
// Cost: a text that is known takes a hash of it, and one comparison in most cases. A new one allocates. No lock, no
// system call.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace refrain::user {

class NameTable {
 public:
  explicit constexpr NameTable(std::uint32_t most) : most_(most) {}

  struct Found {
    std::uint32_t number;
    bool is_new;
  };
  // `more` distinguishes texts that are otherwise equal (a file and line).
  Found number(std::string_view text, std::string_view more = {},
               std::uint32_t line = 0) noexcept;

 private:
  struct Wanted {
    std::uint64_t hash;
    std::string_view text;
    std::string_view more;
    std::uint32_t line;
  };
  struct Entry {
    Entry* next;  // in its slot
    std::uint64_t hash;
    std::uint32_t number;
    std::uint32_t line;
    std::uint32_t text_bytes;
    std::uint32_t more_bytes;
    // The texts follow.
    const char* texts() const noexcept { return reinterpret_cast<const char*>(this + 1); }
    bool is(const Wanted& wanted) const noexcept;
  };
  // Memory is taken by those that are used.
  static constexpr std::size_t kSlots = 1 << 16;

  // In a slot's list, up to `to`.
  static const Entry* find(const Entry* from, const Entry* to,
                           const Wanted& wanted) noexcept;
  Found add(std::atomic<Entry*>& slot, Entry* first, const Wanted& wanted) noexcept;

  std::uint32_t most_;
  std::atomic<std::uint32_t> count_{0};
  // No AppendOnlyMap: keys are texts of any length.
  std::array<std::atomic<Entry*>, kSlots> slots_{};
};

}  // namespace refrain::user
