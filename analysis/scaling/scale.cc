#include "analysis/scaling/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "analysis/profile/iteration_profile.h"
#include "analysis/profile/run_profile.h"

namespace refrain::analysis {
namespace {

using summary::FlowGraph;
using summary::RunSummary;
using Kind = PlaceTime::Kind;

constexpr char kSeparator = '\n';

// Start and end of MPI itself: they are no loss of the part that is compared.
bool starts_mpi(const std::string& name) {
  return name.starts_with("MPI_Init") || name == "MPI_Finalize" ||
         name.starts_with("MPI_Session_");
}

std::string key_of(const FlowGraph::Node& node) {
  std::string key = std::to_string(static_cast<int>(node.kind)) + kSeparator + node.name +
                    kSeparator + node.site;
  for (const std::string& caller : node.callers) key += kSeparator + caller;
  return key;
}

class ScaleBuilder {
 public:
  ScaleBuilder(const std::vector<RunSummary>& summaries, std::string name,
               const IdealRun* ideal)
      : summaries_(summaries),
        profile_(merge_summaries(summaries)),
        totals_(total(profile_)),
        iterations_(iteration_profile(summaries, 0)) {
    out_.name = std::move(name);
    out_.processes = profile_.processes.size();
    out_.threads = profile_.threads();
    for (const RunProfile::Process& process : profile_.processes)
      out_.mpi = out_.mpi || process.rank != RunProfile::kNone;
    if (!summaries.empty())
      out_.program = std::filesystem::path(summaries.front().program).filename().string();
    out_.conclusions = conclude(summaries);
    set_ideal(ideal);
  }

  Scale build() {
    whole();
    loops();
    call_paths();
    for (const RunSummary& summary : summaries_) between(summary);
    for (const ScalePart& loop : out_.loops) {
      PlaceTime& to = place(Kind::kLoop, loop.place, loop.place);
      to.ns = loop.all_ns;
      to.visits = static_cast<double>(loop.with_rows);
    }
    for (auto& [key, each] : places_) out_.places.push_back(std::move(each));
    // Of causes the words stay. (Not `= {}`, which keeps the memory.)
    out_.conclusions.start_ns = std::vector<double>();
    for (RootCause& cause : out_.conclusions.causes) {
      cause.ranks = std::vector<std::uint32_t>();
      cause.evidence = std::vector<RootCause::Evidence>();
    }
    return std::move(out_);
  }

 private:
  PlaceTime& place(Kind kind, const std::string& key, const std::string& text) {
    PlaceTime& to = places_[{kind, key}];
    if (to.key.empty()) to = {.kind = kind, .key = key, .text = text};
    return to;
  }

  static void finish(ScalePart& part, const std::vector<ThreadTimes>& threads) {
    part.threads = threads.size();
    for (std::size_t i = 0; i < threads.size(); ++i) {
      part.processes += i == 0 || threads[i].process != threads[i - 1].process ? 1 : 0;
      part.time_ns = std::max(part.time_ns, threads[i].all());
      part.all_ns += threads[i].all();
      part.useful_ns += threads[i].useful;
    }
    part.efficiencies = efficiencies_of(threads, part.time_ns);
  }

  // --- The ideal network --------------------------------------------------------------------

  void set_ideal(const IdealRun* ideal) {
    if (ideal == nullptr || !out_.mpi) return;
    if (!ideal->unknown.empty()) {
      out_.ideal_note = ideal->unknown;
      return;
    }
    if (ideal->estimated >= 0.01)
      out_.ideal_note = fmt::format(
          "{:.0f} % of the time was not written: it is estimated from written iterations "
          "of the same loops",
          100 * ideal->estimated);
    if (ideal->given_up != 0)
      out_.ideal_note += fmt::format("{}{} waits for events outside the archive count as 0",
                                     out_.ideal_note.empty() ? "" : "; ", ideal->given_up);
    for (const IdealRun::Process& process : ideal->processes)
      ideal_[process.rank] = &process;
    for (std::size_t i = 0; i < ideal->loops.size(); ++i)
      ideal_loops_[loop_place(ideal->loops[i])].push_back(i);
  }

  // Of this part, as the replay has it. A loop's first iterations have no rows: they were before it was detected.
  IdealRun::Saved ideal_of(const ScalePart& part, const IdealRun::Process& process) const {
    if (part.place.empty()) return process.whole;
    IdealRun::Saved sum;
    std::uint64_t iterations = 0;
    const IdealRun::Loop* most = nullptr;
    if (const auto found = ideal_loops_.find(part.place); found != ideal_loops_.end())
      for (const std::size_t number : found->second) {
        const IdealRun::Loop& loop = process.loops[number];
        if (most == nullptr || loop.iterations > most->iterations) most = &loop;
        iterations += loop.iterations;
        sum.time_ns += loop.time_ns;
        sum.saved_ns += loop.saved_ns;
      }
    for (std::size_t i = 0; most != nullptr && i < most->first.size(); ++i) {
      if (iterations <= part.with_rows) break;
      --iterations;
      sum.time_ns -= most->first[i].time_ns;
      sum.saved_ns -= most->first[i].saved_ns;
    }
    return sum;
  }

