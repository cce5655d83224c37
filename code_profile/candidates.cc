#include "code_profile/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "addresses/short_name.h"

namespace refrain::code_profile {
namespace {

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();
// A region of OpenMP costs some microseconds to begin and to end.
constexpr double kShortEntry = 20'000;  // instructions
constexpr double kFewTrips = 8;
constexpr double kNearlyAll = 0.99;
constexpr int kFarthest = 64;  // steps that are looked for another loop

bool waits_for_others(std::string_view function) {
  if (function == "MPI_Wtime" || function == "PMPI_Wtime") return false;
  return function.starts_with("MPI_") || function.starts_with("PMPI_") ||
         function.starts_with("mpi_") || function.starts_with("pmpi_");
}

bool is_input_or_output(std::string_view function) {
  static constexpr std::array<std::string_view, 22> kNames = {
      "read",     "write", "pread",  "pwrite", "fread",   "fwrite",  "fgets",  "fputs",
      "puts",     "putc",  "fputc",  "getc",   "fgetc",   "getline", "printf", "fprintf",
      "vfprintf", "scanf", "fscanf", "fflush", "__write", "__read"};
  return std::ranges::find(kNames, function) != kNames.end() ||
         function.starts_with("_gfortran_st_write") ||
         function.starts_with("_gfortran_st_read");
}

auto of_function(bool (*kind)(std::string_view)) {
  return [kind](const Node& node) { return !node.is_loop && kind(node.function); };
}

class Chooser {
 public:
  explicit Chooser(const LoopProfile& profile)
      : profile_(profile), out_(profile.nodes.size()), in_(profile.nodes.size()) {
    for (std::uint32_t i = 0; i < profile.edges.size(); ++i) {
      if (profile.edges[i].from == profile.edges[i].to) continue;
      out_[profile.edges[i].from].push_back(i);
      in_[profile.edges[i].to].push_back(i);
    }
  }

  std::vector<Candidate> choose(double share) {
    find_levels();
    parallel_inside_ = leading_to(of_function(&is_parallel));
    files_ = leading_to(of_function(&is_input_or_output));
    // Calls that take no time have no samples; the detector has seen them.
    communicates_ = leading_to([this](const Node& node) {
      return (!node.is_loop && waits_for_others(node.function)) ||
             std::ranges::any_of(profile_.communicating, [&](const DetectedLoop& loop) {
               return loop.line != 0
                          ? is_one(node, loop)
                          : loop.function == addresses::short_name(node.function);
             });
    });
    find_parallel_around();
    std::vector<Candidate> chosen;
    const auto least = share * static_cast<double>(profile_.total[0]);
    for (std::uint32_t i = 0; i < profile_.nodes.size(); ++i)
      if (static_cast<double>(profile_.nodes[i].total[0]) >= least && possible(i))
        chosen.push_back({.node = i, .level = levels_[i] == kFar ? 0 : levels_[i]});
    std::ranges::stable_sort(chosen, [&](const Candidate& a, const Candidate& b) {
      const std::uint64_t of_a = profile_.nodes[a.node].total[0],
                          of_b = profile_.nodes[b.node].total[0];
      return of_a != of_b ? of_a > of_b : a.level < b.level;
    });
    for (const Candidate& candidate : chosen) is_chosen_.insert(candidate.node);
    for (Candidate& candidate : chosen) explain(candidate);
    return chosen;
  }

 private:
  bool of_samples() const { return profile_.unit == Unit::kSamples; }

  // Libraries may be linked into the program.
  static bool of_runtime(const Node& node) {
    return is_runtime_library(node.module) || node.function.starts_with("__kmp") ||
           node.function.starts_with("gomp_");
  }

  static double mean_trips(const Node& node) {
    return node.entries == 0
               ? 0
               : static_cast<double>(node.iterations) / static_cast<double>(node.entries);
  }

