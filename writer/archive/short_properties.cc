#include "writer/archive/short_properties.h"

#include <algorithm>
#include <numeric>

namespace refrain::writer {
namespace {

constexpr const char* kLoops = "REFRAIN::LOOPS";
constexpr const char* kShortened = "REFRAIN::SHORTENED";
constexpr const char* kMore = " ...";
constexpr std::size_t kNamesOfBody = 8;
// At least the bytes of a property in the anchor file besides its name and value.
constexpr std::size_t kBytesOfProperty = 64;

std::size_t bytes_of(const Properties& properties) {
  std::size_t sum = 0;
  for (const auto& [name, value] : properties)
    sum += name.size() + value.size() + kBytesOfProperty;
  return sum;
}

bool inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// The `count` loops that took the longest, in their original order.
std::vector<LoopSummary> longest(const std::vector<LoopSummary>& loops, std::size_t count) {
  std::vector<std::size_t> order(loops.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return loops[a].total_ns > loops[b].total_ns;
  });
  order.resize(count);
  std::sort(order.begin(), order.end());
  std::vector<LoopSummary> out;
  out.reserve(order.size());
  for (const std::size_t i : order) out.push_back(loops[i]);
  return out;
}

std::string short_loops(std::vector<LoopSummary> loops, std::size_t most_bytes) {
  for (LoopSummary& loop : loops)
    if (loop.body.size() > kNamesOfBody) loop.body.resize(kNamesOfBody);
  std::string text = loops_json(loops);
  if (text.size() <= most_bytes) return text;
  std::size_t fits = 0, too_many = loops.size();
  while (fits + 1 < too_many) {
    const std::size_t middle = fits + (too_many - fits) / 2;
    (loops_json(longest(loops, middle)).size() <= most_bytes ? fits : too_many) = middle;
  }
  return loops_json(longest(loops, fits));
}

}  // namespace

std::string beginning(const std::string& text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  std::size_t end = most_bytes;
  for (int back = 0; back < 3 && end > 0 && inside_character(text[end]); ++back) --end;
  return text.substr(0, end) + kMore;
}

Properties shortened(Properties properties, const std::vector<LoopSummary>& loops,
                     std::size_t most_bytes) {
  if (bytes_of(properties) <= most_bytes) return properties;
  std::vector<std::string> incomplete;
  const auto mark_incomplete = [&](const std::string& name) {
    if (std::find(incomplete.begin(), incomplete.end(), name) == incomplete.end())
      incomplete.push_back(name);
  };
  const auto all_loops =
      std::find_if(properties.begin(), properties.end(),
                   [](const auto& property) { return property.first == kLoops; });
  Properties::value_type kept;
  if (all_loops != properties.end()) {
    kept = std::move(*all_loops);
    properties.erase(all_loops);
  }
  // Texts may use half of the room, each up to the same length.
  for (std::size_t each = most_bytes / 4;
       each > 64 && bytes_of(properties) > most_bytes / 2; each /= 2)
    for (auto& [name, value] : properties)
      if (value.size() > each + 8) {
        value = beginning(value, each);
        mark_incomplete(name);
      }
  if (!kept.first.empty()) {
    const std::size_t used = bytes_of(properties) + kBytesOfProperty * 8;
    const std::size_t room = used < most_bytes ? most_bytes - used : 0;
    if (kept.second.size() > room) {
      kept.second = short_loops(loops, room);
      mark_incomplete(kept.first);
    }
    properties.push_back(std::move(kept));
  }
  std::string names;
  for (const std::string& name : incomplete) names += (names.empty() ? "" : ",") + name;
  properties.emplace_back(kShortened, names);
  return properties;
}

}  // namespace refrain::writer
