#include "spool/sample_reader.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "base/folder.h"
#include "spool/format.h"
#include "spool/sample_format.h"
#include "spool/summary_areas.h"

namespace refrain::spool {
namespace {

// More samples than a process can have; sums of so many stay far from overflow.
constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 44;
constexpr std::uint64_t kLongestPeriod = 3600'000'000'000;
constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

class SampleParser {
 public:
  SampleParser(std::span<const std::byte> file, SampleTree& tree)
      : file_(file), tree_(tree) {}

  const char* read() {
    if (file_.size() < kSampleHeaderBytes) return "is too short: it has no header";
    if (std::memcmp(file_.data(), kSampleMagic, sizeof kSampleMagic) != 0)
      return "has no samples: it is another file";
    if (word(offsetof(SampleHeader, byte_order)) != kByteOrder)
      return "is of a machine with another byte order";
    if (word(offsetof(SampleHeader, version)) != kSampleVersion)
      return "is of another version of Refrain";
    if (!read_header()) return "is damaged: a number in its header is not possible";
    const std::uint32_t capacity = word(offsetof(SampleHeader, capacity));
    if (capacity == 0 || capacity > kSampleNodes)
      return "is damaged: a number in its header is not possible";
    if (file_.size() < kSampleHeaderBytes + capacity * sizeof(SampleNode))
      return "is cut off: its end is missing";
    const std::uint32_t nodes = std::min(word(offsetof(SampleHeader, nodes)), capacity);
    return read_nodes(nodes) ? nullptr : "is damaged: a frame has no possible caller";
  }

 private:
  std::uint32_t word(std::size_t offset) const {
    return copy_at<std::uint32_t>(file_, offset);
  }
  std::uint64_t count(std::size_t offset) const {
    return copy_at<std::uint64_t>(file_, offset);
  }

  bool read_header() {
    tree_.pid = count(offsetof(SampleHeader, pid));
    tree_.period_ns = count(offsetof(SampleHeader, period_ns));
    tree_.taken = count(offsetof(SampleHeader, taken));
    tree_.shortened = count(offsetof(SampleHeader, shortened));
    tree_.lost = count(offsetof(SampleHeader, lost));
    tree_.missed = count(offsetof(SampleHeader, missed));
    tree_.not_followed = count(offsetof(SampleHeader, not_followed));
    tree_.threads = word(offsetof(SampleHeader, threads));
    tree_.threads_without = word(offsetof(SampleHeader, threads_without));
    tree_.ended = word(offsetof(SampleHeader, ended)) != 0;
    if (tree_.period_ns == 0 || tree_.period_ns > kLongestPeriod) return false;
    return std::max({tree_.taken, tree_.shortened, tree_.lost, tree_.missed,
                     tree_.not_followed}) <= kMaxSamples;
  }

  // Node 0 needs not be ready: it is always there.
  bool read_nodes(std::uint32_t nodes) {
    tree_.nodes.assign(1, {});
    // By number in the file, where it is here.
    std::vector<std::uint32_t> places(std::max(nodes, 1U), kNowhere);
    places[0] = 0;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> known;
    std::uint64_t all = 0;
    for (std::uint32_t i = 1; i < nodes; ++i) {
      const std::size_t at = kSampleHeaderBytes + i * sizeof(SampleNode);
      const std::uint32_t ready = word(at + offsetof(SampleNode, ready));
      if (ready == 0) continue;
      const std::uint64_t address = count(at + offsetof(SampleNode, address));
      const std::uint32_t parent = word(at + offsetof(SampleNode, parent));
      const std::uint64_t samples = count(at + offsetof(SampleNode, samples));
      if (ready != 1 || parent >= i || places[parent] == kNowhere || samples > kMaxSamples)
        return false;
      all += samples;
      if (all > kMaxSamples) return false;
      const auto [entry, is_new] = known.try_emplace(
          {places[parent], address}, static_cast<std::uint32_t>(tree_.nodes.size()));
      places[i] = entry->second;
      if (is_new) tree_.nodes.push_back({address, places[parent], 0});
      tree_.nodes[entry->second].samples += samples;
    }
    return true;
  }

  std::span<const std::byte> file_;
  SampleTree& tree_;
};

}  // namespace

base::Result<SampleTree> read_samples(std::span<const std::byte> file,
                                      const std::string& name) {
  SampleTree tree;
  const char* const problem = SampleParser(file, tree).read();
  if (problem != nullptr) return base::Failure{name + " " + problem};
  return tree;
}

base::Result<SampleTree> read_samples(const std::string& path) {
  if (!base::is_regular_file(path)) return base::Failure{path + " cannot be read"};
  std::ifstream in(path, std::ios::binary);
  if (!in) return base::Failure{path + " cannot be read"};
  constexpr std::size_t kMaxBytes = kSampleHeaderBytes + kSampleNodes * sizeof(SampleNode);
  std::vector<char> bytes(kMaxBytes);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (in.bad()) return base::Failure{path + " cannot be read"};
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return read_samples(std::as_bytes(std::span<const char>(bytes)), path);
}

}  // namespace refrain::spool