  bool possible(std::uint32_t at) const {
    const Node& node = profile_.nodes[at];
    if (!node.is_loop || node.total[0] == 0) return false;
    if (of_runtime(node) || communicates_[at]) return false;
    if (of_samples()) return node.parallel_inside == 0 && node.parallel_around == 0;
    return !parallel_inside_[at] && !parallel_around_[at] && mean_trips(node) >= 2;
  }

  // The smallest number of loops of the program around each node, on the ways from where threads begin.
  void find_levels() {
    levels_.assign(profile_.nodes.size(), kFar);
    std::deque<std::uint32_t> waiting;
    for (std::uint32_t i = 0; i < profile_.nodes.size(); ++i)
      if (in_[i].empty()) {
        levels_[i] = 0;
        waiting.push_back(i);
      }
    while (!waiting.empty()) {
      const std::uint32_t at = waiting.front();
      waiting.pop_front();
      const bool loop = profile_.nodes[at].is_loop && !of_runtime(profile_.nodes[at]);
      for (const std::uint32_t edge : out_[at]) {
        const std::uint32_t to = profile_.edges[edge].to;
        const std::uint32_t level = levels_[at] + (loop ? 1 : 0);
        if (level >= levels_[to]) continue;
        levels_[to] = level;
        if (loop)
          waiting.push_back(to);
        else
          waiting.push_front(to);
      }
    }
  }

  // Whether a node of a kind can be reached from each node, or is one.
  template <typename IsOne>
  std::vector<bool> leading_to(IsOne is_one) const {
    std::vector<bool> found(profile_.nodes.size());
    std::vector<std::uint32_t> waiting;
    for (std::uint32_t i = 0; i < profile_.nodes.size(); ++i)
      if (is_one(profile_.nodes[i])) {
        found[i] = true;
        waiting.push_back(i);
      }
    while (!waiting.empty()) {
      const std::uint32_t at = waiting.back();
      waiting.pop_back();
      for (const std::uint32_t edge : in_[at])
        if (const std::uint32_t from = profile_.edges[edge].from; !found[from]) {
          found[from] = true;
          waiting.push_back(from);
        }
    }
    return found;
  }

  void find_parallel_around() {
    parallel_around_.assign(profile_.nodes.size(), false);
    std::vector<std::uint32_t> waiting;
    for (std::uint32_t i = 0; i < profile_.nodes.size(); ++i)
      if (!profile_.nodes[i].is_loop && is_parallel(profile_.nodes[i].function))
        waiting.push_back(i);
    while (!waiting.empty()) {
      const std::uint32_t at = waiting.back();
      waiting.pop_back();
      for (const std::uint32_t edge : out_[at])
        if (const std::uint32_t to = profile_.edges[edge].to; !parallel_around_[to]) {
          parallel_around_[to] = true;
          waiting.push_back(to);
        }
    }
  }

  // The candidate around a loop through which alone it is reached; kNone: there is none.
  std::uint32_t around(std::uint32_t at) const {
    std::set<std::uint32_t> seen{at};
    for (int i = 0; i < kFarthest && in_[at].size() == 1; ++i) {
      at = profile_.edges[in_[at].front()].from;
      if (is_chosen_.contains(at)) return at;
      if (!seen.insert(at).second) break;
    }
    return kNone;
  }

  // The loop in it with nearly all of its total.
  std::uint32_t only_loop_in(std::uint32_t at) const {
    const double all = static_cast<double>(profile_.nodes[at].total[0]);
    std::set<std::uint32_t> seen{at};
    for (int i = 0; i < kFarthest; ++i) {
      std::uint32_t next = kNone;
      for (const std::uint32_t edge : out_[at])
        if (static_cast<double>(profile_.edges[edge].total[0]) >= kNearlyAll * all)
          next = profile_.edges[edge].to;
      if (next == kNone || !seen.insert(next).second) return kNone;
      if (profile_.nodes[next].is_loop) return next;
      at = next;
    }
    return kNone;
  }

