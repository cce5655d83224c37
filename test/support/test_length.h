// How much of a test is run: what is enough to see that each capability works (tools/test), or all of it
// (tools/check long, where REFRAIN_TEST_LENGTH is "long").
//
// Thread-safety: one thread. Ownership: plain values.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace refrain::test {

// "whole" is for runs by hand: it takes hours.
enum class TestLength { kShort, kLong, kWhole };

inline TestLength test_length() {
  const char* length = std::getenv("REFRAIN_TEST_LENGTH");
  if (length == nullptr) return TestLength::kShort;
  return std::string_view(length) == "whole" ? TestLength::kWhole : TestLength::kLong;
}

// Of many cases of one kind, which the short form runs: one of five, always the same ones. Five, for what
// is tried with each of two, three or four others would otherwise be tried with one of them only.
class SomeCases {
 public:
  // To be called once for each case, in their order.
  bool runs_next() {
    const bool chosen = next_++ % 5 == 0;
    return chosen || test_length() != TestLength::kShort;
  }

 private:
  std::size_t next_ = 0;
};

}  // namespace refrain::test
