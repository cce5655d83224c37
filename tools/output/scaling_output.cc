#include "tools/output/scaling_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "analysis/ideal/ideal_network.h"
#include "analysis/profile/event_summary.h"
#include "base/archive_files.h"
#include "base/notes.h"
#include "base/texts.h"
#include "spool/spool_folder.h"
#include "summary/run_summary.h"
#include "tools/output/info_screen.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

using analysis::Factors;
using analysis::GrowthModel;
using analysis::PlaceLoss;
using analysis::PlaceTime;
using analysis::Scaling;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxPlaces = 8;  // of a kind, on the screen
constexpr double kMinLoss = 0.01;      // of the time of all threads of the largest run

struct Factor {
  const char* name;   // in JSON and CSV
  const char* title;  // indented as a tree
  std::function<double(const Factors&)> value;
  enum class Of { kAll, kHybrid, kThreads, kCounters, kIdeal, kIdealHybrid } of = Of::kAll;

  bool is_known(const Factors& f) const {
    if (of == Of::kIdeal || of == Of::kIdealHybrid) return f.transfer > 0;
    return of != Of::kCounters || f.counted;
  }
};

const std::vector<Factor>& factor_table() {
  using Of = Factor::Of;
  static const std::vector<Factor> all = {
      {"global", "Global efficiency", [](const Factors& f) { return f.global; }},
      {"parallel", "  parallel efficiency",
       [](const Factors& f) { return f.efficiencies.parallel; }},
      {"load_balance", "    load balance",
       [](const Factors& f) { return f.efficiencies.load_balance; }},
      {"communication", "    communication",
       [](const Factors& f) { return f.efficiencies.communication; }},
      {"serialization", "      serialization",
       [](const Factors& f) { return f.serialization(); }, Of::kIdeal},
      {"transfer", "      transfer", [](const Factors& f) { return f.transfer; },
       Of::kIdeal},
      {"mpi", "    MPI", [](const Factors& f) { return f.efficiencies.mpi; }, Of::kHybrid},
      {"mpi_load_balance", "      load balance",
       [](const Factors& f) { return f.efficiencies.mpi_load_balance; }, Of::kHybrid},
      {"mpi_communication", "      communication",
       [](const Factors& f) { return f.efficiencies.mpi_communication; }, Of::kHybrid},
      {"mpi_serialization", "        serialization",
       [](const Factors& f) { return f.mpi_serialization(); }, Of::kIdealHybrid},
      {"mpi_transfer", "        transfer", [](const Factors& f) { return f.transfer; },
       Of::kIdealHybrid},
      {"openmp", "    OpenMP (parallel / MPI)",
       [](const Factors& f) { return f.efficiencies.openmp; }, Of::kHybrid},
      {"openmp_load_balance", "      load balance (quotient)",
       [](const Factors& f) { return f.efficiencies.openmp_load_balance; }, Of::kHybrid},
      {"openmp_communication", "      communication (quotient)",
       [](const Factors& f) { return f.efficiencies.openmp_communication; }, Of::kHybrid},
      {"lost_mpi", "    lost in MPI",
       [](const Factors& f) { return f.efficiencies.lost_mpi; }, Of::kThreads},
      {"lost_serial", "    lost without work (serial)",
       [](const Factors& f) { return f.efficiencies.lost_serial; }, Of::kThreads},
      {"lost_openmp", "    lost in parallel regions",
       [](const Factors& f) { return f.efficiencies.lost_openmp; }, Of::kThreads},
      {"lost_other", "    lost otherwise",
       [](const Factors& f) { return f.efficiencies.lost_other; }, Of::kThreads},
      {"computation", "  computation scaling",
       [](const Factors& f) { return f.computation; }},
      {"instructions", "    instructions", [](const Factors& f) { return f.instructions; },
       Of::kCounters},
      {"ipc", "    IPC", [](const Factors& f) { return f.ipc; }, Of::kCounters},
      {"frequency", "    frequency", [](const Factors& f) { return f.frequency; },
       Of::kCounters},
  };
  return all;
}

