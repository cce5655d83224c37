#include "tracer/recorder/core_time.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {

CoreTime core_time_of(pid_t thread) noexcept {
  const SlowPath slow_path;
  char path[64] = "/proc/self/task/";
  char* const number = path + sizeof("/proc/self/task/") - 1;
  char* const end = std::to_chars(number, path + sizeof path - 16, thread).ptr;
  std::snprintf(end, 16, "/schedstat");
  const int file = open_apart(AT_FDCWD, path, O_RDONLY);
  if (file < 0) return {};
  char text[96];
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  if (length <= 0) return {};
  CoreTime time;
  const auto [rest, error] = std::from_chars(text, text + length, time.on_ns);
  if (error != std::errc() || rest == text + length ||
      std::from_chars(rest + 1, text + length, time.waiting_ns).ec != std::errc())
    return {};
  return time;
}

}  // namespace refrain::recorder
