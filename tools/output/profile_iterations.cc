#include "tools/output/profile_iterations.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/archive_files.h"
#include "base/texts.h"
#include "tools/output/info_screen.h"
#include "tools/output/profile_data.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

using analysis::ClassTimes;
using analysis::IterationProfile;
using analysis::TimeClass;
using Json = nlohmann::ordered_json;
using base::duration_text;

constexpr std::size_t kMostLoops = 6;
constexpr double kMinNoCore = 0.01;  // of the time, to be shown

double total(const ClassTimes& times) {
  return std::accumulate(times.begin(), times.end(), 0.0);
}

std::string loop_name(const IterationProfile& profile, std::uint32_t loop) {
  if (loop == IterationProfile::kNoLoop) return "";
  return loop < profile.loops.size() ? profile.loops[loop].name : "several loops";
}

// "7", "7-15": iterations from `first` on.
std::string range(std::uint64_t first, std::uint64_t count) {
  return count < 2 ? std::to_string(first) : fmt::format("{}-{}", first, first + count - 1);
}

class IterationScreen {
 public:
  IterationScreen(const ProfiledIterations& run, std::size_t width, bool all)
      : profile_(run.profile), width_(width), all_(all) {
    for (const IterationProfile::Loop& loop : profile_.loops)
      for (std::size_t i = 0; i < loop.times.size(); ++i)
        mpi_ = mpi_ || (analysis::is_mpi(static_cast<TimeClass>(i)) && loop.times[i] != 0);
    double core_wait = profile_.outside_core_wait_ns;
    for (const IterationProfile::Loop& loop : profile_.loops)
      if (!loop.inner) core_wait += loop.core_wait_ns;
    no_core_ = core_wait >= kMinNoCore * profile_.time_ns && core_wait > 0;
  }

  std::vector<std::string> lines() {
    loops();
    for (const IterationProfile::Loop& loop : profile_.loops)
      if (all_ || is_main(loop)) parts(loop);
    return std::move(out_);
  }

 private:
  std::vector<std::string> titles(std::vector<std::string> cells) const {
    cells.insert(cells.end(), {"Useful", "Synchr.", "Imbal.", "Limited", "Manage"});
    if (mpi_) cells.emplace_back("MPI");
    if (no_core_) cells.emplace_back("No core");
    return cells;
  }
  std::vector<std::string> shares(std::vector<std::string> cells, const ClassTimes& times,
                                  double core_wait) const {
    const double whole = total(times);
    const auto percent = [&](double part) {
      return fmt::format("{:.1f} %", whole > 0 ? 100 * part / whole : 0.0);
    };
    for (const TimeClass cls :
         {TimeClass::kUseful, TimeClass::kSynchronization, TimeClass::kImbalance,
          TimeClass::kLimitedParallelism, TimeClass::kThreadManagement})
      cells.push_back(percent(times[static_cast<std::size_t>(cls)]));
    double mpi = 0;
    for (std::size_t i = 0; i < times.size(); ++i)
      if (analysis::is_mpi(static_cast<TimeClass>(i))) mpi += times[i];
    if (mpi_) cells.push_back(percent(mpi));
    if (no_core_) cells.push_back(percent(core_wait));
    return cells;
  }

  void row(const std::string& name, const std::vector<std::string>& cells) {
    constexpr std::size_t kColumn = 9;
    const std::size_t taken = kColumn * cells.size();
    const std::size_t room = std::max<std::size_t>(14, width_ - std::min(width_, taken));
    std::string line = fmt::format("{:<{}}", fitted(name, room), room);
    if (name.size() > room && !cells.empty()) {
      out_.push_back(fitted(name, width_));
      line.assign(room, ' ');
    }
    for (const std::string& cell : cells) line += fmt::format("{:>{}}", cell, kColumn);
    out_.push_back(std::move(line));
  }

  // The loop with most time; and, where that has come round late, as of a program that drives the run, the one with most time in it.
  bool is_main(const IterationProfile::Loop& loop) const {
    constexpr std::uint64_t kFew = 3;
    const auto& loops = profile_.loops;
    if (&loop == loops.data() || loops[0].with_rows >= kFew || loop.around != 0)
      return &loop == loops.data();
    return std::ranges::none_of(loops, [&](const IterationProfile::Loop& other) {
      return &other < &loop && other.around == 0;
    });
  }

  void loop_row(const IterationProfile::Loop& loop) {
    row((loop.inner ? "    " : "  ") + loop.name,
        shares({std::to_string(loop.with_rows), duration_text(loop.time_ns),
                duration_text(loop.median_ns), duration_text(loop.slowest_ns)},
               loop.times, loop.core_wait_ns));
  }

