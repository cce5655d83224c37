#include "analysis/scaling/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/texts.h"

namespace refrain::analysis {
namespace {

// Loops are detected an iteration or two earlier or later.
constexpr std::uint64_t kNearlyEqual = 8;  // iterations
constexpr double kMinPoint = 0.01;
constexpr double kSpread = 0.25;  // of repeated runs
constexpr double kMainShare =
    0.05;                       // of the time of each run, of what may be its main loop
constexpr double kCores = 0.1;  // of the time of all threads, without a core

std::string number_text(double value) {
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string scale_text(const Scaling& scaling, const Factors& factors) {
  if (!scaling.mpi)
    return fmt::format("{} thread{}", factors.threads, factors.threads == 1 ? "" : "s");
  std::string text =
      fmt::format("{} rank{}", factors.processes, factors.processes == 1 ? "" : "s");
  if (factors.threads > factors.processes)
    text += fmt::format(" ({} threads)", factors.threads);
  return text;
}

class ScalingBuilder {
 public:
  ScalingBuilder(std::vector<Scale> runs, const ScalingOptions& options)
      : runs_(std::move(runs)), options_(options) {
    std::ranges::stable_sort(runs_, [](const Scale& a, const Scale& b) {
      return std::pair(a.threads, a.processes) < std::pair(b.threads, b.processes);
    });
  }

  base::Result<Scaling> build() {
    if (runs_.size() < 2) return base::Failure{"give at least two runs"};
    std::set<std::size_t> scales;
    for (const Scale& run : runs_) {
      out_.names.push_back(run.name);
      out_.mpi = out_.mpi || run.mpi;
      out_.all_ns.push_back(run.whole.all_ns);
      scales.insert(run.threads);
      if (run.threads == 0) return base::Failure{run.name + ": no thread is known"};
    }
    out_.scales = scales.size();
    out_.program = runs_.front().program;
    if (const auto same = of_one_program(runs_); !same) return same.failure();
    if (const auto chosen = choose_part(); !chosen) return chosen.failure();
    choose_iterations();
    choose_weak();
    for (std::size_t i = 0; i < runs_.size(); ++i) add_factors(i);
    losses();
    models();
    for (std::size_t i = 1; i < runs_.size(); ++i) compare(i);
    note_ideal();
    note_spread();
    note_cores();
    return std::move(out_);
  }

 private:
  // --- Which part of the runs ------------------------------------------------------------------

  static const ScalePart* find(const Scale& run, const std::string& place) {
    for (const ScalePart& loop : run.loops)
      if (loop.place == place) return &loop;
    return nullptr;
  }
  const ScalePart& part(std::size_t run) const {
    return out_.part.empty() ? runs_[run].whole : *find(runs_[run], out_.part);
  }

  base::Result<> choose_part() {
    if (options_.whole) return {};
    std::string first;  // of the first run
    double most = 0;
    for (const ScalePart& loop : runs_.front().loops) {
      double share = 1;
      for (const Scale& run : runs_) {
        const ScalePart* same = find(run, loop.place);
        share = std::min(share, same == nullptr || run.whole.time_ns <= 0
                                    ? 0
                                    : same->time_ns / run.whole.time_ns);
      }
      if (share <= 0) continue;
      if (loop.place == options_.loop) most = 2;  // its very name
      const bool wanted = loop.place.find(options_.loop) != std::string::npos;
      if (most == 2 ? loop.place != options_.loop : !wanted || share <= most) continue;
      most = std::max(most, share);
      first = loop.place;
    }
    if (first.empty() && !options_.loop.empty()) {
      std::string names;
      for (const ScalePart& loop : runs_.front().loops)
        names += (names.empty() ? "" : "; ") + loop.place;
      return base::Failure{"not all runs have a loop '" + options_.loop + "'; " +
                           runs_.front().name + " has " +
                           (names.empty() ? "none that is outermost" : names)};
    }
    if (!first.empty() && options_.loop.empty() && most < kMainShare) {
      out_.notes.push_back(fmt::format(
          "No outermost loop that all runs have takes more than {:.2g} % of each ({}; --loop "
          "chooses one): factors are for the whole runs",
          100 * most, first));
      return {};
    }
    out_.part = first;
    if (first.empty())
      out_.notes.emplace_back(
          "No outermost loop was detected in all runs: factors are for the whole runs");
    for (std::size_t i = 0; i < runs_.size() && !first.empty(); ++i)
      if (part(i).processes < runs_[i].processes) {
        out_.notes.push_back(
            fmt::format("In {}, {} of {} processes have the loop: factors are for these",
                        runs_[i].name, part(i).processes, runs_[i].processes));
      }
    return {};
  }

  void choose_iterations() {
    scaled_.assign(runs_.size(), 1);
    if (out_.part.empty()) return;
    std::uint64_t least = ~std::uint64_t{0}, most = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      least = std::min(least, part(i).with_rows);
      most = std::max(most, part(i).with_rows);
    }
    if (least == most || least == 0) return;
    if (most - least > kNearlyEqual) {
      out_.notes.push_back(fmt::format(
          "Numbers of iterations differ ({} to {}): more of them count as more computation",
          least, most));
      return;
    }
    for (std::size_t i = 0; i < runs_.size(); ++i)
      scaled_[i] =
          static_cast<double>(part(0).with_rows) / static_cast<double>(part(i).with_rows);
  }

  void choose_weak() {
    const ScalePart &base = part(0), &last = part(runs_.size() - 1);
    const bool counted = base.instructions > 0 && last.instructions > 0;
    const double grown = counted ? last.instructions / base.instructions
                                 : last.useful_ns / std::max(1.0, base.useful_ns);
    const double work = grown * scaled_.back();
    const double threads =
        static_cast<double>(last.threads) / static_cast<double>(base.threads);
    if (options_.weak) {
      out_.weak = *options_.weak;
      out_.weak_why = "as given";
      return;
    }
    // Where threads had no core, computation took no more than it says, and no less than without all of that time.
    const double base_waits = runs_.front().conclusions.core_wait_ns;
    const double last_waits = runs_.back().conclusions.core_wait_ns;
    const double at_least = scaled_.back() * std::max(0.0, last.useful_ns - last_waits) /
                            std::max(1.0, base.useful_ns);
    const double at_most =
        scaled_.back() * last.useful_ns / std::max(1.0, base.useful_ns - base_waits);
    const double enough = std::sqrt(threads);
    const bool certain = at_least > enough || at_most <= enough;
    if (!counted && !certain &&
        !(runs_.front().conclusions.cores.empty() &&
          runs_.back().conclusions.cores.empty())) {
      out_.weak_why =
          "assumed: times include waits for cores, so the amount of work is unknown (use "
          "--weak if it grows with the threads)";
      return;
    }
    out_.weak = threads > 1 && work > enough;
    out_.weak_why = fmt::format(
        "from the work: {} {:.2f} times the base's, on {:.3g} times the threads",
        counted ? "instructions are" : "computation takes, on all threads,", work, threads);
  }

  // --- Factors ---------------------------------------------------------------------------------

  void add_factors(std::size_t run) {
    const ScalePart &base = part(0), &own = part(run);
    const double threads =
        static_cast<double>(own.threads) / static_cast<double>(base.threads);
    const double grown = out_.weak ? threads : 1;  // the problem
    Factors& to = out_.factors.emplace_back();
    to.processes = own.processes;
    to.threads = own.threads;
    to.repeats = runs_[run].repeats;
    to.spread = runs_[run].spread;
    to.iterations = own.iterations;
    to.time_ns = own.time_ns * scaled_[run];
    to.speedup = to.time_ns > 0 ? grown * base.time_ns / to.time_ns : 0;
    to.efficiencies = own.efficiencies;
    if (own.ideal_ns > 0 && own.time_ns > 0) to.transfer = own.ideal_ns / own.time_ns;
    const double useful = own.useful_ns * scaled_[run];
    to.computation = useful > 0 ? grown * base.useful_ns / useful : 0;
    to.global = to.efficiencies.parallel * to.computation;
    to.counted = base.instructions > 0 && base.cycles > 0 && own.instructions > 0 &&
                 own.cycles > 0 && base.useful_ns > 0 && own.useful_ns > 0;
    if (!to.counted) return;
    to.instructions = grown * base.instructions / (own.instructions * scaled_[run]);
    to.ipc = own.instructions / own.cycles / (base.instructions / base.cycles);
    to.frequency = own.cycles / own.useful_ns / (base.cycles / base.useful_ns);
  }

  // --- Places ----------------------------------------------------------------------------------

  void losses() {
    struct Curve {
      std::string text;
      bool mpi = false;
      std::vector<double> ns, visits, messages, bytes;
    };
    std::map<std::pair<PlaceTime::Kind, std::string>, Curve> curves;
    for (std::size_t run = 0; run < runs_.size(); ++run)
      for (PlaceTime& place : runs_[run].places) {
        Curve& to = curves[{place.kind, place.key}];
        to.text = place.text;
        to.mpi = place.mpi;
        for (std::vector<double>* each : {&to.ns, &to.visits, &to.messages, &to.bytes})
          each->resize(runs_.size());
        to.ns[run] = place.ns;
        to.visits[run] = place.visits;
        to.messages[run] = place.messages;
        to.bytes[run] = place.bytes;
      }
    for (auto& [key, curve] : curves) {
      PlaceLoss& to = out_.losses.emplace_back();
      to.kind = key.first;
      to.text = std::move(curve.text);
      // A call that the base does not have costs it nothing. A loop or code between events that it does not have was run there
      // as well, between other events: against the first run that has it.
      std::size_t base = 0;
      if (key.first != PlaceTime::Kind::kCallPath)
        while (base + 1 < runs_.size() && curve.ns[base] <= 0) ++base;
      for (std::size_t run = 0; run < runs_.size(); ++run)
        to.lost_ns.push_back(
            run < base ? 0 : curve.ns[run] - curve.ns[base] * problem(run) / problem(base));
      to.time = model(curve.ns);
      to.visits = model(curve.visits);
      to.bytes = model(curve.bytes);
      to.mpi = curve.mpi;
      to.ns = std::move(curve.ns);
      to.calls = std::move(curve.visits);
      to.messages = std::move(curve.messages);
      to.moved = std::move(curve.bytes);
    }
    std::ranges::stable_sort(out_.losses, [](const PlaceLoss& a, const PlaceLoss& b) {
      return a.kind != b.kind ? a.kind < b.kind : a.lost_ns.back() > b.lost_ns.back();
    });
  }

  // How much larger than the base's, of the whole run.
  double problem(std::size_t run) const {
    return out_.weak ? static_cast<double>(runs_[run].threads) /
                           static_cast<double>(runs_[0].threads)
                     : 1;
  }

  std::optional<GrowthModel> model(const std::vector<double>& values) const {
    if (out_.scales < GrowthModel::kMinScales) return {};
    std::vector<GrowthPoint> points;
    points.reserve(runs_.size());
    for (std::size_t run = 0; run < runs_.size(); ++run)
      points.push_back({.p = static_cast<double>(runs_[run].threads),
                        .value = values[run] / problem(run)});
    return growth_of(points);
  }

  void models() {
    if (out_.scales < GrowthModel::kMinScales) return;
    const auto largest = static_cast<double>(runs_.back().threads);
    out_.at = options_.at > 0 ? options_.at : 4 * largest;
    if (out_.at > 4 * largest)
      out_.notes.push_back(fmt::format(
          "{} threads are more than four times the {} of the largest run: models are "
          "guesses there",
          out_.at, largest));
    double all = 0, modelled = 0, seen = 0;
    for (const PlaceLoss& loss : out_.losses) {
      if (loss.kind != PlaceTime::Kind::kCallPath) continue;
      seen += loss.ns.back();
      if (!loss.time) continue;
      modelled += loss.ns.back();
      all += loss.time->at(out_.at).value;
    }
    if (!(all > 0)) return;
    for (PlaceLoss& loss : out_.losses) {
      if (!loss.time) continue;
      const GrowthModel::Interval there = loss.time->at(out_.at);
      const auto share = [all](double part, double rest) {
        return part > 0 ? std::min(1.0, part / (part + std::max(0.0, all - rest))) : 0;
      };
      loss.share = {.value = share(there.value, there.value),
                    .low = share(there.low, there.value),
                    .high = share(there.high, there.value)};
    }
    if (modelled < 0.9 * seen)
      out_.notes.push_back(fmt::format(
          "Call paths with {:.0f} % of the time of the largest run have no model: they "
          "are not in all runs, or no model fits their times",
          100 - 100 * modelled / seen));
  }

  // --- Findings --------------------------------------------------------------------------------

  static double share(const Conclusions& of, Account account) {
    const double counted =
        of.time_ns - of.ledger[static_cast<std::size_t>(Account::kStart)];
    return counted > 0 ? of.ledger[static_cast<std::size_t>(account)] / counted : 0;
  }

  static const RootCause* cause_of(const Conclusions& of, Account account) {
    for (const RootCause& cause : of.causes)
      if (cause.account == account) return &cause;
    return nullptr;
  }

  static bool is_one(double points) { return std::round(std::abs(points)) == 1; }
  static std::string points_text(double points) {
    return fmt::format("{:.0f} point{}", points, is_one(points) ? "" : "s");
  }

  // From the run before to this one.
  void compare(std::size_t run) {
    const Conclusions &before = runs_[run - 1].conclusions, &now = runs_[run].conclusions;
    if (runs_[run].threads == runs_[run - 1].threads) return;
    struct More {
      Account account;
      double points;
    };
    std::vector<More> more;
    for (std::size_t i = 0; i < kAccounts; ++i) {
      const auto account = static_cast<Account>(i);
      if (account == Account::kUseful || account == Account::kStart) continue;
      const double points = share(now, account) - share(before, account);
      if (points >= kMinPoint / 2) more.push_back({account, points});
    }
    std::ranges::stable_sort(more, std::greater(), &More::points);
    add_step(run);
    const double shown = out_.steps.back().points;  // as the table has it, of the part
    std::string text =
        fmt::format("From {} to {} ", scale_text(out_, out_.factors[run - 1]),
                    scale_text(out_, out_.factors[run]));
    if (std::abs(shown) < 100 * kMinPoint)
      text += "no point of parallel efficiency is lost";
    else
      text += fmt::format("{} of parallel efficiency {} {}", points_text(std::abs(shown)),
                          is_one(shown) ? "is" : "are", shown > 0 ? "lost" : "gained");
    const std::string cores = without_cores(run);
    if (!cores.empty() && (more.empty() || more.front().account == Account::kCores)) {
      out_.findings.push_back(text + ". " + cores);
      return;
    }
    // Of the whole run, and what waits for cores is no computation in it.
    const double lost = share(before, Account::kUseful) - share(now, Account::kUseful);
    std::string accounts;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, more.size()); ++i)
      accounts += fmt::format("{}{:.0f} {}", i == 0 ? "" : ", ", 100 * more[i].points,
                              account_title(more[i].account));
    const bool told = lost >= kMinPoint && !more.empty();
    const bool the_same = std::round(100 * lost) == std::round(shown);
    if (told && the_same) text += ": " + accounts;
    text += computation(run);
    text += step_text(out_.steps.back());
    if (told && !the_same)
      text += " More of the time of all threads, in points: " + accounts + ".";
    const RootCause* const cause =
        lost >= kMinPoint && !more.empty() ? cause_of(now, more.front().account) : nullptr;
    if (cause != nullptr) text += fmt::format(" {}: {}", cause->what, cause->text);
    if (!cores.empty()) text += " Besides: " + cores;
    out_.findings.push_back(std::move(text));
  }

