#include <catch2/catch.hpp>

#include "base/texts.h"

namespace refrain::base::quantity_text_test {

TEST_CASE("Quantities: bytes - three digits, in the unit that the rounded value reaches") {
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(999) == "999 bytes");
  CHECK(bytes_text(1000) == "1 kB");
  CHECK(bytes_text(12'345) == "12.3 kB");
  CHECK(bytes_text(999'499) == "999 kB");
  CHECK(bytes_text(999'600'000) == "1 GB");
  CHECK(bytes_text(1'234'000'000'000) == "1.23 TB");
}

TEST_CASE("Quantities: durations - so many digits, long ones in whole seconds") {
  CHECK(duration_text(0) == "0 ns");
  CHECK(duration_text(850.4) == "850 ns");
  CHECK(duration_text(999.96) == "1 us");
  CHECK(duration_text(12'345'678) == "12.35 ms");
  CHECK(duration_text(12'345'678, 3) == "12.3 ms");
  CHECK(duration_text(999.4e6, 3) == "999 ms");
  CHECK(duration_text(999.9e6, 3) == "1 s");
  CHECK(duration_text(3600e9) == "3600 s");
  CHECK(duration_text(1584e9, 3) == "1584 s");
  CHECK(duration_text(86'400e9) == "86400 s");
}

// 64 processes of 8 threads for a day.
TEST_CASE("Quantities: durations - of all threads of a long run, without an exponent") {
  CHECK(duration_text(44'236'800e9) == "44236800 s");
  CHECK(duration_text(44'236'800e9, 3) == "44236800 s");
}

}  // namespace refrain::base::quantity_text_test
