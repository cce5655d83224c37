#include "waits/wait_experiment.h"

#include <map>
#include <string>

#include "base/version.h"
#include "cube/region_words.h"

namespace refrain::waits {
namespace {

class Builder {
 public:
  explicit Builder(const WaitAnalysis& from) : from_(from) {}

  cube::Experiment take() {
    out_.creator = std::string("Refrain ") + kVersion;
    out_.machine = "machine Linux";
    for (std::size_t i = 0; i < from_.tree.metrics.size(); ++i) {
      const MetricInfo& metric = from_.tree.metrics[i];
      out_.metrics.push_back({.name = metric.name,
                              .title = metric.title,
                              .unit = "sec",
                              .description = metric.description,
                              .type = cube::Metric::Type::kSeconds,
                              .inclusive = false,
                              .parent = from_.tree.parents[i]});
    }
    add_paths();
    add_system();
    for (std::uint32_t metric = 0; metric < from_.tree.metrics.size(); ++metric)
      for (std::uint32_t path = 0; path < from_.paths.size(); ++path) {
        const WaitAnalysis::Row row = from_.inclusive(metric, path);
        for (std::uint32_t i = 0; i < row.size(); ++i)
          if (row[i] != 0)
            out_.add(metric, path, i, from_.seconds(static_cast<double>(row[i])));
      }
    return std::move(out_);
  }

 private:
  // A region of MPI is one for each call site, which is its place in the file.
  void add_paths() {
    std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> known;
    for (const WaitAnalysis::Path& path : from_.paths) {
      const auto next = static_cast<std::uint32_t>(out_.regions.size());
      const auto [at, is_new] = known.try_emplace({path.region, path.site}, next);
      if (is_new) out_.regions.push_back(region_of(path));
      out_.paths.push_back({path.parent, at->second});
    }
  }

  cube::Region region_of(const WaitAnalysis::Path& path) const {
    if (path.region == kNone || path.region >= from_.regions.size()) {
      const std::string name = from_.program.empty() ? "program" : from_.program;
      return {.name = name.substr(name.rfind('/') + 1),
              .canonical = name,
              .file = "",
              .line = 0,
              .paradigm = "measurement",
              .role = "artificial"};
    }
    const WaitAnalysis::Region& region = from_.regions[path.region];
    cube::Region out{.name = region.name,
                     .canonical = region.name,
                     .file = region.file,
                     .line = region.line,
                     .paradigm = cube::paradigm_word(region.paradigm),
                     .role = cube::role_word(region.role)};
    const std::size_t colon = path.site.rfind(':');
    if (colon == std::string::npos) return out;
    out.file = path.site.substr(0, colon);
    out.line = 0;
    for (const char c : path.site.substr(colon + 1))
      if (c >= '0' && c <= '9' && out.line < 100'000'000)
        out.line = 10 * out.line + static_cast<std::uint32_t>(c - '0');
    return out;
  }

  void add_system() {
    std::map<std::string, std::uint32_t> nodes;
    for (std::uint32_t i = 0; i < from_.processes.size(); ++i) {
      const WaitAnalysis::Process& process = from_.processes[i];
      const auto next = static_cast<std::uint32_t>(out_.nodes.size());
      const auto [node, is_new] = nodes.try_emplace(process.node, next);
      if (is_new) out_.nodes.push_back(process.node.empty() ? "node" : process.node);
      const bool mpi = process.rank != kNone;
      out_.processes.push_back(
          {mpi ? "MPI Rank " + std::to_string(process.rank) : process.name,
           mpi ? process.rank : i, node->second});
    }
    for (const WaitAnalysis::Location& location : from_.locations)
      out_.locations.push_back({location.name, location.number, location.process});
  }

  const WaitAnalysis& from_;
  cube::Experiment out_;
};

}  // namespace

cube::Experiment experiment_of(const WaitAnalysis& analysis) {
  return Builder(analysis).take();
}

}  // namespace refrain::waits