bool is_wanted(const Scaling& scaling, Factor::Of of) {
  const auto any = [&](auto&& has) { return std::ranges::any_of(scaling.factors, has); };
  const auto threads = [](const Factors& f) { return f.threads > f.processes; };
  const auto mpi = [](const Factors& f) { return f.efficiencies.has_mpi; };
  switch (of) {
    case Factor::Of::kAll:
      return true;
    case Factor::Of::kHybrid:
      return any(mpi) && any(threads);
    case Factor::Of::kThreads:
      return any(threads);
    case Factor::Of::kCounters:
      return any([](const Factors& f) { return f.counted; });
    case Factor::Of::kIdeal:
      return any([](const Factors& f) { return f.transfer > 0; }) && !any(threads);
    case Factor::Of::kIdealHybrid:
      return any([](const Factors& f) { return f.transfer > 0; }) && any(threads);
  }
  return false;
}

// Nothing is not negative.
std::string share_text(double share) {
  return fmt::format("{:.1f} %", std::abs(share) < 0.0005 ? 0.0 : 100 * share);
}

const char* kind_name(PlaceTime::Kind kind) {
  switch (kind) {
    case PlaceTime::Kind::kCallPath:
      return "call_path";
    case PlaceTime::Kind::kBetween:
      return "between";
    case PlaceTime::Kind::kLoop:
      return "loop";
  }
  return "";
}

std::string cpu_text(double ns) {
  return ns < 0 ? "-" + base::duration_text(-ns, 3) : base::duration_text(ns, 3);
}

class ScalingScreen {
 public:
  ScalingScreen(const Scaling& scaling, std::size_t width, bool all)
      : scaling_(scaling), width_(std::clamp<std::size_t>(width, 80, 400)), all_(all) {}

