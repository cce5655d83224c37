#include "tools/output/profile_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string_view>

#include "analysis/profile/run_profile.h"
#include "base/texts.h"
#include "tools/output/info_screen.h"
#include "tools/output/message_output.h"

namespace refrain::tools {
namespace {

using analysis::ClassTimes;
using analysis::RunProfile;
using analysis::TimeClass;
using base::duration_text;

constexpr std::size_t kMaxRows = 12;
constexpr double kMinShareOfPaths = 0.001;
constexpr double kMaxBytes = 1e19;  // that fit an integer

double of(const ClassTimes& times, TimeClass cls) {
  return times[static_cast<std::size_t>(cls)];
}

double mpi_of(const ClassTimes& times) {
  double sum = 0;
  for (std::size_t i = 0; i < times.size(); ++i)
    if (analysis::is_mpi(static_cast<TimeClass>(i))) sum += times[i];
  return sum;
}

class PathScreen {
 public:
  PathScreen(const ProfiledRun& run, const ProfileScreenOptions& options)
      : run_(run), profile_(run.profile), totals_(run.totals), options_(options) {}

  std::vector<std::string> lines() {
    facts();
    if (options_.messages) {
      messages();
      return std::move(out_);
    }
    efficiency();
    classes();
    paths();
    regions();
    mpi();
    if (!totals_.mpi.empty()) messages();
    return std::move(out_);
  }

 private:
  // Wrapped at blanks; further lines begin under the text.
  void put(const char* label, const std::string& text) {
    std::string line = fmt::format("{:<{}}", label, kLabel);
    bool first = true;
    std::istringstream words(text);
    for (std::string word; words >> word; first = false) {
      if (!first && line.size() + 1 + word.size() > options_.width) {
        out_.push_back(std::move(line));
        line.assign(kLabel, ' ');
        first = true;
      }
      line += (first ? "" : " ") + word;
    }
    out_.push_back(std::move(line));
  }

  // Columns of numbers after `name`. `narrow`: all but the first two, which have more room.
  static constexpr std::size_t kColumn = 11;
  static constexpr std::size_t kNarrow = 8;
  void row(const std::string& name, const std::vector<std::string>& cells,
           bool narrow = false) {
    const auto width = [&](std::size_t cell) {
      return !narrow ? kColumn : cell < 2 ? kNarrow + 1 : kNarrow;
    };
    std::size_t taken = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) taken += width(i);
    const std::size_t room =
        std::max<std::size_t>(12, options_.width - std::min(options_.width, taken));
    std::string line = fmt::format("{:<{}}", fitted(name, room), room);
    for (std::size_t i = 0; i < cells.size(); ++i)
      line += fmt::format("{:>{}}", cells[i], width(i));
    out_.push_back(std::move(line));
  }
  void left_out(std::size_t shown, std::size_t of_all) {
    if (shown < of_all)
      out_.push_back(fmt::format("  and {} more (--all)", of_all - shown));
  }

  void facts() {
    const std::string program = !run_.command.empty() || profile_.processes.empty()
                                    ? run_.command
                                    : profile_.processes[0].program;
    put("Program", fitted(program, options_.width - kLabel));
    const bool ranks =
        std::any_of(profile_.processes.begin(), profile_.processes.end(),
                    [](const auto& p) { return p.rank != RunProfile::kNone; });
    const std::size_t processes = profile_.processes.size();
    put("Run",
        counted(processes, ranks ? "rank" : "process", ranks ? "ranks" : "processes") +
            ", " + counted(profile_.threads(), "thread", "threads") + " in all, " +
            duration_text(totals_.run_ns) + ", " + duration_text(totals_.time_ns) +
            " of all threads");
    if (profile_.helpers() != 0)
      put("", counted(profile_.helpers(), "helper thread", "helper threads") +
                  " of the OpenMP runtime, of which only the time in regions counts");
    if (!run_.openmp_note.empty()) put("OpenMP", run_.openmp_note);
    put("Archive", run_.archive);
    put("Source", source());
    constexpr double kNoCore = 0.02;  // of all time; less is usual
    if (profile_.core_wait_ns >= kNoCore * totals_.time_ns && totals_.time_ns > 0)
      put("Cores",
          fmt::format(
              "threads were ready to run, but on no core, for {} of all times below "
              "({}; refrain analyze says why)",
              percent_text(profile_.core_wait_ns, totals_.time_ns),
              duration_text(profile_.core_wait_ns)));
    const auto ended = [](const RunProfile::Process& p) { return p.complete; };
    const auto killed =
        processes - static_cast<std::size_t>(std::count_if(
                        profile_.processes.begin(), profile_.processes.end(), ended));
    if (killed != 0)
      put("Incomplete", counted(killed, "process", "processes") +
                            " ended abnormally: counted until then");
    if (profile_.locations_without != 0)
      put("Not counted", counted(profile_.locations_without, "thread", "threads") +
                             " that had no memory for a summary");
    if (totals_.regions_elsewhere != 0)
      put("No place", fmt::format("{} of which only the number and time are known: {}",
                                  counted(totals_.regions_elsewhere, "region", "regions"),
                                  duration_text(totals_.elsewhere_ns)));
  }

