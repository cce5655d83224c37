#include "tracer/runtime/messages.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace refrain::runtime {

void say(std::string_view line) noexcept {
  constexpr std::string_view kPrefix = "refrain: ";
  std::array<char, 1024> text;  // one write, so that lines of processes do not mix
  const std::size_t n = std::min(line.size(), text.size() - kPrefix.size() - 1);
  std::memcpy(text.data(), kPrefix.data(), kPrefix.size());
  std::memcpy(text.data() + kPrefix.size(), line.data(), n);
  text[kPrefix.size() + n] = '\n';
  if (write(STDERR_FILENO, text.data(), kPrefix.size() + n + 1) < 0) return;
}

}  // namespace refrain::runtime