  std::vector<std::string> lines() {
    put("Scaling",
        fmt::format("{}, {}", scaling_.weak ? "weak" : "strong", scaling_.weak_why));
    put("Part", scaling_.part.empty() ? "the whole run without MPI start and end"
                                      : "the loop " + scaling_.part);
    for (const std::string& note : scaling_.notes) put("Note", note + ".");
    table();
    if (!scaling_.findings.empty()) out_.emplace_back();
    std::size_t number = 0;
    for (const std::string& finding : scaling_.findings)
      wrap(fmt::format("{}. ", ++number), finding, 3);
    places(PlaceTime::Kind::kCallPath, "Call path, whole run, exclusive");
    places(PlaceTime::Kind::kBetween, "Code between events, whole run");
    places(PlaceTime::Kind::kLoop, "Outermost loop, inclusive");
    out_.emplace_back();
    put("Lost",
        scaling_.weak
            ? "time of all threads: largest run - base run x (threads / threads of the base)."
            : "time of all threads: largest run - base run.");
    if (std::ranges::any_of(scaling_.losses, [](const PlaceLoss& loss) {
          return loss.kind != PlaceTime::Kind::kCallPath && loss.ns[0] <= 0;
        }))
      put("",
          "Of loops and code between events that the base lacks: largest run - first run that has them.");
    if (scaling_.at == 0)
      put("",
          fmt::format("Models need at least {} different numbers of threads; there are {}.",
                      GrowthModel::kMinScales, scaling_.scales));
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kLabel = 13;
  static constexpr std::size_t kName = 32;
  static constexpr std::size_t kColumn = 10;

  void wrap(std::string line, const std::string& text, std::size_t indent) {
    std::istringstream words(text);
    bool first = true;
    for (std::string word; words >> word; first = false) {
      if (!first && line.size() + 1 + word.size() > width_) {
        out_.push_back(std::move(line));
        line.assign(indent, ' ');
        first = true;
      }
      line += (first ? "" : " ") + word;
    }
    out_.push_back(std::move(line));
  }
  void put(const char* label, const std::string& text) {
    wrap(fmt::format("{:<{}}", label, kLabel), text, kLabel);
  }

  // As many runs side by side as there is room for.
  void table() {
    const std::size_t most = (width_ - kName) / kColumn;
    const std::size_t runs = scaling_.factors.size();
    for (std::size_t first = 0; first < runs; first += most) {
      const std::size_t end = std::min(runs, first + most);
      const auto row = [&](const std::string& name, auto&& cell) {
        std::string line = fmt::format("{:<{}}", name, kName);
        for (std::size_t i = first; i < end; ++i)
          line += fmt::format("{:>{}}", cell(scaling_.factors[i]), kColumn);
        out_.push_back(std::move(line));
      };
      out_.emplace_back();
      if (scaling_.mpi) row("Ranks", [](const Factors& f) { return f.processes; });
      row("Threads", [](const Factors& f) { return f.threads; });
      if (!scaling_.part.empty())
        row("Iterations", [](const Factors& f) { return f.iterations; });
      row("Time", [](const Factors& f) { return cpu_text(f.time_ns); });
      if (std::ranges::any_of(scaling_.factors,
                              [](const Factors& f) { return f.repeats > 1; })) {
        row("Repeats (median shown)", [](const Factors& f) { return f.repeats; });
        row("Spread of times", [](const Factors& f) {
          return f.repeats > 1 ? fmt::format("{:.1f} %", 100 * f.spread) : "-";
        });
      }
      row(scaling_.weak ? "Speed-up (scaled)" : "Speed-up",
          [](const Factors& f) { return fmt::format("{:.2f}", f.speedup); });
      for (const Factor& factor : factor_table())
        if (is_wanted(scaling_, factor.of))
          row(factor.title, [&](const Factors& f) {
            return factor.is_known(f) ? share_text(factor.value(f)) : std::string("-");
          });
    }
  }

  void places(PlaceTime::Kind kind, const char* title) {
    std::vector<const PlaceLoss*> found;
    for (const PlaceLoss& loss : scaling_.losses)
      if (loss.kind == kind &&
          (all_ || loss.lost_ns.back() >= kMinLoss * scaling_.all_ns.back()))
        found.push_back(&loss);
    if (found.empty()) return;
    // The base, and as many of the largest as there is room for.
    constexpr std::size_t kNarrow = 9;
    const std::size_t runs = scaling_.factors.size();
    const std::size_t most = std::max<std::size_t>(2, (width_ - 34) / kNarrow - 2);
    std::vector<std::size_t> shown = {0};
    for (std::size_t i = runs < most ? 1 : runs - most + 1; i < runs; ++i)
      if (i != 0) shown.push_back(i);
    const std::size_t room = width_ - kNarrow * (shown.size() + 2);
    out_.emplace_back();
    std::string head = fmt::format("{:<{}}{:>{}}{:>{}}", fitted(title, room), room, "Lost",
                                   kNarrow, "Share", kNarrow);
    for (const std::size_t i : shown)
      head += fmt::format("{:>{}}",
                          scaling_.mpi ? fmt::format("{}", scaling_.factors[i].processes)
                                       : fmt::format("{}", scaling_.factors[i].threads),
                          kNarrow);
    out_.push_back(std::move(head));
    std::size_t number = 0;
    for (const PlaceLoss* loss : found) {
      if (!all_ && number++ == kMaxPlaces) {
        out_.push_back(fmt::format("  and {} more (--all)", found.size() - kMaxPlaces));
        break;
      }
      // A name that is too long has a line of its own.
      std::string name = "  " + loss->text;
      if (name.size() >= room) {
        out_.push_back(fitted(name, width_));
        name.clear();
      }
      std::string line = fmt::format(
          "{:<{}}{:>{}}{:>{}}", name, room, cpu_text(loss->lost_ns.back()), kNarrow,
          fmt::format("{:.1f} %", 100 * loss->lost_ns.back() / scaling_.all_ns.back()),
          kNarrow);
      for (const std::size_t i : shown)
        line +=
            fmt::format("{:>{}}", loss->ns[i] > 0 ? cpu_text(loss->ns[i]) : "-", kNarrow);
      out_.push_back(std::move(line));
      if (loss->time && scaling_.at > 0)
        out_.push_back(fmt::format(
            "    {}; at {:.0f} threads {:.0f} % of the time ({:.0f} to {:.0f} %)",
            loss->time->text(), scaling_.at, 100 * loss->share.value, 100 * loss->share.low,
            100 * loss->share.high));
    }
  }

  const Scaling& scaling_;
  const std::size_t width_;
  const bool all_;
  std::vector<std::string> out_;
};

Json seconds_json(const std::vector<double>& ns) {
  Json out = Json::array();
  for (const double each : ns) out.push_back(each / 1e9);
  return out;
}

// `unit`: of the values in that of the file.
Json model_json(const std::optional<GrowthModel>& model, double at, double unit) {
  if (!model) return {};
  const GrowthModel::Interval there = model->at(at);
  return {{"term", model->term()},
          {"text", model->text()},
          {"constant", model->constant / unit},
          {"factor", model->factor / unit},
          {"exponent", model->factor == 0 ? 0 : model->exponent},
          {"logarithms", model->factor == 0 ? 0 : model->logarithms},
          {"smape", model->error},
          {"adjusted_r2", model->r2},
          {"at",
           {{"value", there.value / unit},
            {"low", there.low / unit},
            {"high", there.high / unit}}}};
}

// A run that is not among the others shall not be missed silently.
void note_left_out(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(folder, error)) return;
  const fs::directory_iterator files(folder, error);
  if (error)
    base::note("'" + folder + "' is left out: it cannot be read: " + error.message());
  else if (const auto recording = spool::recording_in(folder);
           recording == spool::Recording::kEmpty ||
           recording == spool::Recording::kUnreadable)
    base::note("'" + folder +
               "' is left out: it is a recording with nothing to make an archive from");
  else if (recording != spool::Recording::kNone)
    base::note("'" + folder +
               "' is left out: it is a recording without an archive ('refrain recover " +
               base::shell_word(folder) + "' makes the archive)");
}

}  // namespace

