#include "cube/job_paths.h"

#include <set>

#include "cube/region_words.h"

namespace refrain::cube {
namespace {

using summary::RunSummary;

std::string last_part(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

// Where the nodes of a process lie. A node under no other one that is a parallel region is the part of a
// worker thread: it lies where the forks of that region lie.
class Places {
 public:
  template <typename Path>
  Places(const RunSummary& process, std::uint32_t program, Path path)
      : process_(process), program_(program), of_(process.nodes.size(), kNone) {
    for (std::uint32_t i = 0; i < process.nodes.size(); ++i)
      if (process.nodes[i].kind == RunSummary::Kind::kFork)
        forks_[process.nodes[i].region].push_back(i);
    for (std::uint32_t i = 0; i < process.nodes.size(); ++i) resolve(i, path);
  }

  std::vector<std::uint32_t> take() { return std::move(of_); }

 private:
  // Recursion only from a worker's part to the forks of its region, each once.
  template <typename Path>
  void resolve(std::uint32_t node, Path path) {
    std::vector<std::uint32_t> chain;
    for (; node != kNone && of_[node] == kNone; node = process_.nodes[node].parent)
      chain.push_back(node);
    for (; !chain.empty(); chain.pop_back()) {
      const RunSummary::Node& here = process_.nodes[chain.back()];
      const bool fork = here.kind == RunSummary::Kind::kFork;
      std::uint32_t parent = program_;
      if (here.parent != kNone)
        parent = of_[here.parent];
      else if (!fork)
        parent = opened_at(chain.back(), path);
      of_[chain.back()] = fork ? parent : path(parent, here);
    }
  }

  template <typename Path>
  std::uint32_t opened_at(std::uint32_t node, Path path) {
    const auto forks = forks_.find(process_.nodes[node].region);
    if (process_.nodes[node].kind != RunSummary::Kind::kRegion || forks == forks_.end())
      return program_;
    if (!open_.insert(node).second) return program_;
    std::set<std::uint32_t> places;
    for (const std::uint32_t fork : forks->second) {
      if (open_.contains(top_of(fork))) continue;
      resolve(fork, path);
      places.insert(of_[fork]);
    }
    open_.erase(node);
    return places.size() == 1 ? *places.begin() : program_;
  }

  std::uint32_t top_of(std::uint32_t node) const {
    while (process_.nodes[node].parent != kNone) node = process_.nodes[node].parent;
    return node;
  }

  const RunSummary& process_;
  const std::uint32_t program_;
  std::vector<std::uint32_t> of_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> forks_;  // by region
  std::set<std::uint32_t> open_;                               // being resolved
};

Region region_of(const RunSummary::Region& from) {
  return {.name = from.name,
          .canonical = from.canonical.empty() ? from.name : from.canonical,
          .file = from.file,
          .line = from.line,
          .paradigm = paradigm_word(from.paradigm),
          .role = role_word(from.role)};
}

}  // namespace

std::uint32_t CallPaths::region(const Region& region) {
  const auto next = static_cast<std::uint32_t>(experiment_.regions.size());
  const auto [at, is_new] =
      regions_.try_emplace(std::tuple{region.name, region.canonical, region.file,
                                      region.line, region.paradigm, region.role},
                           next);
  if (is_new) experiment_.regions.push_back(region);
  return at->second;
}

std::uint32_t CallPaths::other_region() {
  return region({.name = "other",
                 .canonical = "other",
                 .file = "",
                 .line = 0,
                 .paradigm = "measurement",
                 .role = "artificial"});
}

std::uint32_t CallPaths::path(std::uint32_t parent, std::uint32_t region) {
  const auto next = static_cast<std::uint32_t>(experiment_.paths.size());
  const auto [at, is_new] = paths_.try_emplace(std::pair{parent, region}, next);
  if (is_new) experiment_.paths.push_back({parent, region});
  return at->second;
}

ProcessPaths CallPaths::add(const RunSummary& process) {
  ProcessPaths paths;
  paths.program = path(kNone, region({.name = last_part(process.program),
                                      .canonical = process.program,
                                      .file = "",
                                      .line = 0,
                                      .paradigm = "measurement",
                                      .role = "artificial"}));
  paths.of_node =
      Places(process, paths.program,
             [this, &process](std::uint32_t parent, const RunSummary::Node& node) {
               const bool known = node.kind == RunSummary::Kind::kRegion &&
                                  node.region < process.regions.size();
               return path(parent, known ? region(region_of(process.regions[node.region]))
                                         : other_region());
             })
          .take();
  paths.other.assign(process.nodes.size() + 1, kNone);
  for (const RunSummary::Location& location : process.locations) {
    for (std::size_t i = 0; i < location.sums.size() && i < process.nodes.size(); ++i)
      if (location.sums[i].regions_elsewhere != 0)
        paths.other[i] = path(paths.of_node[i], other_region());
    if (location.outside.regions_elsewhere != 0)
      paths.other.back() = path(paths.program, other_region());
  }
  return paths;
}

}  // namespace refrain::cube