  // Those inside of a loop (kNoLoop: outside of loops), the first few of them.
  void inner_loops(std::uint32_t around) {
    constexpr std::size_t kMostInner = 3;
    std::size_t shown = 0;
    for (const IterationProfile::Loop& loop : profile_.loops)
      if (loop.inner && loop.around == around && (all_ || shown++ < kMostInner)) {
        loop_row(loop);
        ++shown_;
        any_inner_ = true;
      }
  }

  void loops() {
    row("Outermost loop", titles({"Iterat.", "Time", "Median", "Slowest"}));
    std::size_t outermost = 0;
    for (std::uint32_t i = 0; i < profile_.loops.size(); ++i) {
      const IterationProfile::Loop& loop = profile_.loops[i];
      if (loop.inner || loop.with_rows == 0) continue;
      if (!all_ && outermost == kMostLoops) break;
      ++outermost;
      ++shown_;
      loop_row(loop);
      inner_loops(i);
    }
    row("  outside of loops",
        shares({"",
                duration_text(
                    total(profile_.outside) /
                    static_cast<double>(std::max<std::ptrdiff_t>(
                        1, std::ranges::count(profile_.locations, false,
                                              &IterationProfile::Location::helper)))),
                "", ""},
               profile_.outside, profile_.outside_core_wait_ns));
    inner_loops(IterationProfile::kNoLoop);
    if (shown_ < profile_.loops.size())
      out_.push_back(fmt::format("  and {} more (--all)", profile_.loops.size() - shown_));
    if (any_inner_)
      out_.emplace_back(
          "  indented: inner loops, as long as the one around them was not known");
  }

  void parts(const IterationProfile::Loop& loop) {
    if (loop.parts.empty()) return;
    out_.emplace_back();
    const bool memory = loop.memory.bytes != 0;
    std::vector<std::string> first = titles({"Iterat.", "Mean"});
    if (memory) first.insert(first.end(), {"Memory", "Peak"});
    row(loop.name, first);
    for (const IterationProfile::Part& part : loop.parts) {
      std::vector<std::string> cells =
          shares({std::to_string(part.count), duration_text(part.mean_ns)}, part.times,
                 part.core_wait_ns);
      if (memory)
        for (const std::uint64_t bytes : {part.memory.bytes, part.memory.peak_bytes})
          cells.push_back(bytes == 0 ? "" : base::bytes_text(bytes));
      row("  " + range(part.first, part.count), cells);
    }
    out_.push_back(fmt::format(
        "  slowest: {} {}, {}{}{}", loop.slowest_count < 2 ? "iteration" : "iterations",
        range(loop.slowest_first, loop.slowest_count), duration_text(loop.slowest_ns),
        loop.slowest_count < 2 ? "" : " each",
        loop.slowest_core_wait_ns < kMinNoCore * loop.slowest_ns
            ? ""
            : fmt::format(", {} of it without a core",
                          duration_text(loop.slowest_core_wait_ns))));
  }

  const IterationProfile& profile_;
  const std::size_t width_;
  const bool all_;
  bool mpi_ = false;
  std::size_t shown_ = 0;  // loops
  bool any_inner_ = false;
  bool no_core_ = false;  // threads had no core for a good part of the time
  std::vector<std::string> out_;
};

// With null where there is no sample.
void put_memory(Json& out, const IterationProfile::Memory& memory) {
  const auto bytes = [](std::uint64_t value) {
    return value == 0 ? Json(nullptr) : Json(value);
  };
  out["memory_bytes"] = bytes(memory.bytes);
  out["peak_memory_bytes"] = bytes(memory.peak_bytes);
}

Json json_of(const IterationProfile::Loop& loop) {
  Json out = {{"number", loop.number},
              {"name", loop.name},
              {"inner", loop.inner},
              {"around", loop.around == IterationProfile::kNoLoop ? Json(nullptr)
                                                                  : Json(loop.around)},
              {"iterations", loop.iterations},
              {"with_rows", loop.with_rows},
              {"time_ns", loop.time_ns},
              {"median_ns", loop.median_ns},
              {"slowest_ns", loop.slowest_ns},
              {"slowest_first", loop.slowest_first},
              {"slowest_count", loop.slowest_count},
              {"slowest_core_wait_ns", loop.slowest_core_wait_ns},
              {"core_wait_ns", loop.core_wait_ns},
              {"classes", class_times_json(loop.times)}};
  put_memory(out, loop.memory);
  return out;
}

