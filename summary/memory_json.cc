#include "summary/memory_json.h"

#include <nlohmann/json.hpp>

#include "summary/summary_json.h"

namespace refrain::summary::summary_json {
namespace {

struct MemoryNumber {
  const char* name;
  std::uint64_t base::MemoryCalls::*value;
};
constexpr MemoryNumber kMemoryNumbers[] = {
    {"from_bytes", &base::MemoryCalls::from_bytes},
    {"failed", &base::MemoryCalls::failed},
    {"high_water_bytes", &base::MemoryCalls::high_water_bytes},
    {"high_water_ticks", &base::MemoryCalls::high_water_ticks},
    {"current_bytes", &base::MemoryCalls::current_bytes},
    {"unknown_frees", &base::MemoryCalls::unknown_frees},
    {"untracked", &base::MemoryCalls::untracked},
};

json use_to_json(const base::MemoryUse& use) {
  json out = json::object();
  for (const base::MemoryUseNumber& number : base::kMemoryUseNumbers)
    if (use.*number.value != 0) out[number.name] = use.*number.value;
  return out;
}

base::MemoryUse use_of(const json& from) {
  base::MemoryUse use;
  for (const base::MemoryUseNumber& each : base::kMemoryUseNumbers)
    if (from.contains(each.name)) use.*each.value = number(from[each.name], each.name);
  return use;
}

base::CallingPlace place_of(const json& from) {
  return {.function = text(member(from, "function"), "function"),
          .file = text(member(from, "file"), "file"),
          .line = small(member(from, "line"), "line"),
          .module = text(member(from, "module"), "module")};
}

base::AllocatingPath path_of(const json& from, std::size_t places) {
  base::AllocatingPath path;
  for (const json& frame : list(member(from, "frames"), "frames")) {
    path.frames.push_back(small(frame, "frame"));
    if (path.frames.back() >= places) fail("'frames' leads nowhere");
  }
  path.at = small(member(from, "at"), "at");
  if (path.at >= path.frames.size()) fail("'at' leads nowhere");
  path.use = use_of(from);
  return path;
}

}  // namespace

json to_json(const base::MemoryCalls& calls) {
  json out = json::object();
  for (const MemoryNumber& each : kMemoryNumbers) out[each.name] = calls.*each.value;
  for (std::size_t i = 0; i < calls.calls.size(); ++i)
    out[base::kAllocationCallNames[i]] = calls.calls[i];
  json sizes = json::array();
  for (const base::SizeClassUse& size : calls.sizes)
    sizes.push_back({size.calls, size.bytes});
  out["sizes"] = std::move(sizes);
  out["small"] = use_to_json(calls.small);
  out["rest"] = use_to_json(calls.rest);
  json places = json::array();
  for (const base::CallingPlace& place : calls.places)
    places.push_back({{"function", place.function},
                      {"file", place.file},
                      {"line", place.line},
                      {"module", place.module}});
  out["places"] = std::move(places);
  json paths = json::array();
  for (const base::AllocatingPath& path : calls.paths) {
    json row = use_to_json(path.use);
    row["frames"] = path.frames;
    row["at"] = path.at;
    paths.push_back(std::move(row));
  }
  out["paths"] = std::move(paths);
  return out;
}

base::MemoryCalls memory_calls_of(const json& from) {
  base::MemoryCalls calls;
  for (const MemoryNumber& each : kMemoryNumbers)
    calls.*each.value = number(member(from, each.name), each.name);
  for (std::size_t i = 0; i < calls.calls.size(); ++i)
    calls.calls[i] = number(member(from, base::kAllocationCallNames[i]), "calls");
  const json& sizes = list(member(from, "sizes"), "sizes");
  if (sizes.size() > calls.sizes.size()) fail("'sizes' has too many");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!sizes[i].is_array() || sizes[i].size() != 2) fail("'sizes' has no pairs");
    calls.sizes[i] = {number(sizes[i][0], "calls of sizes"),
                      number(sizes[i][1], "bytes of sizes")};
  }
  calls.small = use_of(member(from, "small"));
  calls.rest = use_of(member(from, "rest"));
  for (const json& place : list(member(from, "places"), "places"))
    calls.places.push_back(place_of(place));
  for (const json& path : list(member(from, "paths"), "paths"))
    calls.paths.push_back(path_of(path, calls.places.size()));
  return calls;
}

}  // namespace refrain::summary::summary_json