  // The replay may have more iterations of a loop than there are rows: of these a process saves the same share.
  void set_ideal(ScalePart& part, const std::vector<ThreadTimes>& threads) const {
    double latest = 0, useful = 0;
    for (const ThreadTimes& thread : threads) {
      useful = std::max(useful, thread.useful);
      const auto found = ideal_.find(profile_.processes[thread.process].rank);
      if (found == ideal_.end()) return;
      const IdealRun::Saved saved = ideal_of(part, *found->second);
      if (!(saved.time_ns > 0)) return;
      const double scale = part.place.empty() ? 1 : thread.all() / saved.time_ns;
      latest = std::max(latest, thread.all() - scale * saved.saved_ns);
    }
    useful = std::max(useful, part.efficiencies.mpi_communication * part.time_ns *
                                  (part.efficiencies.has_mpi ? 1 : 0));
    part.ideal_ns = std::clamp(latest, std::min(useful, part.time_ns), part.time_ns);
  }

  void whole() {
    std::vector<ThreadTimes> threads = thread_times(profile_, totals_.by_location);
    for (std::size_t first = 0; first < threads.size();) {
      std::size_t end = first;
      while (end < threads.size() && threads[end].process == threads[first].process) ++end;
      leave_start(threads, first, end);
      first = end;
    }
    finish(out_.whole, threads);
    set_ideal(out_.whole, threads);
    for (const IterationProfile::Location& location : iterations_.locations)
      if (!location.helper)
        for (const IterationProfile::Row& row : location.rows) count(row, out_.whole);
  }

  // Of the threads of a process; others have no work while its primary one starts MPI.
  void leave_start(std::vector<ThreadTimes>& threads, std::size_t first, std::size_t end) {
    const double start = out_.conclusions.start_ns[threads[first].process];
    double idle = 0;
    for (std::size_t i = first; i < end; ++i) {
      if (threads[i].primary) threads[i].mpi -= std::min(start, threads[i].mpi);
      idle += threads[i].idle;
    }
    const double taken = std::min(idle, static_cast<double>(end - first - 1) * start);
    idle_in_start_ += taken;
    if (taken > 0)
      for (std::size_t i = first; i < end; ++i) threads[i].idle *= 1 - taken / idle;
  }

  void count(const IterationProfile::Row& row, ScalePart& part) const {
    for (std::size_t i = 0; i < row.counters.size(); ++i) {
      const auto value = static_cast<double>(row.counters[i]);
      if (iterations_.counters[i] == "PAPI_TOT_INS") part.instructions += value;
      if (iterations_.counters[i] == "PAPI_TOT_CYC") part.cycles += value;
    }
  }

  // --- Loops --------------------------------------------------------------------------------

  struct Loop {
    ScalePart part;
    std::vector<ThreadTimes> threads;  // of the processes that have it
  };

  void loops() {
    std::map<std::string, std::size_t> known;
    for (const IterationProfile::Loop& loop : iterations_.loops) {
      const std::string where = loop_place(loop.name);
      const auto [at, is_new] = known.try_emplace(where, loops_.size());
      if (is_new) loops_.emplace_back().part.place = where;
      loop_of_.push_back(at->second);
    }
    const auto& all = iterations_.locations;
    for (std::size_t first = 0, process = 0; first < all.size(); ++process) {
      std::size_t end = first;
      while (end < all.size() && all[end].process == all[first].process) ++end;
      add_process(first, end, static_cast<std::uint32_t>(process));
      first = end;
    }
    for (Loop& loop : loops_) {
      finish(loop.part, loop.threads);
      set_ideal(loop.part, loop.threads);
      if (loop.part.time_ns > 0) out_.loops.push_back(std::move(loop.part));
    }
    std::ranges::stable_sort(out_.loops, std::greater(), &ScalePart::time_ns);
  }

