// The table of what a process allocates: counters and call paths, in memory or in a file of the spool (spool/memory_format.h).
//
// Place in the flow: ARCHITECTURE.md, stage 3: memory_calls.h counts in it.
// Thread-safety: any thread, also in signal handlers, but for make(), move_to() and leave_file(). No lock, no allocation. What threads do at the same time
// is part of the high-water mark or not.
// Ownership: the memory is never given back, for a call may be in progress on any thread.
// Errors: paths that find no place are counted in kPathOfRest.
// Cost: a shard's counters are those of a few threads, some ns each; a path is looked up in some 10 ns.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "spool/memory_format.h"

namespace refrain::memory {

class MemoryTable {
 public:
  constexpr MemoryTable() = default;
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  // In memory of the process' own. False: there is none.
  bool make(std::uint64_t from_bytes) noexcept;
  // To a file that is made here, with all that was counted. Empty, or what is wrong. What other threads count in the same microseconds
  // may be lost.
  std::string move_to(const std::string& path);
  // Of a child: to memory of its own.
  void leave_file() noexcept;
  bool usable() const noexcept { return header_ != nullptr; }
  spool::MemoryHeader& header() noexcept { return *header_; }
  spool::MemoryShard& shard(std::uint32_t number) noexcept { return shards_[number]; }

  // The slot of a path, never kPathOfSmall.
  std::uint32_t find(std::span<const std::uint64_t> frames) noexcept;

  // Blocks of a path. `now`: the time, of a new high-water mark.
  void allocated(std::uint32_t path, std::uint64_t bytes, std::uint64_t now) noexcept;
  void released(std::uint32_t path, std::uint64_t bytes) noexcept;
  // A block that cannot be followed.
  void untracked(std::uint32_t path, std::uint64_t bytes) noexcept;
  // realloc() has failed: what released() took is there again, and nobody called.
  void kept(std::uint32_t path, std::uint64_t bytes) noexcept;

  // Small blocks: bytes, negative where they went back. True: hand_over() is to follow.
  static bool small(spool::MemoryShard& shard, std::int64_t bytes) noexcept {
    const std::int64_t all =
        shard.small_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    return all > spool::kMemorySlack || all < -spool::kMemorySlack;
  }
  void hand_over(spool::MemoryShard& shard, std::uint64_t now) noexcept;

 private:
  void lay_out(void* memory) noexcept;
  void before_change(spool::MemoryPath& path) noexcept;
  void raise(std::int64_t current, std::uint64_t now) noexcept;
  void more(spool::MemoryPath& path, std::int64_t bytes, std::uint64_t now) noexcept;

  spool::MemoryHeader* header_ = nullptr;
  spool::MemoryShard* shards_ = nullptr;
  spool::MemoryPath* paths_ = nullptr;
};

}  // namespace refrain::memory
