#include "tools/command/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace refrain::tools {
namespace {

constexpr std::size_t kFewest = 60;
constexpr std::size_t kMost = 200;

std::size_t number_in(const char* variable) {
  const char* text = std::getenv(variable);
  std::size_t value = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace

TerminalSize terminal_size() {
  TerminalSize out;
  winsize size{};
  if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    if (size.ws_col != 0) out.columns = size.ws_col;
    out.lines = size.ws_row;
  }
  if (const std::size_t wanted = number_in("COLUMNS"); wanted != 0) out.columns = wanted;
  out.columns = std::clamp(out.columns, kFewest, kMost);
  return out;
}

}  // namespace refrain::tools