  std::string source() const {
    if (!run_.from_events)
      return run_.events_seen == 0
                 ? "summary of all events"
                 : fmt::format(
                       "summary of all {}; {} are in the archive",
                       counted(run_.events_seen, "event", "events"),
                       run_.summary_only ? "none" : std::to_string(run_.events_written));
    std::string text =
        fmt::format("{} in the archive{}", counted(run_.events_written, "event", "events"),
                    run_.asked_for_events ? "" : ", which has no summary");
    if (run_.gaps != 0)
      text += fmt::format("; {} not written: numbers and times are too small",
                          counted(run_.gaps, "interval was", "intervals were"));
    return text;
  }

  void efficiency() {
    const analysis::RunEfficiencies& e = totals_.efficiencies;
    if (!e.known())
      return put(
          "Efficiency",
          fmt::format("not known: {} of the time is {}", percent_text(e.unknown),
                      run_.gaps != 0 ? "of iterations that were not written, and there is "
                                       "no summary"
                                     : "in regions without a place, or the tracer's"));
    put("Efficiency", fmt::format("parallel {} = load balance {} x communication {}",
                                  percent_text(e.parallel), percent_text(e.load_balance),
                                  percent_text(e.communication)));
    if (!e.has_mpi) return;
    put("",
        fmt::format("MPI {} = load balance {} x communication {}", percent_text(e.mpi),
                    percent_text(e.mpi_load_balance), percent_text(e.mpi_communication)));
    if (profile_.threads() > profile_.processes.size())
      put("", fmt::format("OpenMP {} = parallel / MPI", percent_text(e.openmp)));
  }

