#include "tracer/runtime/notices.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/launcher.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::runtime {

void say(std::initializer_list<std::string_view> parts) noexcept {
  std::array<char, 1024> text;  // one write, so that lines of processes do not mix
  std::size_t size = 0;
  const auto add = [&](std::string_view part) {
    const std::size_t n = std::min(part.size(), text.size() - 1 - size);
    std::memcpy(text.data() + size, part.data(), n);
    size += n;
  };
  const recorder::LongPath long_path;
  add("refrain: ");
  for (const std::string_view part : parts) add(part);
  text[size++] = '\n';
  if (write(STDERR_FILENO, text.data(), size) < 0) return;
}

bool speaks_for_job() noexcept { return base::is_first_of_job(); }

}  // namespace refrain::runtime
