// Common parts of the fuzz targets: each is a function of bytes that returns for any input, or
// aborts with a line that says what is wrong.
//
// A target is built twice (fuzz.bzl): with libFuzzer, which searches inputs by coverage
// (tools/check fuzz), and with all others as one program, which the tests call: it runs the kept
// inputs of one of them (corpus/, pack.h) and random changes of them (replay.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace refrain::fuzz {

// All of them, in the program of the tests.
struct Target {
  std::string_view name;
  decltype(&LLVMFuzzerTestOneInput) run;
};
extern const Target kTargets[];
extern const std::size_t kTargetCount;

inline void require(bool condition, const char* what, const std::string& detail = "") {
  if (condition) return;
  std::fprintf(stderr, "fuzz: not so: %s%s%s\n", what, detail.empty() ? "" : ": ",
               detail.c_str());
  std::abort();
}

inline bool one_line(std::string_view text) {
  return text.find_first_of("\n\r") == std::string_view::npos;
}

// Splits an input; after its end it gives zeros.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}
  bool empty() const { return rest_.empty(); }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes && i < rest_.size(); ++i)
      value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << 8 * i;
    rest_.remove_prefix(bytes < rest_.size() ? bytes : rest_.size());
    return value;
  }
  std::string_view text(std::size_t bytes) {
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  // Up to this character, which is left out.
  std::string_view until(char end) {
    const std::string_view taken = rest_.substr(0, rest_.find(end));
    rest_.remove_prefix(taken.size() < rest_.size() ? taken.size() + 1 : taken.size());
    return taken;
  }
  std::string_view rest() { return text(rest_.size()); }

 private:
  std::string_view rest_;
};

}  // namespace refrain::fuzz
