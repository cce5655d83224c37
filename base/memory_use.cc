#include "base/memory_use.h"

#include <functional>
#include <map>

#include "base/texts.h"

namespace refrain::base {

void MemoryUse::add(const MemoryUse& other) noexcept {
  for (const MemoryUseNumber& number : kMemoryUseNumbers)
    this->*number.value += other.*number.value;
}

std::uint64_t MemoryCalls::allocations() const noexcept {
  std::uint64_t sum = 0;
  for (const SizeClassUse& size : sizes) sum += size.calls;
  return sum;
}

std::uint64_t MemoryCalls::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const SizeClassUse& size : sizes) sum += size.bytes;
  return sum;
}

std::string place_text(const CallingPlace& place) {
  std::string text = place.function;
  // Not those of a function's own name: "(anonymous namespace)::f", "operator()".
  const std::size_t arguments = text.find('(', 1);
  if (arguments != std::string::npos && text.back() == ')' &&
      !text.substr(0, arguments).ends_with("operator"))
    text.resize(arguments);
  const auto name = [](const std::string& path) {
    return path.substr(path.rfind('/') + 1);
  };
  if (!place.file.empty())
    return text + " " + name(place.file) + ":" + std::to_string(place.line);
  return text.starts_with(place.module) ? text : text + " (" + place.module + ")";
}

std::vector<MemoryHolder> memory_holders(const MemoryCalls& calls,
                                         std::uint64_t MemoryUse::*value) {
  std::map<std::string, std::uint64_t> sums;
  for (const AllocatingPath& path : calls.paths)
    sums[place_text(calls.places.at(path.frames.at(path.at)))] += path.use.*value;
  sums["blocks of less than " + bytes_text(calls.from_bytes)] += calls.small.*value;
  sums["other call paths"] += calls.rest.*value;
  std::vector<MemoryHolder> holders;
  for (const auto& [text, bytes] : sums)
    if (bytes != 0) holders.push_back({text, bytes});
  std::ranges::stable_sort(holders, std::greater(), &MemoryHolder::bytes);
  return holders;
}

}  // namespace refrain::base
