#include "writer/allocation_paths.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "regions/region_table.h"
#include "spool/memory_reader.h"

namespace refrain::writer {
namespace {

constexpr std::size_t kMaxPathsOfSummary = 512;

// The start of the program or of a thread, which all paths have in common.
bool is_start(const base::CallingPlace& place) {
  for (const std::string_view name : {"_start", "start_thread", "clone", "clone3"})
    if (place.function == name) return true;
  return place.function.starts_with("__libc_start_");
}

// Has a line, and none of the system's headers.
bool is_own_source(const base::CallingPlace& place) {
  return !place.file.empty() && !place.file.starts_with("/usr/") &&
         place.file.find("/c++/") == std::string::npos;
}

bool is_of_language(const base::CallingPlace& place) {
  for (const std::string_view begin :
       {"libc.so", "ld-linux", "libstdc++.so", "libc++.so", "libgfortran.so"})
    if (place.module.starts_with(begin)) return true;
  return place.function.starts_with("operator new");
}

class PathNames {
 public:
  explicit PathNames(const ProcessModel& model) : model_(model) {}

  base::AllocatingPath path(const spool::MemoryTable::Path& from) {
    base::AllocatingPath out{.frames = {}, .at = 0, .use = from.use};
    for (const std::uint64_t address : from.frames) {
      const addresses::Place& known = model_.resolver().at_call(address);
      if (known.module.starts_with("librefrain")) continue;  // around calls of MPI
      const std::uint32_t place = index_of(known, address);
      if (!out.frames.empty() && is_start(places_[place])) break;
      out.frames.push_back(place);
      if (places_[place].function == "main") break;
    }
    out.at = own(out.frames, is_own_source);
    if (out.at == out.frames.size()) out.at = own(out.frames, std::not_fn(is_of_language));
    if (out.at == out.frames.size()) out.at = 0;
    return out;
  }
  std::vector<base::CallingPlace> take() { return std::move(places_); }

 private:
  template <typename Is>
  std::uint32_t own(const std::vector<std::uint32_t>& frames, Is is) const {
    const auto found = std::ranges::find_if(
        frames, [&](std::uint32_t place) { return is(places_[place]); });
    return static_cast<std::uint32_t>(found - frames.begin());
  }

  std::uint32_t index_of(const addresses::Place& known, std::uint64_t address) {
    base::CallingPlace place{.function = regions::function_name(known, address),
                             .file = known.file,
                             .line = known.line,
                             .module = known.module};
    const auto next = static_cast<std::uint32_t>(places_.size());
    const auto [at, is_new] = numbers_.try_emplace(place, next);
    if (is_new) places_.push_back(std::move(place));
    return at->second;
  }

  const ProcessModel& model_;
  std::map<base::CallingPlace, std::uint32_t> numbers_;
  std::vector<base::CallingPlace> places_;
};

// Those with most at the high-water mark come first, then those with most calls. Of each there are enough.
std::vector<const spool::MemoryTable::Path*> chosen(const spool::MemoryTable& table) {
  std::vector<const spool::MemoryTable::Path*> all;
  all.reserve(table.paths.size());
  for (const spool::MemoryTable::Path& path : table.paths) all.push_back(&path);
  const auto by = [&](auto value) {
    std::ranges::stable_sort(all, std::greater(), [&](const auto* path) {
      return std::invoke(value, path->use);
    });
  };
  const auto by_use = [](const base::MemoryUse& use) {
    return std::tuple(use.high_water_bytes, use.current_bytes, use.bytes, use.calls);
  };
  std::set<const spool::MemoryTable::Path*> kept;
  const auto keep = [&] {
    const std::size_t count = std::min(all.size(), kMaxPathsOfSummary / 4);
    kept.insert(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  };
  by(&base::MemoryUse::calls), keep();
  by(&base::MemoryUse::bytes), keep();
  by(&base::MemoryUse::current_bytes), keep();
  by(by_use), keep();
  std::erase_if(all, [&](const auto* path) { return !kept.contains(path); });
  return all;
}

}  // namespace

base::MemoryCalls allocations_of(const ProcessModel& model) {
  const spool::MemoryTable& table = model.memory();
  base::MemoryCalls out = table.totals;
  if (table.empty()) return out;
  PathNames names(model);
  const std::vector<const spool::MemoryTable::Path*> paths = chosen(table);
  for (const spool::MemoryTable::Path* const path : paths) {
    base::AllocatingPath named = names.path(*path);
    if (named.frames.empty())
      out.rest.add(path->use);
    else
      out.paths.push_back(std::move(named));
  }
  const std::set<const spool::MemoryTable::Path*> kept(paths.begin(), paths.end());
  for (const spool::MemoryTable::Path& path : table.paths)
    if (!kept.contains(&path)) out.rest.add(path.use);
  out.places = names.take();
  return out;
}

}  // namespace refrain::writer