  // A row of another thread is of the loop in which the primary thread is at its middle.
  void add_process(std::size_t first, std::size_t end, std::uint32_t process) {
    const auto& all = iterations_.locations;
    std::size_t primary = first;
    for (std::size_t i = end; i-- > first;)
      if (all[i].primary) primary = i;
    std::vector<std::uint64_t> iterations(loops_.size());
    for (const IterationProfile::Row& row : all[primary].rows)
      if (row.loop < loop_of_.size()) iterations[loop_of_[row.loop]] += row.count;
    std::vector<std::uint64_t> ends(iterations_.loops.size());
    for (const IterationProfile::Row& row : all[primary].rows)
      if (row.loop < loop_of_.size() && row.count != 0)
        ends[row.loop] = row.first + row.count;
    std::vector<std::uint64_t> of_all(loops_.size());
    for (std::size_t i = 0; i < ends.size(); ++i) of_all[loop_of_[i]] += ends[i];
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      loops_[i].part.iterations = std::max(loops_[i].part.iterations, of_all[i]);
      loops_[i].part.with_rows = std::max(loops_[i].part.with_rows, iterations[i]);
    }
    const auto& rows = all[primary].rows;
    for (std::size_t i = first; i < end; ++i) {
      if (all[i].helper) continue;
      std::vector<ThreadTimes> times(
          loops_.size(), ThreadTimes{.process = process, .primary = i == primary});
      for (const IterationProfile::Row& row : all[i].rows) {
        auto at = std::ranges::upper_bound(rows, (row.begin_ns + row.end_ns) / 2, {},
                                           &IterationProfile::Row::begin_ns);
        if (at != rows.begin()) --at;
        const std::uint32_t loop = i == primary       ? row.loop
                                   : at == rows.end() ? IterationProfile::kNoLoop
                                                      : at->loop;
        if (loop >= loop_of_.size()) continue;
        ThreadTimes& to = times[loop_of_[loop]];
        for (std::size_t cls = 0; cls < kTimeClasses; ++cls)
          to.add(static_cast<TimeClass>(cls), row.times[cls]);
        count(row, loops_[loop_of_[loop]].part);
      }
      for (std::size_t loop = 0; loop < loops_.size(); ++loop)
        if (iterations[loop] != 0) loops_[loop].threads.push_back(times[loop]);
    }
  }

  // --- Places -------------------------------------------------------------------------------

  void call_paths() {
    std::vector<std::string> keys;
    for (std::uint32_t i = 0; i < profile_.paths.size(); ++i) {
      const RunProfile::Path& path = profile_.paths[i];
      std::string key =
          path.parent == RunProfile::kNone ? std::string() : keys[path.parent];
      bool start = false;
      if (path.region == RunProfile::kNone) {
        key += "other regions";
      } else {
        const RunProfile::Region& region = profile_.regions[path.region];
        key += region.name + kSeparator + region.file + kSeparator +
               std::to_string(region.line) + kSeparator + path.site;
        start = starts_mpi(region.name);
      }
      keys.push_back(key + kSeparator);
      if (start) continue;
      const PathTotal& sums = totals_.paths[i];
      PlaceTime& to = place(Kind::kCallPath, keys.back(), path_text(profile_, PathId(i)));
      to.ns += sums.own_ns + sums.management_ns;
      to.mpi = is_mpi(path.cls);
      to.visits += static_cast<double>(sums.visits);
      to.messages += static_cast<double>(sums.messages_sent + sums.messages_received);
      to.bytes +=
          static_cast<double>(sums.bytes_sent) + static_cast<double>(sums.bytes_received);
    }
    double useful = 0, idle = 0;
    for (LocationId i; i < profile_.locations.size(); ++i) {
      const RunProfile::Location& location = profile_.locations[i];
      (location.worker ? idle : useful) +=
          profile_.nanoseconds(i, static_cast<double>(location.outside));
    }
    if (useful > 0)
      place(Kind::kCallPath, "outside", "code outside of all regions").ns = useful;
    idle -= idle_in_start_;
    if (idle > 0)
      place(Kind::kCallPath, "idle", "threads without work, outside of parallel regions")
          .ns = idle;
  }

  void between(const RunSummary& summary) {
    for (const RunSummary::Location& location : summary.locations) {
      if (!location.primary) continue;
      for (const FlowGraph::Edge& edge : location.flow.edges) {
        const FlowGraph::Node& from = location.flow.nodes[edge.from];
        const FlowGraph::Node& to = location.flow.nodes[edge.to];
        const std::string text = summary::between_text(from, to);
        if (text.empty()) continue;
        PlaceTime& at = place(Kind::kBetween, key_of(from) + kSeparator + key_of(to), text);
        at.ns += static_cast<double>(edge.gap) * 1e9 / summary.ticks_per_second;
        at.visits += static_cast<double>(edge.count);
      }
    }
  }

  const std::vector<RunSummary>& summaries_;
  const RunProfile profile_;
  const ProfileTotals totals_;
  const IterationProfile iterations_;
  std::map<std::uint32_t, const IdealRun::Process*> ideal_;      // by rank
  std::map<std::string, std::vector<std::size_t>> ideal_loops_;  // by place
  std::vector<Loop> loops_;                                      // by place
  std::vector<std::size_t> loop_of_;                             // by loop of `iterations_`
  std::map<std::pair<Kind, std::string>, PlaceTime> places_;
  double idle_in_start_ = 0;
  Scale out_;
};

}  // namespace

Scale scale_of(const std::vector<RunSummary>& summaries, std::string name,
               const IdealRun* ideal) {
  return ScaleBuilder(summaries, std::move(name), ideal).build();
}

}  // namespace refrain::analysis
