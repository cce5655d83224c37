#include "code_profile/samples/sample_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/folder.h"
#include "base/json_values.h"

namespace refrain::code_profile {
namespace {

using namespace base::json_values;
using Kind = SamplePlace::Kind;

constexpr const char* kFormat = "refrain samples";
constexpr std::uint64_t kVersion = 1;  // bump when a value changes its meaning
constexpr const char* kPrefix = "process-";
constexpr const char* kSuffix = ".json";
constexpr const char* kKinds[] = {"function", "loop", "unknown"};
// More than a process can have; sums of so many, over processes, stay far from overflow.
constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 44;
constexpr std::size_t kMaxNodes = std::size_t{1} << 20;
constexpr std::uint64_t kLongestPeriod = 3600'000'000'000;

struct Counter {
  const char* name;
  std::uint64_t PlacedSamples::*value;
};
constexpr Counter kCounters[] = {
    {"taken", &PlacedSamples::taken},
    {"shortened", &PlacedSamples::shortened},
    {"lost", &PlacedSamples::lost},
    {"missed", &PlacedSamples::missed},
    {"not_followed", &PlacedSamples::not_followed},
};

json place_json(const SamplePlace& place) {
  json out = {{"kind", kKinds[static_cast<std::size_t>(place.kind)]},
              {"function", place.function}};
  if (place.kind == Kind::kUnknown) return out;
  if (!place.file.empty()) out["file"] = place.file;
  if (place.line != 0) out["line"] = place.line;
  out["module"] = place.module;
  out["address"] = place.address;
  if (place.parent != SamplePlace::kNone) out["parent"] = place.parent;
  if (place.irreducible) out["irreducible"] = true;
  return out;
}

SamplePlace place_of(const json& from, const std::vector<SamplePlace>& before) {
  SamplePlace place;
  const std::string kind = text(member(from, "kind"), "kind");
  const auto* const known = std::ranges::find(kKinds, kind);
  if (known == std::end(kKinds)) fail("has a place of unknown kind");
  place.kind = static_cast<Kind>(known - kKinds);
  place.function = text(member(from, "function"), "function");
  if (place.kind == Kind::kUnknown) return place;
  if (from.contains("file")) place.file = text(from["file"], "file");
  if (from.contains("line")) place.line = small(from["line"], "line");
  place.module = text(member(from, "module"), "module");
  place.address = number(member(from, "address"), "address");
  if (from.contains("parent")) {
    place.parent = small(from["parent"], "parent");
    if (place.kind != Kind::kLoop || place.parent >= before.size() ||
        before[place.parent].kind != Kind::kLoop)
      fail("has a loop in what is none");
  }
  if (from.contains("irreducible")) {
    if (!from["irreducible"].is_boolean()) fail("'irreducible' is neither true nor false");
    place.irreducible = from["irreducible"].get<bool>();
  }
  return place;
}

SampleNode node_of(const json& from, std::size_t before, std::size_t places) {
  if (list(from, "node").size() != 3) fail("has a node without its three values");
  SampleNode node;
  if (!from[0].is_null()) {
    node.parent = small(from[0], "node");
    if (node.parent >= before) fail("has a node whose parent comes after it");
  }
  node.place = small(from[1], "node");
  if (node.parent != SampleNode::kThread && node.place >= places)
    fail("has a node without a place");
  node.samples = number(from[2], "node");
  if (node.samples > kMaxSamples) fail("has too many samples");
  return node;
}

PlacedSamples read_samples_of(const std::string& text_of_file) {
  const json from = json::parse(text_of_file, nullptr, false);
  if (from.is_discarded() || !from.is_object() || !from.contains("format") ||
      from["format"] != kFormat)
    fail("has no samples");
  const std::uint64_t version = number(member(from, "version"), "version");
  if (version != kVersion)
    fail("has samples of version " + std::to_string(version) +
         "; this program reads version " + std::to_string(kVersion));
  PlacedSamples samples;
  samples.process = small(member(from, "process"), "process");
  samples.command = text(member(from, "command"), "command");
  samples.period_ns = number(member(from, "period_ns"), "period_ns");
  if (samples.period_ns == 0 || samples.period_ns > kLongestPeriod)
    fail("'period_ns' is not possible");
  for (const Counter& counter : kCounters) {
    samples.*counter.value = number(member(from, counter.name), counter.name);
    if (samples.*counter.value > kMaxSamples)
      fail(std::string("'") + counter.name + "' is too large");
  }
  samples.threads = small(member(from, "threads"), "threads");
  samples.threads_without = small(member(from, "threads_without"), "threads_without");
  for (const json& note : list(member(from, "notes"), "notes"))
    samples.notes.push_back(text(note, "note"));
  for (const json& place : list(member(from, "places"), "places"))
    samples.places.push_back(place_of(place, samples.places));
  const json& nodes = list(member(from, "nodes"), "nodes");
  if (nodes.size() > kMaxNodes) fail("has too many nodes");
  std::uint64_t all = 0;
  for (const json& node : nodes) {
    samples.nodes.push_back(node_of(node, samples.nodes.size(), samples.places.size()));
    all += samples.nodes.back().samples;
    if (all > kMaxSamples) fail("has too many samples");
  }
  return samples;
}

}  // namespace

std::string to_text(const PlacedSamples& samples) {
  json out = {{"format", kFormat},
              {"version", kVersion},
              {"process", samples.process},
              {"command", samples.command},
              {"period_ns", samples.period_ns},
              {"threads", samples.threads},
              {"threads_without", samples.threads_without},
              {"notes", samples.notes}};
  for (const Counter& counter : kCounters) out[counter.name] = samples.*counter.value;
  json places = json::array(), nodes = json::array();
  for (const SamplePlace& place : samples.places) places.push_back(place_json(place));
  for (const SampleNode& node : samples.nodes)
    nodes.push_back({node.parent == SampleNode::kThread ? json(nullptr) : json(node.parent),
                     node.place, node.samples});
  out["places"] = std::move(places);
  out["nodes"] = std::move(nodes);
  return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

base::Result<PlacedSamples> samples_from_text(const std::string& text_of_file) {
  try {
    return read_samples_of(text_of_file);
  } catch (const std::exception& problem) {
    return base::Failure{problem.what()};
  }
}

std::string sample_file_path(const std::string& archive, std::uint32_t process) {
  return archive + "/samples/" + kPrefix + std::to_string(process) + kSuffix;
}

base::Result<> write_sample_file(const std::string& archive, const PlacedSamples& samples) {
  const std::string path = sample_file_path(archive, samples.process);
  const std::string unfinished = path + ".part";
  std::error_code error;
  std::filesystem::create_directories(archive + "/samples", error);
  if (error) return base::Failure{archive + "/samples: " + error.message()};
  std::ofstream file(unfinished, std::ios::binary);
  file << to_text(samples);
  file.close();
  if (file) std::filesystem::rename(unfinished, path, error);
  if (file && !error) return {};
  std::filesystem::remove(unfinished, error);
  return base::Failure{path + " cannot be written"};
}

base::Result<std::vector<PlacedSamples>> read_sample_files(const std::string& archive) {
  std::vector<PlacedSamples> all;
  std::error_code error;
  const std::string folder = archive + "/samples";
  for (const std::string& name : base::names_in(folder, error)) {
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    std::string path = folder;
    path.append("/").append(name);
    const auto text_of_file = base::file_text(path);
    auto samples = text_of_file ? samples_from_text(*text_of_file) : text_of_file.failure();
    if (!samples) return base::Failure{path + " " + samples.error()};
    all.push_back(*std::move(samples));
  }
  std::ranges::sort(all, {}, &PlacedSamples::process);
  return all;
}

}  // namespace refrain::code_profile
