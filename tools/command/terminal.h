// The size of the terminal that standard output is.
//
// Thread-safety: none needed. Errors: where it is no terminal, and COLUMNS says nothing, 100 columns.
#pragma once

#include <cstddef>

namespace refrain::tools {

struct TerminalSize {
  std::size_t columns = 100;
  std::size_t lines = 0;  // 0: no terminal
};

TerminalSize terminal_size();

}  // namespace refrain::tools
