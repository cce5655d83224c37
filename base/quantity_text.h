// Times and sizes as text, for whoever prints them.
//
// Thread-safety: pure.
#pragma once

#include <cstdint>
#include <string>

namespace refrain::base {

// "1.5 s", "12.35 ms", "850 ns", "5530000 s": with so many digits, in the largest unit in which the rounded value is at
// least 1; whole seconds where they are more than these digits. Nanoseconds are whole.
std::string duration_text(double nanoseconds, int digits = 4);

// "12.3 MB", "850 bytes".
std::string bytes_text(std::uint64_t bytes);

}  // namespace refrain::base
