#include "tracer/runtime/notices.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/launcher.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::runtime {

namespace {

// What descriptor 2 was when the library was loaded, or at the first look, if that was earlier.
class FirstStderr {
 public:
  void look() noexcept {
    if (looked_) return;
    looked_ = true;
    open_ = recorder::identify(STDERR_FILENO, file_);
  }
  bool is_there() noexcept {
    look();
    recorder::FileIdentity now;
    return open_ && recorder::identify(STDERR_FILENO, now) && now == file_;
  }

 private:
  bool looked_ = false;
  bool open_ = false;
  recorder::FileIdentity file_;
};
constinit FirstStderr g_stderr;

__attribute__((constructor(1000))) void look_at_stderr() { g_stderr.look(); }

}  // namespace

bool stderr_is_ours() noexcept { return g_stderr.is_there(); }

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
  if (stderr_is_ours() && write(STDERR_FILENO, text.data(), size) < 0) return;
}

bool speaks_for_job() noexcept { return base::is_first_of_job(); }

namespace {
constinit std::atomic<const char*> g_untraced_runtime{nullptr};
}  // namespace

void note_untraced_runtime(const char* path) noexcept { g_untraced_runtime.store(path); }

const char* untraced_runtime() noexcept { return g_untraced_runtime.load(); }

}  // namespace refrain::runtime