  void explain(Candidate& candidate) const {
    const std::uint32_t at = candidate.node;
    const Node& node = profile_.nodes[at];
    std::vector<std::string>& in_favour = candidate.in_favour;
    std::vector<std::string>& against = candidate.against;
    if (candidate.level == 0) in_favour.emplace_back("no loop around it");
    if (!of_samples()) {
      const double trips = mean_trips(node);
      const double work = static_cast<double>(node.total[0]) /
                          static_cast<double>(std::max<std::uint64_t>(node.entries, 1));
      (trips < kFewTrips ? against : in_favour)
          .push_back(
              fmt::format("{:.{}f} iterations an entry", trips, trips < 100 ? 1 : 0));
      if (work < kShortEntry)
        against.push_back(fmt::format("{:.0f} instructions an entry", work));
    }
    if (const std::uint32_t outer = around(at); outer != kNone)
      against.push_back("inside of " + name_of(profile_.nodes[outer]));
    if (const std::uint32_t inner = only_loop_in(at); inner != kNone)
      against.push_back("nearly all of it is in the loop " +
                        name_of(profile_.nodes[inner]));
    const std::size_t threads = threads_of(node);
    if (files_[at]) against.emplace_back("reads or writes files");
    if (node.irreducible) against.emplace_back("entered at several places");
    if (threads > 1) against.push_back(fmt::format("runs on {} threads already", threads));
    candidate.doubtful = files_[at] || node.irreducible || threads > 1;
  }

  // The most of one process.
  static std::size_t threads_of(const Node& node) {
    std::set<std::pair<std::uint64_t, std::uint32_t>> threads;
    for (const ThreadOfLoop& thread : node.threads)
      threads.insert({thread.process, thread.thread});
    std::size_t most = 0, now = 0;
    std::uint64_t process = 0;
    for (const auto& [of, thread] : threads) {
      now = of == process ? now + 1 : 1;
      process = of;
      most = std::max(most, now);
    }
    return most;
  }

  const LoopProfile& profile_;
  std::vector<std::vector<std::uint32_t>> out_, in_;  // edges of nodes
  std::vector<std::uint32_t> levels_;
  std::vector<bool> parallel_inside_, parallel_around_, communicates_, files_;
  std::set<std::uint32_t> is_chosen_;
};

}  // namespace

std::vector<Candidate> candidates(const LoopProfile& profile, double share) {
  return Chooser(profile).choose(share);
}

bool is_parallel(std::string_view function) {
  static constexpr std::array<std::string_view, 11> kBegins = {
      "__kmpc_fork_",    "__kmp_fork_call", "__kmp_GOMP_fork", "__kmpc_omp_task",
      "__kmpc_taskloop", "__kmp_invoke_",   "GOMP_parallel",   "GOMP_loop",
      "GOMP_task",       "GOMP_sections",   "GOMP_teams"};
  return is_outlined(function) || std::ranges::any_of(kBegins, [&](std::string_view name) {
           return function.starts_with(name);
         });
}

bool is_outlined(std::string_view function) {
  static constexpr std::array<std::string_view, 4> kParts = {
      ".omp_outlined", "._omp_fn.", ".omp_task_entry", "_omp_task_entry"};
  return std::ranges::any_of(kParts, [&](std::string_view name) {
    return function.find(name) != std::string_view::npos;
  });
}

bool is_runtime_library(std::string_view module_path) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "librefrain", "libomp",    "libgomp",   "libiomp",    "libmpi",   "libpmpi",
      "libc.so",    "libc-",     "libm.so",   "libpthread", "ld-linux", "libgcc_s",
      "libucp.so",  "libuct.so", "libucs.so", "libopen-",   "mca_"};
  const std::string_view file = module_path.substr(module_path.find_last_of('/') + 1);
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return file.starts_with(name); });
}

}  // namespace refrain::code_profile
