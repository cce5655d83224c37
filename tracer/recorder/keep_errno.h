// While one of these lives the program's errno is put by; its end gives it back. For the
// slow paths of the tracer, which make system calls in the middle of the program's code.
#pragma once

#include <cerrno>

namespace refrain::recorder {

class KeepErrno {
 public:
  KeepErrno() noexcept : kept_(errno) {}
  ~KeepErrno() { errno = kept_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  const int kept_;
};

}  // namespace refrain::recorder
