// The function that comes after ours in the loader's order, where a library of ours stands before the C library's functions.
//
// Place in the flow: ARCHITECTURE.md, stage 2. To be asked for once when the library is loaded: later the loader's lock may be another thread's,
// which waits for this one in a constructor.
// Thread-safety: any thread. errno stays. Needs no C++ library; constinit. Cost: get() a load.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cerrno>

namespace refrain::base {

template <typename Function>
class NextFunction {
 public:
  // `name` must live for ever.
  explicit constexpr NextFunction(const char* name) noexcept : name_(name) {}
  // Null: there is none.
  Function* get() noexcept {
    Function* function = found_.load(std::memory_order_relaxed);
    if (function == nullptr) [[unlikely]] {
      const int kept = errno;
      function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
      found_.store(function, std::memory_order_relaxed);
      errno = kept;
    }
    return function;
  }

 private:
  const char* name_;
  std::atomic<Function*> found_{nullptr};
};

}  // namespace refrain::base
