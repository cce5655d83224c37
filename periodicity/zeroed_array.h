// ZeroedArray: an array of fixed size that begins as zeros and takes memory only where it has been
// written.
//
// A histories' worth of megabytes in a program that has a hundred events would else cost what it
// takes to fill it, before the program's first line, and stay resident.
//
// Thread-safety: none. Cost: the constructor's is that of calloc, whatever the size: large ones come
// as pages of zeros. Errors: std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace refrain::periodicity {

template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit ZeroedArray(std::size_t size = 0)
      : values_(size == 0 ? nullptr : static_cast<T*>(std::calloc(size, sizeof(T)))),
        size_(size) {
    if (size != 0 && values_ == nullptr) throw std::bad_alloc();
  }

  std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t index) noexcept { return values_[index]; }
  const T& operator[](std::size_t index) const noexcept { return values_[index]; }

 private:
  struct Free {
    void operator()(T* values) const noexcept { std::free(values); }
  };
  std::unique_ptr<T[], Free> values_;
  std::size_t size_;
};

}  // namespace refrain::periodicity
