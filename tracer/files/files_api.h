// What librefrain_files.so, which stands before the C library's calls on files, asks of librefrain.so: before and after each call.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Plain structures, for the two are libraries of their own, always of one version.
// Thread-safety: any thread; also in signal handlers. errno stays. Cost: of a descriptor that is no file some 3 ns, of others two time
// stamps and some atomic additions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "spool/file_format.h"

namespace refrain::files {

// A call in progress, on the stack of its thread. A call that does not come back leaves nothing behind.
struct Call {
  void* table;          // where it counts
  std::uint64_t begin;  // by that one's clock
  std::int64_t offset;  // negative: not known
  std::uint32_t file;   // its slot
  std::int32_t descriptor;
  spool::FileOperation operation;
};

inline constexpr std::int64_t kNoOffset = -1;

struct Api {
  // Of an open descriptor. False: it is no file, or nothing is counted, and end() must not follow.
  bool (*begin)(Call* call, spool::FileOperation operation, int descriptor);
  // `result`: bytes, or negative for an error. `asked`: bytes. `offset`: where the call says it; else kNoOffset.
  void (*end)(Call* call, std::int64_t result, std::uint64_t asked, std::int64_t offset);
  // Of one that makes a descriptor; `descriptor` negative: it failed. `flags`: spool::FileFlag.
  bool (*begin_open)(Call* call, spool::FileOperation operation);
  void (*end_open)(Call* call, int descriptor, std::uint16_t flags);
  // The descriptors from `first` to `last` are closed, or of something else from now on.
  void (*forget)(unsigned first, unsigned last);
  // Where the descriptor stands is no more known by the calls on it: it has a copy, or belongs to a stream.
  void (*share)(int descriptor);
  // `result`: where the descriptor stands now; of a stream kNoOffset.
  void (*seek)(int descriptor, std::int64_t result);
};

}  // namespace refrain::files
