#include "tracer/recorder/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {
namespace {

// "NAME   NUMBER kB"; 0: there is no such line.
std::uint64_t bytes_after(std::string_view text, std::string_view name) noexcept {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return 0;
  const std::size_t digit = text.find_first_of("0123456789", at + name.size());
  if (digit == std::string_view::npos) return 0;
  std::uint64_t kib = 0;
  std::from_chars(text.data() + digit, text.data() + text.size(), kib);
  return kib * 1024;
}

}  // namespace

ProcessMemory process_memory() noexcept {
  const SlowPath slow_path;
  const int file = open_apart(AT_FDCWD, "/proc/self/status", O_RDONLY);
  if (file < 0) return {};
  char text[2048];
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  if (length <= 0) return {};
  const std::string_view all(text, static_cast<std::size_t>(length));
  return {bytes_after(all, "\nVmRSS:"), bytes_after(all, "\nVmHWM:")};
}

}  // namespace refrain::recorder