  // Whatever else is lost may follow from it, whichever account and factor it is in: all others may wait for a thread that has no core. Empty: it is little, or as before.
  std::string without_cores(std::size_t run) const {
    const auto waited = [&](std::size_t i) {
      const Conclusions& of = runs_[i].conclusions;
      return of.time_ns > 0 ? of.core_wait_ns / of.time_ns : 0;
    };
    const std::string& said = runs_[run].conclusions.cores;
    if (waited(run) - waited(run - 1) < kCores || said.empty()) return {};
    const double points = out_.steps.back().points;
    const double most =
        100 * (waited(run) - waited(run - 1)) * static_cast<double>(runs_[run].threads);
    return fmt::format(
        "Too few cores: {} (in the run before: {:.0f} %). This may explain {}additional "
        "computation. {}",
        said, 100 * waited(run - 1),
        points < 100 * kMinPoint ? ""
        : points <= most         ? "the whole loss, and "
                                 : fmt::format("{:.0f} of these points, and ", most),
        runs_[run].conclusions.cores_hint);
  }

  // --- Which factor, which call ------------------------------------------------------------------

  void add_step(std::size_t run) {
    const Factors &before = out_.factors[run - 1], &now = out_.factors[run];
    ScaleStep& step = out_.steps.emplace_back();
    step.from = run - 1;
    step.to = run;
    const RunEfficiencies &a = before.efficiencies, &b = now.efficiencies;
    step.points = 100 * (a.parallel - b.parallel);
    if (!(a.parallel > 0) || !(b.parallel > 0)) return;
    const bool threads = before.threads > before.processes || now.threads > now.processes;
    const bool hybrid = threads && (a.has_mpi || b.has_mpi);
    const bool ideal = before.transfer > 0 && now.transfer > 0;
    const double all = std::log(b.parallel / a.parallel);
    const auto add = [&](const char* factor, double was, double is) {
      if (!(was > 0) || !(is > 0) || all == 0) return;
      const double points = step.points * std::log(is / was) / all;
      if (points >= 0.5) step.losses.push_back({factor, points});
    };
    add(hybrid ? "mpi_load_balance" : "load_balance",
        hybrid ? a.mpi_load_balance : a.load_balance,
        hybrid ? b.mpi_load_balance : b.load_balance);
    const double was = hybrid ? a.mpi_communication : a.communication,
                 is = hybrid ? b.mpi_communication : b.communication;
    if (ideal) {
      add("serialization", was / before.transfer, is / now.transfer);
      add("transfer", before.transfer, now.transfer);
    } else {
      add("communication", was, is);
    }
    if (hybrid) add("openmp", a.openmp, b.openmp);
    std::ranges::stable_sort(step.losses, std::greater(), &ScaleStep::Loss::points);
    find_call(step);
  }

