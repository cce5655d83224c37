// What a process allocated: counters, and a table of call paths, in a file of its own (`memory` in the process' directory), in memory
// of fixed size.
//
// Place in the flow: ARCHITECTURE.md, stage 3 (kept by tracer/memory) and 5 (read by memory_reader.h, also after the process was
// killed).
//
//     0                kMemoryHeaderBytes                                             file end
//     +----------------+-----------------------------+--------------------------------+
//     | MemoryHeader   | MemoryShard[kMemoryShards]  | MemoryPath[kMemoryPaths]       |
//     +----------------+-----------------------------+--------------------------------+
//
// Threads count in the shard of their number. Path 0 is of all call paths that found no place, path 1 of all blocks below
// `from_bytes`. The others are found by the hash of their frames, at the first free slot from there on; one counts when it is `ready`.
//
// What a path had at the process' high-water mark: `latest_mark` is the number of the mark that was the latest when the path's
// use last changed for the first time after it, and `at_mark` what it had before that change. If the number is not the header's, nothing
// has changed since the latest mark, and what it has now is what it had then.
//
// The high-water mark is exact but for blocks below `from_bytes`: each shard may have kMemorySlack bytes of them that the
// header does not have yet.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/memory_use.h"

namespace refrain::spool {

inline constexpr char kMemoryMagic[8] = {'R', 'F', 'M', 'E', 'M', 'O', 'R', 'Y'};
inline constexpr std::uint32_t kMemoryVersion = 1;
inline constexpr std::size_t kMemoryHeaderBytes = 4096;
inline constexpr std::uint32_t kMemoryShards = 64;
inline constexpr std::uint32_t kMemoryPaths = 8192;     // slots
inline constexpr std::uint32_t kMaxMemoryPaths = 6144;  // that are used, at most
inline constexpr std::uint32_t kMemoryFrames = 16;      // innermost, of a path
inline constexpr std::uint32_t kPathOfRest = 0;
inline constexpr std::uint32_t kPathOfSmall = 1;
inline constexpr std::uint32_t kFirstMemoryPath = 2;
inline constexpr std::int64_t kMemorySlack = 16 << 10;

struct MemoryHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t byte_order;  // spool::kByteOrder
  std::uint64_t pid;
  std::uint64_t from_bytes;
  std::atomic<std::int64_t> current;      // bytes
  std::atomic<std::int64_t> high_water;   // bytes
  std::atomic<std::uint64_t> mark;        // number of the high-water mark, from 1 on
  std::atomic<std::uint64_t> mark_ticks;  // when that was; 0: before the recording
  std::atomic<std::uint32_t> paths;       // taken, may be more than kMaxMemoryPaths
  std::atomic<std::uint32_t> ended;       // 1: regularly
  std::atomic<std::uint64_t> untracked;   // as base::MemoryCalls
};
static_assert(sizeof(MemoryHeader) <= kMemoryHeaderBytes);

struct alignas(64) MemoryShard {
  std::atomic<std::int64_t> small_bytes;  // that `current` does not have yet
  std::atomic<std::uint64_t> calls[base::kAllocationCalls];
  std::atomic<std::uint64_t> failed;
  std::atomic<std::uint64_t> released;       // blocks given back
  std::atomic<std::uint64_t> unknown_frees;  // of them
  struct Size {
    std::atomic<std::uint64_t> calls;
    std::atomic<std::uint64_t> bytes;
  } sizes[base::kSizeClasses];
};

struct MemoryPath {
  std::atomic<std::uint64_t> hash;  // of the frames; 0: free
  std::atomic<std::uint32_t> ready;
  std::uint32_t count;  // frames
  std::uint64_t
      frames[kMemoryFrames];  // where calls return to; that of the allocator first
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> frees;
  std::atomic<std::int64_t> current;
  std::atomic<std::int64_t> peak;
  std::atomic<std::uint64_t> latest_mark;
  std::atomic<std::int64_t> at_mark;  // bytes
  std::atomic<std::uint64_t> blocks_at_mark;
};

inline constexpr std::size_t kMemoryShardsOffset = kMemoryHeaderBytes;
inline constexpr std::size_t kMemoryPathsOffset =
    kMemoryShardsOffset + kMemoryShards * sizeof(MemoryShard);
inline constexpr std::size_t kMemoryTableBytes =
    kMemoryPathsOffset + kMemoryPaths * sizeof(MemoryPath);

}  // namespace refrain::spool
