// Memory of libotf2's buffers, used again: what one location has written in is what the next one
// gets.
//
// Place in the flow: ARCHITECTURE.md, step 7; otf2_archive.cc gives it to libotf2, which clears what
// is left of a buffer when it writes it to its file: every page of it is touched, however few bytes
// there are, and a page that was touched before costs a tenth of a fresh one.
//
// Thread-safety: all. Ownership: of the chunks that nobody has; those that were taken are the
// taker's. Errors: null where there is no memory. Not for signal handlers.
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

  // What is in it is anything.
  void* take(std::size_t bytes) noexcept;
  void give_back(void* chunk, std::size_t bytes) noexcept;

  // At most so many bytes were taken at one time, or wait here.
  std::size_t bytes() const noexcept;

 private:
  struct Chunk {
    void* memory;
    std::size_t bytes;
  };
  mutable std::mutex mutex_;
  std::vector<Chunk> free_;
  std::size_t bytes_ = 0;  // of all, taken or not
};

}  // namespace refrain::writer