std::vector<std::string> archives_in(const std::vector<std::string>& runs) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const std::string& run : runs) {
    std::error_code error;
    std::vector<std::string> inside;
    if (fs::is_directory(run, error) && !base::holds_archive(run))
      for (const auto& entry : fs::directory_iterator(run, error)) {
        const std::string each = entry.path().string();
        if (base::holds_archive(each))
          inside.push_back(each);
        else
          note_left_out(each);
      }
    std::ranges::sort(inside);
    if (inside.empty()) inside.push_back(run);
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

base::Result<Scaling> read_scaling(const std::vector<std::string>& archives,
                                   const analysis::ScalingOptions& options,
                                   const reader::Progress& progress) {
  std::vector<analysis::Scale> runs;
  for (const std::string& archive : archives) {
    if (progress) progress(runs.size(), archives.size());
    auto run = read_scale(archive);
    if (!run) return run.failure();
    runs.push_back(*std::move(run));
  }
  if (const auto one = analysis::of_one_program(runs); !one) return one.failure();
  return analysis::scaling_of(analysis::medians_of(std::move(runs)), options);
}

bool are_of_one_size(const std::vector<std::string>& archives) {
  std::set<std::pair<std::size_t, std::size_t>> sizes;
  for (const std::string& archive : archives) {
    reader::ArchiveStream stream;
    const std::vector<std::string> earlier = base::take_notes();
    const bool opened =
        stream.open_anchor(archive).ok() &&
        stream.read_definitions(reader::DefinitionChoice::kWithoutGroups).ok();
    base::take_notes();  // said again when it is read
    for (const std::string& line : earlier) base::note(line);
    if (!opened) return false;
    const reader::TraceDefinitions& definitions = stream.definitions();
    const auto threads = std::ranges::count_if(
        definitions.locations, [](const reader::LocationInfo& location) {
          return location.is_thread() && !location.only_in_regions();
        });
    sizes.emplace(definitions.processes.size(), threads);
    if (sizes.size() > 1) return false;
  }
  return archives.size() > 2;
}

base::Result<analysis::Ensemble> read_ensemble(const std::vector<std::string>& archives,
                                               const reader::Progress& progress) {
  std::vector<analysis::Scale> runs;
  for (const std::string& archive : archives) {
    if (progress) progress(runs.size(), archives.size());
    auto run = read_scale(archive, IdealTimes::kUnknown);
    if (!run) return run.failure();
    runs.push_back(*std::move(run));
  }
  return analysis::ensemble_of(std::move(runs));
}

namespace {

// Factors of a run of which a part is not known would take that part for lost.
base::Result<analysis::Scale> known(analysis::Scale scale) {
  const double unknown = scale.whole.efficiencies.unknown;
  if (scale.whole.efficiencies.known()) return scale;
  return base::Failure{fmt::format(
      "{}: {:.0f} % of the time is not known: iterations were not written, and there is no summary, or files of events are damaged; record it "
      "without --no-summary, or with -n 0",
      scale.name, 100 * unknown)};
}

}  // namespace

base::Result<analysis::Scale> read_scale(const std::string& archive,
                                         IdealTimes ideal_times) {
  try {
    auto summaries =
        summary::read_summaries(base::archive_folder(archive), summary::Iterations::kRead);
    if (!summaries) return base::Failure{archive + ": " + summaries.error()};
    const bool mpi = std::ranges::any_of(*summaries, [](const summary::RunSummary& each) {
      return each.rank != summary::RunSummary::kNone;
    });
    const bool replayed = ideal_times == IdealTimes::kReplayed;
    if (!summaries->empty() && (!mpi || !replayed))
      return analysis::scale_of(*summaries, archive);
    if (!replayed) {
      const auto events = analysis::summarize_events(archive, {.messages = false});
      if (!events) return events.failure();
      return known(analysis::scale_of(events->processes, archive));
    }
    const std::vector<std::string> earlier = base::take_notes();
    auto ideal = analysis::ideal_run(archive);
    // A replay without some of the events is none.
    const std::vector<std::string> lacks = base::take_notes();
    for (const auto* const lines : {&earlier, &lacks})
      for (const std::string& line : *lines) base::note(line);
    if (ideal && !lacks.empty()) {
      *ideal = {};
      ideal->unknown = "not all events can be read";
    }
    if (!ideal && summaries->empty()) return ideal.failure();
    if (!summaries->empty()) {
      analysis::IdealRun none;
      none.unknown = ideal ? "" : ideal.error();
      return analysis::scale_of(*summaries, archive, ideal ? &*ideal : &none);
    }
    const auto events = analysis::summarize_events(archive, {.messages = false});
    if (!events) return events.failure();
    return known(analysis::scale_of(events->processes, archive, &*ideal));
  } catch (const std::exception& problem) {
    return base::Failure{archive + ": " + problem.what()};
  }
}

std::vector<std::string> scaling_screen(const Scaling& scaling, std::size_t width,
                                        bool all) {
  return ScalingScreen(scaling, width, all).lines();
}

Json scaling_value(const Scaling& scaling) {
  Json runs = Json::array(), losses = Json::array();
  for (std::size_t i = 0; i < scaling.factors.size(); ++i) {
    const Factors& f = scaling.factors[i];
    Json values = Json::object();
    for (const Factor& factor : factor_table())
      values[factor.name] = factor.is_known(f) ? Json(factor.value(f)) : Json();
    runs.push_back({{"archive", scaling.names[i]},
                    {"processes", f.processes},
                    {"threads", f.threads},
                    {"iterations", scaling.part.empty() ? Json() : Json(f.iterations)},
                    {"seconds", f.time_ns / 1e9},
                    {"repeats", f.repeats},
                    {"spread", f.spread},
                    {"whole_run_thread_seconds", scaling.all_ns[i] / 1e9},
                    {"speedup", f.speedup},
                    {"factors", std::move(values)}});
  }
  Json steps = Json::array();
  for (const analysis::ScaleStep& step : scaling.steps) {
    Json lost = Json::object();
    for (const auto& loss : step.losses) lost[loss.factor] = loss.points;
    const auto& call = step.call;
    steps.push_back({{"from", scaling.names[step.from]},
                     {"to", scaling.names[step.to]},
                     {"points", step.points},
                     {"lost", std::move(lost)},
                     {"call", call.place.empty()
                                  ? Json()
                                  : Json{{"place", call.place},
                                         {"points", call.points},
                                         {"counted", call.messages ? "messages" : "calls"},
                                         {"of_a_rank", {call.count_before, call.count_now}},
                                         {"bytes", {call.bytes_before, call.bytes_now}}}}});
  }
  for (const PlaceLoss& loss : scaling.losses) {
    Json each = {{"kind", kind_name(loss.kind)},
                 {"place", loss.text},
                 {"thread_seconds", seconds_json(loss.ns)},
                 {"lost_seconds", seconds_json(loss.lost_ns)}};
    if (scaling.at > 0) {
      each["models"] = {{"time", model_json(loss.time, scaling.at, 1e9)},
                        {"visits", model_json(loss.visits, scaling.at, 1)},
                        {"bytes", model_json(loss.bytes, scaling.at, 1)}};
      each["share_at"] = loss.time ? Json{{"value", loss.share.value},
                                          {"low", loss.share.low},
                                          {"high", loss.share.high}}
                                   : Json();
    }
    losses.push_back(std::move(each));
  }
  Json factors = Json::array();
  for (const Factor& factor : factor_table()) {
    if (!is_wanted(scaling, factor.of)) continue;
    const std::string title = factor.title;
    const std::size_t indent = title.find_first_not_of(' ');
    factors.push_back({{"name", factor.name},
                       {"title", title.substr(indent)},
                       {"level", indent / 2},
                       {"lost", factor.of == Factor::Of::kThreads}});
  }
  return {{"format", "refrain scaling"},
          {"version", 1},
          {"scaling", scaling.weak ? "weak" : "strong"},
          {"scaling_why", scaling.weak_why},
          {"loop", scaling.part.empty() ? Json() : Json(scaling.part)},
          {"factors", std::move(factors)},
          {"runs", std::move(runs)},
          {"steps", std::move(steps)},
          {"findings", scaling.findings},
          {"models_at_threads", scaling.at > 0 ? Json(scaling.at) : Json()},
          {"losses", std::move(losses)},
          {"notes", scaling.notes}};
}

std::string scaling_json(const Scaling& scaling) {
  return scaling_value(scaling).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string scaling_csv(const Scaling& scaling) {
  std::string out = "kind,name,metric,archive,processes,threads,value\n";
  const auto line = [&](const char* kind, const std::string& name, const char* metric,
                        std::size_t run, double value) {
    out += fmt::format("{},{},{},{},{},{},{}\n", kind, csv_quoted(name), metric,
                       csv_quoted(scaling.names[run]), scaling.factors[run].processes,
                       scaling.factors[run].threads, value);
  };
  for (std::size_t run = 0; run < scaling.factors.size(); ++run) {
    const Factors& f = scaling.factors[run];
    line("run", scaling.part, "seconds", run, f.time_ns / 1e9);
    line("run", scaling.part, "speedup", run, f.speedup);
    for (const Factor& factor : factor_table())
      if (factor.is_known(f)) line("run", scaling.part, factor.name, run, factor.value(f));
  }
  for (const PlaceLoss& loss : scaling.losses)
    for (std::size_t run = 0; run < scaling.factors.size(); ++run) {
      line(kind_name(loss.kind), loss.text, "thread_seconds", run, loss.ns[run] / 1e9);
      line(kind_name(loss.kind), loss.text, "lost_seconds", run, loss.lost_ns[run] / 1e9);
    }
  return out;
}

}  // namespace refrain::tools
