#include "code_profile/source_places.h"

#include <fmt/format.h>

#include <algorithm>

#include "code/debug_index.h"

namespace refrain::code_profile {
namespace {

std::vector<std::string> module_texts(const RawProfile& raw) {
  std::vector<std::string> texts;
  for (const RawModule& module : raw.modules)
    if (!module.path.empty())
      texts.push_back(fmt::format("{:x} {:x} {:x} - {}", module.start, module.end,
                                  module.offset, module.path));
  return texts;
}

}  // namespace

SourcePlaces::SourcePlaces(const RawProfile& raw)
    : raw_(raw), resolver_(module_texts(raw)) {}

std::string SourcePlaces::symbol(std::uint64_t address) {
  return resolver_.at(address).elf_symbol;
}

Place SourcePlaces::function(std::uint64_t address) {
  const addresses::Place& symbol = resolver_.at(address);
  Place place{symbol.function, symbol.file, symbol.line};
  if (!symbol.elf_symbol.empty() && symbol.linkage != symbol.elf_symbol)
    place.function = code::demangled(symbol.elf_symbol.c_str());
  return place;
}

// Of the first statement that begins in the block: what goes on from the code in front of it may be anything.
Place SourcePlaces::first_in(const RawBlock& block) {
  const addresses::Place& first = resolver_.at(block.address);
  Place place{first.function, first.file, first.line};
  const addresses::Place& before = resolver_.at(block.address - 1);
  if (before.line != place.line || before.file != place.file) return place;
  for (std::uint32_t i = 1; i < block.bytes; ++i) {
    const addresses::Place& symbol = resolver_.at(block.address + i);
    if (symbol.line != 0 && (symbol.line != place.line || symbol.file != place.file))
      return {symbol.function, symbol.file, symbol.line};
  }
  return place;
}

Place SourcePlaces::loop(std::uint32_t number) {
  const auto [known, is_new] = loops_.try_emplace(number);
  Place& place = known->second;
  if (!is_new) return place;
  const RawLoop& loop = raw_.loops[number];
  place = first_in(raw_.blocks[loop.head]);
  for (const std::uint32_t latch : loop.latches) {
    const RawBlock& block = raw_.blocks[latch];
    const addresses::Place& back =
        resolver_.at(block.address + std::max(block.bytes, 1U) - 1);
    if (back.line == 0) continue;
    // Where the head's code was inlined, the jump back tells what the loop is in.
    const bool same = back.file == place.file && back.function == place.function;
    if (place.line == 0 || !same || back.line < place.line)
      place = {back.function, back.file, back.line};
  }
  return place;
}

// Does it end with an instruction of the line?
bool SourcePlaces::ends_at(const RawBlock& block, const Place& place) {
  const addresses::Place& last =
      resolver_.at(block.address + std::max(block.bytes, 1U) - 1);
  return last.line == place.line && last.file == place.file;
}

bool SourcePlaces::counts_last(std::uint32_t number, const RawTrips& trips) {
  const RawLoop& raw = raw_.loops[number];
  if (trips.exit == kNone) return true;
  // At its end, where it may go back.
  if (std::ranges::find(raw.latches, trips.exit) != raw.latches.end()) return true;
  const Place place = loop(number);
  if (place.line == 0) return trips.exit != raw.head || !raw.head_leaves;
  // The test is what is at the loop's own line, in one block or in several: `i < n && a[i] != 0`.
  std::vector<std::uint32_t> test{raw.head};
  for (std::size_t i = 0; i < test.size(); ++i) {
    const RawBlock& block = raw_.blocks[test[i]];
    if (!ends_at(block, place)) continue;
    if (test[i] == trips.exit) return false;
    for (const std::uint32_t next : block.jumps)
      if (std::ranges::find(test, next) == test.end()) test.push_back(next);
  }
  return true;
}

}  // namespace refrain::code_profile
