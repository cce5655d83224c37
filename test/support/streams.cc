#include "test/support/streams.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>

namespace refrain::test {
namespace {

Stream read_stream(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("cannot open " + path);
  Stream stream;
  char line[64];
  while (gzgets(file, line, sizeof line) != nullptr) {
    stream.push_back(std::strtoull(line, nullptr, 10));
  }
  gzclose(file);
  return stream;
}

}  // namespace

std::vector<NamedStream> streams_in(const std::string& folder) {
  std::vector<NamedStream> streams;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".txt.gz")) continue;
    streams.push_back({name, read_stream(entry.path().string())});
  }
  std::sort(streams.begin(), streams.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return streams;
}

std::vector<NamedStream> real_streams() {
  std::vector<NamedStream> streams = streams_in("test/streams");
  if (streams.empty()) throw std::runtime_error("no streams in test/streams");
  if (const char* folder = std::getenv("REFRAIN_STREAMS")) {
    for (auto& stream : streams_in(folder)) streams.push_back(std::move(stream));
  }
  return streams;
}

Stream random_stream(std::size_t size, std::uint64_t symbols, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Stream stream(size);
  for (auto& symbol : stream) symbol = random() % symbols;
  return stream;
}

Stream periodic_stream(std::size_t size, const Stream& body) {
  Stream stream(size);
  for (std::size_t i = 0; i < size; ++i) stream[i] = body[i % body.size()];
  return stream;
}

Stream fibonacci_stream(std::size_t size) {
  Stream shorter{0};
  Stream longer{0, 1};
  while (longer.size() < size) {
    Stream next = longer;
    next.insert(next.end(), shorter.begin(), shorter.end());
    shorter = std::move(longer);
    longer = std::move(next);
  }
  longer.resize(size);
  return longer;
}

Stream thue_morse_stream(std::size_t size) {
  Stream stream(size);
  for (std::size_t i = 0; i < size; ++i) stream[i] = std::popcount(i) & 1;
  return stream;
}

Stream perturbed(const Stream& stream, std::uint64_t every, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Stream result;
  for (const auto symbol : stream) {
    switch (random() % every == 0 ? random() % 3 : 3) {
      case 0:
        result.push_back(symbol + 1);
        break;
      case 1:
        result.push_back(symbol);
        result.push_back(symbol);
        break;
      case 2:
        break;
      default:
        result.push_back(symbol);
    }
  }
  return result;
}

}  // namespace refrain::test
