#include "base/thread_use.h"

#include <bit>
#include <charconv>

namespace refrain::base {
namespace {

// Takes a number of `text`; false if none is there, or it is no core's.
bool take_core(std::string_view& text, std::size_t& core) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), core);
  if (error != std::errc() || core >= CoreSet::kMax) return false;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return true;
}

}  // namespace

CoreSet CoreSet::parse(std::string_view text) {
  CoreSet out;
  while (!text.empty()) {
    std::size_t first = 0;
    if (!take_core(text, first)) return {};
    std::size_t last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!take_core(text, last) || last < first) return {};
    }
    for (std::size_t core = first; core <= last; ++core)
      out.words_[core / 64] |= std::uint64_t{1} << core % 64;
    if (text.empty()) return out;
    if (!text.starts_with(',')) return {};
    text.remove_prefix(1);
  }
  return {};
}

std::size_t CoreSet::size() const noexcept {
  std::size_t number = 0;
  for (const std::uint64_t word : words_)
    number += static_cast<std::size_t>(std::popcount(word));
  return number;
}

bool CoreSet::contains(const CoreSet& other) const noexcept {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if ((other.words_[i] & ~words_[i]) != 0) return false;
  return true;
}

void CoreSet::add(const CoreSet& other) noexcept {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
}

std::string CoreSet::text() const {
  const auto has = [&](std::size_t core) {
    return core < kMax && (words_[core / 64] >> core % 64 & 1) != 0;
  };
  std::string out;
  for (std::size_t core = 0; core < kMax; ++core) {
    if (!has(core)) continue;
    if (!out.empty()) out += ',';
    out += std::to_string(core);
    const std::size_t first = core;
    while (has(core + 1)) ++core;
    if (core != first) out += '-' + std::to_string(core);
  }
  return out;
}

void ThreadUse::add(const ThreadUse& other) noexcept {
  for (const ThreadUseNumber& number : kThreadUseNumbers)
    this->*number.value += other.*number.value;
  cores.add(other.cores);
}

}  // namespace refrain::base
