// Counts the program's calls on files, and hands slow ones on to be recorded.
//
// Place in the flow: ARCHITECTURE.md, stage 2: librefrain_files.so calls what files_api.h lists; tracer/runtime starts and ends it.
// What is called before the session starts is counted in memory, and taken over at its start; after its end nothing is.
// Thread-safety: calls on any thread, also in signal handlers and before main; start(), stop() and abandon() as the session's.
// Errors: what cannot be counted by file is counted together. errno stays, no call is a cancellation point.
#pragma once

#include <cstdint>
#include <string>

#include "spool/file_format.h"

namespace refrain::files {

// A call that took longer than the threshold, and has ended.
struct SlowCall {
  static constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};
  spool::FileOperation operation;
  std::uint32_t file;  // its slot
  std::uint32_t name;  // the number of its name
  std::int32_t descriptor;
  std::uint16_t flags;  // spool::FileFlag; of opens, how
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t bytes;
  std::uint64_t offset;
};

// The process' calls are counted in a file at `path`; slow ones go to `record`. Empty, or what is wrong.
std::string start(const std::string& path, double threshold_s,
                  void (*record)(const SlowCall&) noexcept);
void stop() noexcept;
// In a forked child: what it does is not of its parent.
void abandon() noexcept;

}  // namespace refrain::files