  void find_call(ScaleStep& step) {
    const PlaceLoss* most = nullptr;
    const auto share = [&](const PlaceLoss& place, std::size_t run) {
      return out_.all_ns[run] > 0 ? 100 * place.ns[run] / out_.all_ns[run] : 0;
    };
    for (const PlaceLoss& place : out_.losses) {
      if (!place.mpi) continue;
      const double points = share(place, step.to) - share(place, step.from);
      if (points < std::max(0.5, step.call.points)) continue;
      most = &place;
      step.call.points = points;
    }
    if (most == nullptr) return;
    ScaleStep::Call& call = step.call;
    call.place = most->text;
    call.messages = most->messages[step.to] > 0;
    const auto fill = [&](std::size_t run, double& count, double& bytes) {
      const double all = call.messages ? most->messages[run] : most->calls[run];
      count = all / static_cast<double>(runs_[run].processes);
      bytes = all > 0 ? most->moved[run] / all : 0;
    };
    fill(step.from, call.count_before, call.bytes_before);
    fill(step.to, call.count_now, call.bytes_now);
  }

  static std::string step_text(const ScaleStep& step) {
    if (step.points < 1 || step.losses.empty()) return {};
    std::string text =
        fmt::format(" Of the {} that the table shows, ", points_text(step.points));
    for (std::size_t i = 0; i < step.losses.size(); ++i) {
      std::string factor = step.losses[i].factor;
      if (factor == "openmp") factor = "OpenMP";
      if (factor.starts_with("mpi_")) factor = "MPI " + factor.substr(4);
      std::ranges::replace(factor, '_', ' ');
      text += fmt::format("{}{:.0f} {} {}", i == 0 ? "" : ", ", step.losses[i].points,
                          is_one(step.losses[i].points) ? "is" : "are", factor);
    }
    double lost = 0;
    for (const ScaleStep::Loss& loss : step.losses) lost += loss.points;
    if (lost - step.points >= 0.5)
      text += fmt::format(", and other factors gain {:.0f}", lost - step.points);
    const ScaleStep::Call& call = step.call;
    if (call.place.empty()) return text + ".";
    text += fmt::format("; {} takes {} more: ", call.place, points_text(call.points));
    const char* what = call.messages ? "messages" : "calls";
    const auto times = [](double now, double before, const char* one, const char* many) {
      return std::abs(now / before - 1) < 0.005
                 ? std::string(one)
                 : fmt::format("{:.3g} times {}", now / before, many);
    };
    if (call.count_before > 0)
      text +=
          fmt::format("{} {} of each rank",
                      times(call.count_now, call.count_before, "as many", "as many"), what);
    else
      text += fmt::format("{} {} of each rank, where there were none",
                          number_text(call.count_now), what);
    if (call.bytes_now > 0 && call.bytes_before > 0)
      text += ", of " +
              times(call.bytes_now, call.bytes_before, "the same size", "the size") + " (" +
              base::bytes_text(static_cast<std::uint64_t>(call.bytes_now)) + ")";
    else if (call.bytes_now > 0)
      text += ", of " + base::bytes_text(static_cast<std::uint64_t>(call.bytes_now));
    return text + ".";
  }

