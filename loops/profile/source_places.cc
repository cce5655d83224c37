#include "loops/profile/source_places.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace refrain::loops {
namespace {

using writer::Symbol;

std::vector<std::string> module_texts(const RawProfile& raw) {
  std::vector<std::string> texts;
  for (const RawModule& module : raw.modules)
    if (!module.path.empty())
      texts.push_back(fmt::format("{:x} {:x} {:x} - {}", module.start, module.end,
                                  module.offset, module.path));
  return texts;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return text != nullptr && status == 0 ? std::string(text.get()) : name;
}

}  // namespace

SourcePlaces::SourcePlaces(const RawProfile& raw)
    : raw_(raw), resolver_(module_texts(raw)) {}

std::string SourcePlaces::symbol(std::uint64_t address) { return resolver_.at(address).elf_symbol; }

Place SourcePlaces::function(std::uint64_t address) {
  const Symbol& symbol = resolver_.at(address);
  Place place{symbol.function, symbol.file, symbol.line};
  if (!symbol.elf_symbol.empty() && symbol.linkage != symbol.elf_symbol)
    place.function = demangled(symbol.elf_symbol);
  return place;
}

Place SourcePlaces::loop(std::uint32_t number) {
  const RawLoop& loop = raw_.loops[number];
  const Symbol& head = resolver_.at(raw_.blocks[loop.head].address);
  Place place{head.function, head.file, head.line};
  for (const std::uint32_t latch : loop.latches) {
    const RawBlock& block = raw_.blocks[latch];
    const Symbol& back = resolver_.at(block.address + std::max(block.bytes, 1U) - 1);
    if (back.line == 0) continue;
    // Where the head's code was inlined, the jump back tells what the loop is in.
    const bool same = back.file == place.file && back.function == place.function;
    if (place.line == 0 || !same || back.line < place.line)
      place = {back.function, back.file, back.line};
  }
  return place;
}

bool SourcePlaces::is_all_at(const RawBlock& block, const Place& place) {
  for (std::uint32_t i = 0; i < block.bytes; ++i) {
    const Symbol& symbol = resolver_.at(block.address + i);
    if (symbol.line != 0 && (symbol.line != place.line || symbol.file != place.file)) return false;
  }
  return true;
}

bool SourcePlaces::counts_last(std::uint32_t number, const RawTrips& trips) {
  const RawLoop& loop = raw_.loops[number];
  if (trips.exit == kNone) return true;
  // At its end, where it may go back.
  if (std::ranges::find(loop.latches, trips.exit) != loop.latches.end()) return true;
  const Place place = this->loop(number);
  if (place.line == 0) return trips.exit != loop.head || !loop.head_leaves;
  // The test is what is at the loop's own line, in one block or in several: `i < n && a[i] != 0`.
  return !is_all_at(raw_.blocks[trips.exit], place) || !is_all_at(raw_.blocks[loop.head], place);
}

}  // namespace refrain::loops
