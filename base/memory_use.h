// What a call path of a program allocated: blocks of malloc and its kin, and how many bytes were in use when the process had most.
//
// Place in the flow: counted by tracer/memory, kept in the spool (spool/memory_format.h) and the summary, printed by `refrain info`.
// Thread-safety: pure. Units: bytes, numbers. Bytes are as asked for; of blocks below the setting's size as the allocator gave them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace refrain::base {

struct MemoryUse {
  std::uint64_t calls = 0;  // that gave a block; of realloc, each
  std::uint64_t bytes = 0;  // of all these, as asked for
  std::uint64_t frees = 0;  // blocks that were given back, also by realloc
  std::uint64_t current_bytes = 0;
  std::uint64_t high_water_bytes = 0;   // when the process had most
  std::uint64_t high_water_blocks = 0;  // likewise
  std::uint64_t peak_bytes = 0;         // the most that it had itself

  std::uint64_t blocks() const noexcept { return calls - std::min(calls, frees); }
  // Its numbers are added; of other processes or paths, so the peak is at most that.
  void add(const MemoryUse& other) noexcept;
  bool operator==(const MemoryUse&) const = default;
};

// All numbers of it, with their names in files.
struct MemoryUseNumber {
  const char* name;
  std::uint64_t MemoryUse::*value;
};
inline constexpr std::array<MemoryUseNumber, 7> kMemoryUseNumbers = {{
    {"calls", &MemoryUse::calls},
    {"bytes", &MemoryUse::bytes},
    {"frees", &MemoryUse::frees},
    {"current_bytes", &MemoryUse::current_bytes},
    {"high_water_bytes", &MemoryUse::high_water_bytes},
    {"high_water_blocks", &MemoryUse::high_water_blocks},
    {"peak_bytes", &MemoryUse::peak_bytes},
}};

// Which function was called. The order is part of the spool's format.
enum class AllocationCall : std::uint8_t {
  kMalloc,
  kCalloc,
  kRealloc,
  kAligned,
  kFree,
  kCount
};
inline constexpr std::size_t kAllocationCalls =
    static_cast<std::size_t>(AllocationCall::kCount);
// Names in files.
inline constexpr std::array<const char*, kAllocationCalls> kAllocationCallNames = {
    "malloc_calls", "calloc_calls", "realloc_calls", "aligned_calls", "free_calls"};

// By how many bytes were asked for: class i has up to 16 << i, the last one all larger ones.
inline constexpr std::size_t kSizeClasses = 32;
constexpr std::size_t size_class(std::uint64_t bytes) noexcept {
  if (bytes <= 16) return 0;
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes - 1)) - 4,
                               kSizeClasses - 1);
}

struct SizeClassUse {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  bool operator==(const SizeClassUse&) const = default;
};

// A function of a call path. Where it is not known there is its address in the module.
struct CallingPlace {
  std::string function;
  std::string file;        // full path; empty: not known
  std::uint32_t line = 0;  // of the call
  std::string module;      // file name
  auto operator<=>(const CallingPlace&) const = default;
};

struct AllocatingPath {
  std::vector<std::uint32_t>
      frames;            // indices of places, that which calls the allocator first
  std::uint32_t at = 0;  // which of the frames is the innermost of the program's own
  MemoryUse use;
  bool operator==(const AllocatingPath&) const = default;
};

// Of a process.
struct MemoryCalls {
  std::uint64_t from_bytes =
      0;  // call paths are known of blocks from this size on; 0: nothing was counted
  std::array<std::uint64_t, kAllocationCalls> calls{};
  std::uint64_t failed = 0;  // of them, those that gave no memory
  std::uint64_t high_water_bytes = 0;
  std::uint64_t high_water_ticks = 0;  // when that was; 0: before the recording began
  std::uint64_t current_bytes = 0;     // at the end
  std::uint64_t unknown_frees = 0;     // of blocks that were not seen to be allocated
  std::uint64_t untracked =
      0;  // blocks that there was no memory to keep in mind: not in what is in use
  std::array<SizeClassUse, kSizeClasses> sizes{};
  MemoryUse small;  // of blocks below from_bytes
  MemoryUse rest;   // of call paths that found no place
  std::vector<CallingPlace> places;
  std::vector<AllocatingPath> paths;  // those that had most at the high-water mark first

  std::uint64_t allocations() const noexcept;
  std::uint64_t bytes() const noexcept;
  bool operator==(const MemoryCalls&) const = default;
};

// "read_mesh mesh.c:120", "PMPI_Init (libmpi.so.40)": without arguments.
std::string place_text(const CallingPlace& place);

// Who holds memory, all paths with one place together: most first, without those that have none. `value`: one of bytes.
struct MemoryHolder {
  std::string text;  // place_text(), or of what has no call path what it is
  std::uint64_t bytes = 0;
};
std::vector<MemoryHolder> memory_holders(const MemoryCalls& calls,
                                         std::uint64_t MemoryUse::*value);

}  // namespace refrain::base
