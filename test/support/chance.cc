#include "test/support/chance.h"

#include <random>
#include <utility>

namespace refrain::test {
namespace {

constexpr std::uint64_t kLongestRun = 8;

double fraction(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

std::uint64_t scrambled(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace

const char* text(ChanceKind kind) {
  switch (kind) {
    case ChanceKind::kOptional:
      return "optional";
    case ChanceKind::kSwapped:
      return "swapped";
    case ChanceKind::kRepeated:
      return "repeated";
    default:
      return "mixed";
  }
}

bool depends_on_timing(std::uint64_t symbol, const Chance& chance) {
  return fraction(scrambled(symbol * 1000003 + chance.program)) < 1.0 / 3;
}

Stream with_chance(const Stream& stream, const Chance& chance) {
  std::mt19937_64 random(chance.run * 7919 + chance.program * 31 +
                         static_cast<std::uint64_t>(chance.kind));
  const auto happens = [&] { return fraction(random()) < chance.probability; };
  const bool all = chance.kind == ChanceKind::kMixed;
  Stream result;
  for (const auto symbol : stream) {
    const bool optional = all || chance.kind == ChanceKind::kOptional;
    if (optional && depends_on_timing(symbol, chance) && happens()) continue;
    result.push_back(symbol);
  }
  for (std::size_t i = 0; i + 1 < result.size(); ++i) {
    if (!all && chance.kind != ChanceKind::kSwapped) break;
    const bool either =
        depends_on_timing(result[i], chance) || depends_on_timing(result[i + 1], chance);
    if (result[i] == result[i + 1] || !either || !happens()) continue;
    std::swap(result[i], result[i + 1]);
    ++i;
  }
  if (!all && chance.kind != ChanceKind::kRepeated) return result;
  Stream repeated;
  for (const auto symbol : result) {
    repeated.push_back(symbol);
    if (!depends_on_timing(symbol, chance)) continue;
    for (std::uint64_t k = 0; k < kLongestRun && happens(); ++k) repeated.push_back(symbol);
  }
  return repeated;
}

Stream without_timing(const Stream& stream, const Chance& chance) {
  Stream result;
  for (const auto symbol : stream)
    if (!depends_on_timing(symbol, chance)) result.push_back(symbol);
  return result;
}

}  // namespace refrain::test
