#include "tools/output/watch_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/texts.h"
#include "tools/output/info_screen.h"
#include "tools/output/profile_data.h"

namespace refrain::tools {
namespace {

using base::bytes_text;
using base::duration_text;
using watch::LoopState;
using watch::RankState;
using watch::RunState;

std::string rate_text(double per_second) {
  return per_second >= 99.95 ? fmt::format("{:.0f}/s", per_second)
                             : fmt::format("{:.3g}/s", per_second);
}

// The outermost loop that the rank is in; else the one with most time.
const LoopState* main_loop(const RankState& rank) {
  const LoopState* best = nullptr;
  for (const LoopState& loop : rank.loops) {
    if (loop.level != 0) continue;
    const bool better = best == nullptr || loop.open > best->open ||
                        (loop.open == best->open && loop.total_ns > best->total_ns);
    if (better) best = &loop;
  }
  return best;
}

class WatchScreen {
 public:
  WatchScreen(const RunState& run, std::size_t columns, std::size_t lines)
      : run_(run), columns_(columns), lines_(lines) {}

  std::vector<std::string> take() {
    head();
    const std::size_t loops = nest();
    ranks(loops);
    return std::move(out_);
  }

 private:
  void put(const std::string& line) { out_.push_back(line.substr(0, columns_)); }
  void put(const char* label, const std::string& text) {
    put(fmt::format("{:<{}}{}", label, kLabel, text));
  }
  std::size_t left() const {
    return lines_ == 0 ? ~std::size_t{0} : lines_ - std::min(lines_, out_.size() + 1);
  }

  void head() {
    std::size_t threads = 0;
    std::size_t recording = 0;
    std::uint64_t seen = 0, records = 0, disk = 0, lost = 0, suspended = 0;
    for (const RankState& rank : run_.ranks) {
      threads += rank.locations.size();
      recording += rank.recording;
      seen += rank.events_seen;
      records += rank.records_written;
      disk += rank.disk_bytes;
      lost += rank.events_lost();
      suspended += rank.suspended;
    }
    put("Program", run_.command);
    std::string text = fmt::format("{} since the start, ", duration_text(run_.time_ns));
    if (run_.job_size != 0) {
      text += fmt::format("{} ranks", run_.ranks.size());
      if (run_.ranks.size() != run_.job_size)
        text += fmt::format(" of {} (the others are not on this machine)", run_.job_size);
      text += ", ";
    }
    text += fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
    if (recording == 0)
      text += "; has ended";
    else if (recording != run_.ranks.size())
      text += fmt::format("; {} of {} ranks still recorded", recording, run_.ranks.size());
    put("Run", text);
    put("Archive", run_.archive);
    text = fmt::format("{} seen, ", seen);
    if (run_.summary_only)
      text += "none written (--summary-only)";
    else if (suspended == 0)
      text += fmt::format("{} records written", records);
    else
      text += fmt::format("{} records written, now skipped", records);
    put("Events", text + fmt::format("; {} lost; {} on disk", lost, bytes_text(disk)));
    const analysis::RunEfficiencies& e = run_.efficiencies;
    put("Efficiency",
        e.known() ? fmt::format("parallel {} = load balance {} x communication {}",
                                percent_text(e.parallel), percent_text(e.load_balance),
                                percent_text(e.communication))
                  : fmt::format("not known: {} of the time is in regions without a place",
                                percent_text(e.unknown)));
  }

  // Of the first rank that has loops. Returns how many there are.
  std::size_t nest() {
    const auto rank = std::find_if(run_.ranks.begin(), run_.ranks.end(),
                                   [](const RankState& r) { return !r.loops.empty(); });
    put("");
    if (rank == run_.ranks.end()) {
      put("No loop detected yet");
      return 0;
    }
    // As many lines as the ranks leave, but a few in any case.
    const std::size_t for_ranks = run_.ranks.size() + 4;
    const std::size_t most =
        left() == ~std::size_t{0}
            ? left()
            : std::max<std::size_t>(5, left() - std::min(left(), for_ranks));
    const std::size_t name = columns_ > 53 + 20 ? columns_ - 53 : 20;
    put(fmt::format("{:<{}}{:>11}{:>9}{:>11}{:>11}{:>11}", "Loop (* runs)", name,
                    "Iterations", "Rate", "Latest", "Median", "Slowest"));
    std::size_t shown = 0;
    for (const LoopState& loop : rank->loops) {
      if (shown + 1 > most) break;
      ++shown;
      const std::string title = std::string(2 * std::size_t{loop.level}, ' ') +
                                (loop.open ? "* " : "  ") +
                                (loop.name.empty() ? "loop" : loop.name);
      put(fmt::format("{:<{}}{:>11}{:>9}{:>11}{:>11}{:>11}", title.substr(0, name - 1),
                      name, loop.iterations, rate_text(loop.per_second),
                      duration_text(loop.latest_ns), duration_text(loop.median_ns),
                      duration_text(loop.slowest_ns)));
    }
    if (shown < rank->loops.size())
      put(fmt::format("  and {} more", rank->loops.size() - shown));
    return rank->loops.size();
  }