  void classes() {
    out_.emplace_back();
    row("Time of all threads", {"Time", "Share", "Thread min", "Thread max"});
    std::vector<std::size_t> order(analysis::kTimeClasses);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return totals_.times[a] > totals_.times[b];
    });
    for (const std::size_t cls : order) {
      if (totals_.times[cls] == 0) continue;
      double least = totals_.time_ns, most = 0;
      for (const ClassTimes& times : totals_.by_location) {
        least = std::min(least, times[cls]);
        most = std::max(most, times[cls]);
      }
      const auto which = static_cast<TimeClass>(cls);
      const bool gap = run_.from_events && which == TimeClass::kUnknown;
      row(fmt::format("  {}",
                      gap ? "not written, or the tracer's" : analysis::class_title(which)),
          {duration_text(totals_.times[cls]),
           percent_text(totals_.times[cls], totals_.time_ns), duration_text(least),
           duration_text(most)});
    }
  }

  // With as much of what is around it as there is room for.
  std::string in_context(std::uint32_t number, std::size_t room) const {
    constexpr const char* kDots = "... > ";
    std::string text = path_name(profile_, PathId(number));
    for (std::uint32_t up = profile_.paths[number].parent; up != RunProfile::kNone;) {
      const std::uint32_t above = profile_.paths[up].parent;
      const std::string outer = path_name(profile_, PathId(up)) + " > ";
      const std::size_t dots = above == RunProfile::kNone ? 0 : std::string(kDots).size();
      if (outer.size() + text.size() + dots > room) return kDots + text;
      text.insert(0, outer);
      up = above;
    }
    return text;
  }

  void paths() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < profile_.paths.size(); ++i)
      if (totals_.paths[i].visits != 0) order.push_back(i);
    if (order.empty()) return;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return totals_.paths[a].own_ns > totals_.paths[b].own_ns;
    });
    out_.emplace_back();
    row("Call path, by own time", {"Own time", "Share", "Visits", "Mean"});
    std::size_t shown = 0;
    for (const std::uint32_t path : order) {
      const analysis::PathTotal& total = totals_.paths[path];
      const bool small = total.own_ns < kMinShareOfPaths * totals_.time_ns;
      if (!options_.all && (shown == kMaxRows || small)) break;
      row("  " +
              in_context(path, options_.width - std::min(options_.width, 4 * kColumn + 3)),
          {duration_text(total.own_ns), percent_text(total.own_ns, totals_.time_ns),
           std::to_string(total.visits),
           duration_text(total.time_ns / static_cast<double>(total.visits))});
      ++shown;
    }
    left_out(shown, order.size());
  }

  void regions() {
    if (totals_.parallel_regions.empty()) return;
    const bool mpi = totals_.efficiencies.has_mpi;
    out_.emplace_back();
    std::vector<std::string> titles = {"Forks",  "Time",    "Useful", "Synchr.",
                                       "Imbal.", "Limited", "Manage"};
    if (mpi) titles.emplace_back("MPI");
    row("Parallel region", titles, true);
    std::size_t shown = 0;
    for (const analysis::ParallelRegion& region : totals_.parallel_regions) {
      if (!options_.all && shown == kMaxRows) break;
      const double whole = region.total_ns();
      const auto share = [&](TimeClass cls) {
        return percent_text(of(region.times, cls), whole);
      };
      std::vector<std::string> cells = {
          region.forks == 0 ? "?" : std::to_string(region.forks),
          duration_text(whole),
          share(TimeClass::kUseful),
          share(TimeClass::kSynchronization),
          share(TimeClass::kImbalance),
          share(TimeClass::kLimitedParallelism),
          share(TimeClass::kThreadManagement)};
      if (mpi) cells.push_back(percent_text(mpi_of(region.times), whole));
      row("  " + place_of(region.region), cells, true);
      ++shown;
    }
    left_out(shown, totals_.parallel_regions.size());
  }

  // "cg.c:37"; of a league of teams "teams @cg.c:37".
  std::string place_of(std::uint32_t region) const {
    constexpr std::string_view kParallel = "parallel @";
    const std::string text = region_text(profile_.regions[region]);
    return text.starts_with(kParallel) ? text.substr(kParallel.size()) : text;
  }

  void mpi() {
    if (totals_.mpi.empty()) return;
    out_.emplace_back();
    row("MPI procedure", {"Calls", "Time", "Share", "Mean", "Data", "Average"});
    std::size_t shown = 0;
    for (const analysis::MpiProcedure& procedure : totals_.mpi) {
      if (!options_.all && shown == kMaxRows) break;
      const std::uint64_t bytes = procedure.bytes_sent + procedure.bytes_received;
      const bool any = bytes != 0;
      const double mean = procedure.calls == 0
                              ? 0
                              : procedure.time_ns / static_cast<double>(procedure.calls);
      row("  " + procedure.name,
          {std::to_string(procedure.calls), duration_text(procedure.time_ns),
           percent_text(procedure.time_ns, totals_.time_ns), duration_text(mean),
           any ? base::bytes_text(bytes) : "-",
           any ? base::bytes_text(static_cast<std::uint64_t>(
                     std::min(procedure.average_bytes(), kMaxBytes)))
               : "-"});
      ++shown;
    }
    left_out(shown, totals_.mpi.size());
  }

  void messages() {
    for (std::string& line : message_screen(
             run_,
             {.width = options_.width, .all = options_.all, .brief = !options_.messages}))
      out_.push_back(std::move(line));
  }

  const ProfiledRun& run_;
  const RunProfile& profile_;
  const analysis::ProfileTotals& totals_;
  ProfileScreenOptions options_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> profile_screen(const ProfiledRun& run,
                                        const ProfileScreenOptions& options) {
  return PathScreen(run, options).lines();
}

}  // namespace refrain::tools
