// The size of the terminal that standard output is.
//
// Thread-safety: none needed. Errors: where it is no terminal, and COLUMNS says nothing, 100 columns.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace refrain::tools {

struct TerminalSize {
  std::size_t columns = 100;
  std::size_t lines = 0;  // 0: no terminal
};

TerminalSize terminal_size();

// A line on the terminal that says how far a piece of work is, once it takes over a second.
//
// Writes to stderr, and only if that is a terminal. Thread-safety: none.

class ProgressBar {
 public:
  ProgressBar(std::string what, std::string unit);
  ~ProgressBar() { remove(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::uint64_t done, std::uint64_t total);
  void remove() noexcept;

 private:
  std::string what_, unit_;
  std::chrono::steady_clock::time_point start_, next_;
  bool on_terminal_;
  bool shown_ = false;
};

}  // namespace refrain::tools