  // "; computation takes 20 % more time on all threads." Of the part, against the run before.
  std::string computation(std::size_t run) const {
    const double before = out_.factors[run - 1].computation,
                 now = out_.factors[run].computation;
    if (!(before > 0) || !(now > 0)) return ".";
    const double more = before / now - 1;
    if (std::abs(more) < 0.02) return ".";
    std::string text = fmt::format("; computation takes {:.0f} % {} time on all threads",
                                   100 * std::abs(more), more > 0 ? "more" : "less");
    const Factors &a = out_.factors[run - 1], &b = out_.factors[run];
    if (a.counted && b.counted)
      text += fmt::format(
          " (instructions x {:.2f}, cycles of each x {:.2f}, time of a cycle x {:.2f})",
          a.instructions / b.instructions, a.ipc / b.ipc, a.frequency / b.frequency);
    return text + ".";
  }

  // What is said of several runs is one note.
  void note_ideal() {
    std::map<std::string, std::string> runs;
    for (const Scale& run : runs_)
      if (!run.ideal_note.empty()) {
        std::string& names = runs[run.ideal_note];
        names += (names.empty() ? "" : ", ") + run.name;
      }
    for (const auto& [note, names] : runs)
      out_.notes.push_back(fmt::format("Serialization and transfer, {}: {}", names, note));
  }

