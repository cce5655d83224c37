#include "tracer/recorder/memory_reserve.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "base/hot_data.h"

namespace refrain::recorder {

constinit REFRAIN_HOT_DATA std::atomic<bool> g_memory_ran_out{false};

namespace {

constexpr std::size_t kPieces = 16;

std::array<std::atomic<void*>, kPieces> g_pieces{};
void on_no_memory() {
  if (!give_back_memory()) throw std::bad_alloc();
}

}  // namespace

void keep_memory_reserve() noexcept {
  static std::atomic<bool> kept{false};
  if (kept.exchange(true)) return;
  for (std::atomic<void*>& piece : g_pieces) piece.store(std::malloc(kMemoryPiece));
  std::set_new_handler(on_no_memory);
}

bool give_back_memory() noexcept {
  g_memory_ran_out.store(true, std::memory_order_relaxed);
  for (std::atomic<void*>& piece : g_pieces)
    if (void* memory = piece.exchange(nullptr); memory != nullptr) {
      std::free(memory);
      return true;
    }
  return false;
}

}  // namespace refrain::recorder
