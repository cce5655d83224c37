#include "writer/archive/chunk_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace refrain::writer {
namespace {

// All pages in one call. Kernels before 5.14 provide them one by one, as they are touched.
void touch(void* memory, std::size_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) & ~(page - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) & ~(page - 1);
  if (begin < end)
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
#endif
}

}  // namespace

ChunkPool::~ChunkPool() {
  for (const Chunk& chunk : free_) std::free(chunk.memory);
}

void* ChunkPool::take(std::size_t bytes) noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto chunk = std::find_if(free_.rbegin(), free_.rend(),
                                    [&](const Chunk& c) { return c.bytes == bytes; });
    if (chunk != free_.rend()) {
      void* const memory = chunk->memory;
      *chunk = free_.back();
      free_.pop_back();
      return memory;
    }
  }
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) return nullptr;
  touch(memory, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  bytes_ += bytes;
  return memory;
}

void ChunkPool::give_back(void* chunk, std::size_t bytes) noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      free_.push_back({chunk, bytes});
      return;
    } catch (...) {
      bytes_ -= bytes;
    }
  }
  std::free(chunk);
}

std::size_t ChunkPool::bytes() const noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace refrain::writer