  void note_spread() {
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (runs_[i].repeats > 1 && runs_[i].spread > kSpread)
        out_.notes.push_back(fmt::format(
            "{}: the times of its {} runs differ by {:.0f} %: something else disturbed them, "
            "record them again",
            runs_[i].name, runs_[i].repeats, 100 * runs_[i].spread));
  }

  void note_cores() {
    for (const Scale& run : runs_)
      if (!run.conclusions.cores.empty())
        out_.notes.push_back(run.name + ": " + run.conclusions.cores);
  }

  std::vector<Scale> runs_;
  const ScalingOptions& options_;
  std::vector<double> scaled_;  // by run: what its times are multiplied with
  Scaling out_;
};

}  // namespace

// A program may have another name in each run. It is another one if most of what it calls is, too.
base::Result<> of_one_program(const std::vector<Scale>& runs) {
  if (runs.empty()) return {};
  const Scale& first = runs.front();
  const auto is_call = [](const PlaceTime& place) {
    return place.kind == PlaceTime::Kind::kCallPath && place.key != "outside" &&
           place.key != "idle";
  };
  std::set<std::string> known;
  for (const PlaceTime& place : first.places)
    if (is_call(place)) known.insert(place.key);
  for (const Scale& run : runs) {
    if (run.program == first.program) continue;
    double all = 0, common = 0;
    for (const PlaceTime& place : run.places) {
      if (!is_call(place)) continue;
      all += place.ns;
      if (known.contains(place.key)) common += place.ns;
    }
    if (2 * common < all)
      return base::Failure{fmt::format(
          "{} is a run of '{}', {} of '{}', and they have few call paths in common: "
          "compare runs of one program",
          first.name, first.program, run.name, run.program)};
  }
  return {};
}

std::vector<Scale> medians_of(std::vector<Scale> runs) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Scale>> scales;
  for (Scale& run : runs) {
    auto& scale = scales[{run.threads, run.processes}];
    scale.push_back(std::move(run));
  }
  if (scales.size() == 1) return std::move(scales.begin()->second);
  std::vector<Scale> out;
  for (auto& [threads, scale] : scales) {
    std::ranges::stable_sort(scale, {}, [](const Scale& run) { return run.whole.time_ns; });
    const double range = scale.back().whole.time_ns - scale.front().whole.time_ns;
    Scale& median = out.emplace_back(std::move(scale[scale.size() / 2]));
    median.repeats = scale.size();
    if (median.whole.time_ns > 0) median.spread = range / median.whole.time_ns;
  }
  return out;
}

base::Result<Scaling> scaling_of(std::vector<Scale> runs, const ScalingOptions& options) {
  return ScalingBuilder(std::move(runs), options).build();
}

}  // namespace refrain::analysis