Json json_of(const IterationProfile& profile, const IterationProfile::Row& row) {
  Json out = {{"loop", row.loop < profile.loops.size() ? Json(row.loop) : Json(nullptr)},
              {"several", row.loop == IterationProfile::kSeveral},
              {"outermost",
               row.outermost < profile.loops.size() ? Json(row.outermost) : Json(nullptr)},
              {"first", row.first},
              {"count", row.count},
              {"begin_ns", row.begin_ns},
              {"end_ns", row.end_ns},
              {"classes", class_times_json(row.times)}};
  if (!row.counters.empty()) out["counters"] = row.counters;
  if (row.memory.bytes != 0) put_memory(out, row.memory);
  return out;
}

}  // namespace

base::Result<ProfiledIterations> read_iterations(const std::string& archive,
                                                 std::size_t most_parts) {
  ProfiledIterations run;
  run.archive = archive;
  std::error_code error;
  if (!std::filesystem::exists(archive, error))
    return base::Failure{"'" + archive + "' does not exist"};
  try {
    const auto summaries =
        summary::read_summaries(base::archive_folder(archive), summary::Iterations::kRead);
    if (!summaries) return summaries.failure();
    run.profile = analysis::iteration_profile(*summaries, most_parts);
  } catch (const std::exception& problem) {
    return base::Failure{problem.what()};
  }
  if (run.profile.locations.empty())
    return base::Failure{
        "'" + archive +
        "' has no summary with iterations (see REFRAIN_SUMMARY_ITERATIONS)"};
  return run;
}

std::vector<std::string> iterations_screen(const ProfiledIterations& run, std::size_t width,
                                           bool all) {
  return IterationScreen(run, width, all).lines();
}

std::string iterations_json(const ProfiledIterations& run) {
  const IterationProfile& profile = run.profile;
  Json out = {{"format", "refrain iterations"},
              {"version", 2},
              {"archive", run.archive},
              {"time_ns", profile.time_ns},
              {"counters", profile.counters},
              {"outside_of_loops", class_times_json(profile.outside)}};
  out["loops"] = Json::array();
  for (const IterationProfile::Loop& loop : profile.loops)
    out["loops"].push_back(json_of(loop));
  out["locations"] = Json::array();
  for (const IterationProfile::Location& location : profile.locations) {
    Json rows = Json::array();
    for (const IterationProfile::Row& row : location.rows)
      rows.push_back(json_of(profile, row));
    out["locations"].push_back(
        {{"process", location.process},
         {"rank", location.rank == summary::RunSummary::kNone ? Json(nullptr)
                                                              : Json(location.rank)},
         {"thread", location.thread},
         {"primary", location.primary},
         {"worker", location.worker},
         {"helper", location.helper},
         {"temporary", location.temporary},
         {"rows", std::move(rows)}});
  }
  // A name that is no UTF-8 must not cost the rest.
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string iterations_csv(const ProfiledIterations& run) {
  const IterationProfile& profile = run.profile;
  std::string out = "process,rank,thread,loop,name,first,count,begin_ns,end_ns,outermost";
  for (std::size_t i = 0; i < analysis::kTimeClasses; ++i)
    out += std::string(",") + analysis::class_name(static_cast<TimeClass>(i)) + "_ns";
  out += ",memory_bytes,peak_memory_bytes";
  for (const std::string& counter : profile.counters) out += "," + csv_quoted(counter);
  out += "\n";
  auto at = std::back_inserter(out);
  for (const IterationProfile::Location& location : profile.locations) {
    for (const IterationProfile::Row& row : location.rows) {
      const bool known = row.loop < profile.loops.size();
      fmt::format_to(
          at, "{},{},{},{},{},{},{},{:.3f},{:.3f},{}", location.process,
          location.rank == summary::RunSummary::kNone ? "" : std::to_string(location.rank),
          location.thread, known ? std::to_string(profile.loops[row.loop].number) : "",
          csv_quoted(loop_name(profile, row.loop)), row.first, row.count, row.begin_ns,
          row.end_ns,
          row.outermost < profile.loops.size()
              ? std::to_string(profile.loops[row.outermost].number)
              : "");
      for (const double time : row.times) fmt::format_to(at, ",{:.3f}", time);
      for (const std::uint64_t bytes : {row.memory.bytes, row.memory.peak_bytes})
        out += "," + (bytes == 0 ? "" : std::to_string(bytes));
      for (const std::uint64_t value : row.counters) fmt::format_to(at, ",{}", value);
      out += "\n";
    }
  }
  return out;
}

}  // namespace refrain::tools
