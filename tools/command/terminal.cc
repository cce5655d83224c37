#include "tools/command/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace refrain::tools {
namespace {

constexpr std::size_t kMin = 60;
constexpr std::size_t kMax = 200;

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
  out.columns = std::clamp(out.columns, kMin, kMax);
  return out;
}

}  // namespace refrain::tools

namespace refrain::tools {
namespace {

constexpr std::chrono::milliseconds kBefore{1000};
constexpr std::chrono::milliseconds kBetween{100};
constexpr std::size_t kWidth = 30;

}  // namespace

ProgressBar::ProgressBar(std::string what, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      start_(std::chrono::steady_clock::now()),
      next_(start_ + kBefore),
      on_terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressBar::show(std::uint64_t done, std::uint64_t total) {
  if (!on_terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kBetween;
  shown_ = true;
  const double share =
      total == 0 ? 0.0
                 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const auto filled = static_cast<std::size_t>(share * kWidth);
  fmt::print(stderr, "\r{} [{}{}] {:3.0f} %  {:.1f} M {}, {:.1f} M/s", what_,
             std::string(filled, '='), std::string(kWidth - filled, ' '), 100 * share,
             static_cast<double>(done) / 1e6, unit_,
             static_cast<double>(done) / 1e6 / seconds);
  std::fflush(stderr);
}

void ProgressBar::remove() noexcept {
  if (!shown_) return;
  shown_ = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace refrain::tools
