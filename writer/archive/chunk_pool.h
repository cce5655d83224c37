// Memory for libotf2's buffers, reused: a chunk that one location has written in goes to
// the next.
//
// Place in the flow: ARCHITECTURE.md, stage 5; otf2_archive.cc gives it to libotf2, which
// clears the rest of a buffer before writing it to its file. That touches every page,
// however few bytes there are, and a page touched before costs a tenth of a fresh one.
//
// Thread-safety: all. Ownership: owns the free chunks; a taken chunk belongs to its taker.
// Errors: null where there is no memory. Not for signal handlers.
// Cost: a lock and a pointer; for a fresh chunk, its pages at once.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace refrain::writer {

class ChunkPool {
 public:
  ChunkPool() = default;
  ~ChunkPool();
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  // The contents are undefined.
  void* take(std::size_t bytes) noexcept;
  void give_back(void* chunk, std::size_t bytes) noexcept;

  // The most bytes that were taken at one time, or that wait here.
  std::size_t bytes() const noexcept;

 private:
  struct Chunk {
    void* memory;
    std::size_t bytes;
  };
  mutable std::mutex mutex_;
  std::vector<Chunk> free_;
  std::size_t bytes_ = 0;  // of all chunks, taken or free
};

}  // namespace refrain::writer