  void ranks(std::size_t loops) {
    put("");
    const bool recent = run_.recent_ns > 0;
    const double imbalance = watch::imbalance_of(run_);
    put(recent ? fmt::format("Share of the last {}{}", duration_text(run_.recent_ns),
                             balance(imbalance))
               : "Share of the run" + balance(imbalance));
    put(fmt::format("{:<10}{:>8}{:>11}{:>9}{:>9}{:>9}{:>9}{:>9}{:>13}{:>7}", "Rank",
                    "Threads", loops == 0 ? "" : "Iteration", loops == 0 ? "" : "Rate",
                    "Useful", "OpenMP", "Manage", "MPI", "Events", "Lost"));
    std::size_t shown = 0;
    for (const RankState& rank : run_.ranks) {
      if (left() <= 1 && shown + 1 < run_.ranks.size()) break;
      ++shown;
      row(rank, recent);
    }
    if (shown < run_.ranks.size())
      put(fmt::format("and {} more ranks", run_.ranks.size() - shown));
  }

  std::string balance(double imbalance) const {
    if (run_.ranks.size() < 2 || imbalance <= 0) return {};
    return fmt::format(", useful time of ranks: maximum / mean {:.2f}", imbalance);
  }

  void row(const RankState& rank, bool recent) {
    const watch::Shares shares = watch::shares_of(recent ? rank.recent() : rank.run());
    const LoopState* const loop = main_loop(rank);
    std::string who = rank.rank ? std::to_string(*rank.rank) : std::to_string(rank.pid);
    if (!rank.recording) who += rank.alive ? " ended" : " gone";
    put(fmt::format(
        "{:<10}{:>8}{:>11}{:>9}{:>9}{:>9}{:>9}{:>9}{:>13}{:>7}", who, rank.locations.size(),
        loop == nullptr ? "" : std::to_string(loop->iterations),
        loop == nullptr ? "" : rate_text(loop->per_second), percent_text(shares.useful),
        percent_text(shares.openmp_waits), percent_text(shares.management),
        percent_text(shares.mpi), rank.events_seen, rank.events_lost()));
  }

  const RunState& run_;
  const std::size_t columns_;
  const std::size_t lines_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> watch_screen(const RunState& run, std::size_t columns,
                                      std::size_t lines) {
  return WatchScreen(run, columns, lines).take();
}

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const watch::Shares& shares) {
  return {{"useful", shares.useful},
          {"openmp_waits", shares.openmp_waits},
          {"openmp_management", shares.management},
          {"mpi", shares.mpi},
          {"unknown", shares.unknown}};
}

Json json_of(const watch::LoopState& loop) {
  return {{"name", loop.name},
          {"level", loop.level},
          {"open", loop.open},
          {"number", loop.number},
          {"visits", loop.visits},
          {"iterations", loop.iterations},
          {"iterations_per_s", loop.per_second},
          {"latest_ns", loop.latest_ns},
          {"median_ns", loop.median_ns},
          {"slowest_ns", loop.slowest_ns},
          {"total_ns", loop.total_ns},
          {"running_ns", loop.running_ns}};
}

Json json_of(const watch::RankState& rank, bool recent) {
  Json out = {{"process", rank.process},
              {"rank", rank.rank ? Json(*rank.rank) : Json(nullptr)},
              {"host", rank.host},
              {"pid", rank.pid},
              {"alive", rank.alive},
              {"recording", rank.recording},
              {"time_ns", rank.time_ns},
              {"regions", rank.regions},
              {"mpi_calls", rank.mpi_calls},
              {"messages_sent", rank.messages_sent},
              {"messages_received", rank.messages_received},
              {"bytes_sent", rank.bytes_sent},
              {"bytes_received", rank.bytes_received},
              {"events_seen", rank.events_seen},
              {"records_written", rank.records_written},
              {"suspended", rank.suspended},
              {"events_lost", rank.events_lost()},
              {"lost", Json::object()},
              {"disk_bytes", rank.disk_bytes},
              {"shares", json_of(watch::shares_of(rank.run()))}};
  for (std::size_t cause = 0; cause < rank.lost.size(); ++cause)
    if (rank.lost[cause] != 0) out["lost"][spool::kLossNames[cause]] = rank.lost[cause];
  if (recent) out["recent_shares"] = json_of(watch::shares_of(rank.recent()));
  out["threads"] = Json::array();
  for (const watch::LocationState& location : rank.locations)
    out["threads"].push_back(
        {{"thread", location.number}, {"classes", class_times_json(location.run)}});
  out["loops"] = Json::array();
  for (const watch::LoopState& loop : rank.loops) out["loops"].push_back(json_of(loop));
  return out;
}

}  // namespace

std::string watch_json(const watch::RunState& run) {
  const analysis::RunEfficiencies& e = run.efficiencies;
  Json out = {{"format", "refrain watch"},
              {"version", 1},
              {"archive", run.archive},
              {"command", run.command},
              {"summary_only", run.summary_only},
              {"job_size", run.job_size == 0 ? Json(nullptr) : Json(run.job_size)},
              {"time_ns", run.time_ns},
              {"recent_ns", run.recent_ns},
              {"imbalance", watch::imbalance_of(run)},
              {"efficiencies",
               {{"parallel", e.parallel},
                {"load_balance", e.load_balance},
                {"communication", e.communication}}},
              {"ranks", Json::array()}};
  for (const watch::RankState& rank : run.ranks)
    out["ranks"].push_back(json_of(rank, run.recent_ns > 0));
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace refrain::tools
