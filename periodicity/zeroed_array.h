// ZeroedArray: an array of fixed size that begins as zeros and takes memory only where it has been
// written.
//
// Otherwise megabytes of history in a program with a hundred events would have to be filled before
// the program's first line, and stay resident.
//
// Thread-safety: none. Cost: construction is one mapping, or for small arrays a calloc, which would
// clear larger ones that do not come fresh from the system. Errors: std::bad_alloc.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace refrain::periodicity {

// Called when large arrays are mapped and unmapped, from any thread. Set once, before the first; null: none.
using OnArray = void (*)(void* begin, std::size_t bytes, bool comes);
inline constinit OnArray g_on_array = nullptr;

template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit ZeroedArray(std::size_t size = 0)
      : values_(allocated(size), Free{size * sizeof(T)}), size_(size) {
    if (size != 0 && values_ == nullptr) throw std::bad_alloc();
  }

  std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t index) noexcept { return values_[index]; }
  const T& operator[](std::size_t index) const noexcept { return values_[index]; }

 private:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kMapped = ~std::size_t{0};  // it checks the heap only
#else
  static constexpr std::size_t kMapped = 16 << 10;  // from this many bytes on
#endif

  static T* allocated(std::size_t size) noexcept {
    std::size_t bytes = 0;
    if (size == 0 || __builtin_mul_overflow(size, sizeof(T), &bytes)) return nullptr;
    if (bytes < kMapped) return static_cast<T*>(std::calloc(1, bytes));
    void* const pages =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return nullptr;
    if (g_on_array != nullptr) g_on_array(pages, bytes, true);
    return static_cast<T*>(pages);
  }
  struct Free {
    std::size_t bytes = 0;
    void operator()(T* values) const noexcept {
      if (bytes < kMapped) {
        std::free(values);
        return;
      }
      if (g_on_array != nullptr) g_on_array(values, bytes, false);
      munmap(values, bytes);
    }
  };
  std::unique_ptr<T[], Free> values_;
  std::size_t size_;
};

}  // namespace refrain::periodicity
