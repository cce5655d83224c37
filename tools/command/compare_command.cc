// `refrain compare FULL REDUCED`: what an analyst would conclude from each of two traces.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/comparison/comparison.h"
#include "base/texts.h"
#include "tools/command/subcommand.h"
#include "tools/command/terminal.h"
#include "tools/output/cause_comparison.h"
#include "tools/output/comparison_data.h"
#include "tools/output/left_recording.h"
#include "tools/output/standard_output.h"
#include "tools/output/whole_run.h"

namespace refrain::tools {
namespace {

class CompareCommand final : public Subcommand {
 public:
  const char* name() const override { return "compare"; }
  const char* help() const override {
    return "compare two traces: times, calls, iterations, messages, efficiency";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::vector<ComparedCause> compared() const;

  std::string first_;
  std::string second_;
  std::string tolerance_;
  std::string least_ = "1%";
  std::uint64_t limit_ = 0;
  bool json_ = false;
  bool no_summary_ = false;
  bool quiet_ = false;
};

using analysis::Comparison;
using analysis::Row;
using analysis::Section;
using analysis::TraceProfile;
using analysis::Unit;

constexpr int kDiffers = 1;

// "5%" or "0.05"; negative if it is neither.
double share_of(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !std::isfinite(value)) return -1;
  if (rest == end) return value;
  return rest + 1 == end && *rest == '%' ? value / 100 : -1;
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.1f} ns", ns);
  return base::duration_text(ns);
}

std::string value_text(double value, Unit unit) {
  switch (unit) {
    case Unit::kNanoseconds:
      return time_text(value);
    case Unit::kShare:
    case Unit::kEfficiency:
      return fmt::format("{:.2f} %", 100 * value);
    case Unit::kNumber:
    case Unit::kBytes:
      break;
  }
  return value < 1e15 && std::abs(value - std::round(value)) < 0.005
             ? fmt::format("{:.0f}", value)
             : fmt::format("{:.2f}", value);
}

std::string difference_text(const Row& row) {
  if (!row.a_known || !row.b_known) return "-";
  const double difference = row.difference();
  if (std::isinf(difference)) return "only there";
  const char* unit = row.unit == Unit::kEfficiency ? "points" : "%";
  return fmt::format("{:+.2f} {}", 100 * difference, unit);
}

std::string known_text(const TraceProfile& profile) {
  const double skipped =
      profile.summarized_ns + profile.estimated_ns + profile.unexplained_ns;
  const double whole = profile.written_ns + skipped;
  std::string text = "all of the time is in the trace";
  if (profile.summary_only) text = "recorded without events";
  if (whole > 0 && skipped > 0) {
    text = fmt::format("{:.2f} % of the time is in the trace",
                       100 * profile.written_ns / whole);
    const auto add = [&](double ns, const char* what) {
      if (ns > 0) text += fmt::format(", {:.2f} % {}", 100 * ns / whole, what);
    };
    add(profile.summarized_ns, "known by the summary");
    add(profile.estimated_ns, "estimated");
    add(profile.unexplained_ns, "unknown (no similar iteration was written)");
  }
  if (profile.summaries == 0) return text;
  text += "; totals are the summary's";
  if (profile.summaries < profile.processes)
    text += fmt::format(" for {} of {} processes", profile.summaries, profile.processes);
  if (profile.other_calls > 0)
    text += fmt::format(
        "; {:.0f} calls ({:.2f} % of the time) had no place in it and are not counted by "
        "region",
        profile.other_calls, 100 * profile.other_ns / profile.thread_ns);
  return text;
}

std::string value_text(double value, Unit unit, bool estimated, bool known) {
  if (!known) return "not known";
  return (estimated ? "~" : "") + value_text(value, unit);
}

void print_text(const Comparison& comparison, const std::string& first,
                const TraceProfile& a, const std::string& second, const TraceProfile& b) {
  print("A  {}: {}\n", first, known_text(a));
  print("B  {}: {}\n", second, known_text(b));
  if (!a.openmp.empty() && !b.openmp.empty() && a.openmp != b.openmp)
    print(
        "The runs used different OpenMP runtimes (A: {}, B: {}): what differs may be theirs\n",
        a.openmp, b.openmp);
  bool any_estimated = false, any_unknown = false;
  for (const Section& section : comparison.sections) {
    print("\n{:<44} {:<26} {:>14} {:>14} {:>14}\n", section.title, "", "A", "B",
          "difference");
    const std::string* before = nullptr;
    for (const Row& row : section.rows) {
      const bool same = before != nullptr && *before == row.subject;
      print(
          "{:<44} {:<26} {:>14} {:>14} {:>14}\n", same ? "" : base::clean_line(row.subject),
          row.figure, value_text(row.a, row.unit, row.a_estimated, row.a_known),
          value_text(row.b, row.unit, row.b_estimated, row.b_known), difference_text(row));
      before = &row.subject;
      any_estimated |= (row.a_estimated && row.a_known) || (row.b_estimated && row.b_known);
      any_unknown |= !row.a_known || !row.b_known;
    }
  }
  if (any_estimated)
    print("\n~ estimated from written iterations; all other figures were counted\n");
  if (any_unknown)
    print(
        "\nnot known: written iterations are not like those that have these messages; counts as "
        "no difference\n");
  for (const std::string& name : comparison.only_a) print("\nOnly in A: {}\n", name);
  for (const std::string& name : comparison.only_b) print("\nOnly in B: {}\n", name);
}

}  // namespace

void CompareCommand::add_options(CLI::App& app) {
  app.add_option("full", first_, "an archive: its directory or its traces.otf2")
      ->required();
  auto* reduced = app.add_option(
      "reduced", second_,
      "the other archive; for skipped iterations totals come from the summary and the "
      "rest is estimated");
  auto* limit = app.add_option(
      "-n,--limit", limit_,
      "compare the archive with itself, with iterations after the first N dropped "
      "as by `refrain run -n N`");
  limit->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50))->excludes(reduced);
  app.add_option("--tolerance", tolerance_,
                 "exit status 1 if a figure differs by more (5% or 0.05)")
      ->type_name("SHARE");
  app.add_option("--min-share", least_,
                 "leave out regions and loops with a smaller share of the time")
      ->type_name("SHARE")
      ->capture_default_str();
  app.add_flag("--no-summary", no_summary_,
               "ignore the summaries: estimate everything that was skipped");
  app.add_flag("--json", json_, "as JSON");
  app.add_flag("--quiet", quiet_, "print no progress");
}

// With --limit both are one run, whose causes come from one summary.
std::vector<ComparedCause> CompareCommand::compared() const {
  if (no_summary_ || limit_ != 0) return {};
  const auto a = conclude_summaries(first_), b = conclude_summaries(second_);
  return a && b ? compare_causes(*a, *b) : std::vector<ComparedCause>();
}

int CompareCommand::run() {
  const double tolerance = tolerance_.empty() ? 0 : share_of(tolerance_);
  if (tolerance < 0)
    return fail("--tolerance '" + tolerance_ + "': expected a share such as 5% or 0.05");
  const double least = share_of(least_);
  if (least < 0) return fail("--min-share '" + least_ + "': expected a share such as 1%");
  if (second_.empty() && limit_ == 0) return fail("give two archives, or one and --limit");
  const auto read = [this](const std::string& path, std::uint64_t suspend_after) {
    ProgressBar bar("reading " + path, "events");
    analysis::ProfileOptions options{.suspend_after = suspend_after,
                                     .use_summary = !no_summary_};
    if (!quiet_)
      options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
        bar.show(done, total);
      };
    return analysis::read_trace_profile(path, options);
  };
  if (limit_ != 0) second_ = first_;
  for (const std::string& archive : {first_, second_})
    if (const std::string why = why_no_archive(archive); !why.empty()) return fail(why);
  const auto a = read(first_, 0);
  if (!a) return fail(a.error());
  const auto b = read(second_, limit_);
  if (!b) return fail(b.error());
  const Comparison comparison = analysis::compare(*a, *b, least);
  const std::vector<ComparedCause> causes = compared();
  if (json_) {
    nlohmann::ordered_json value = comparison_value(comparison, first_, *a, second_, *b);
    value["causes"] = compared_causes_value(causes);
    print("{}\n", value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    print_text(comparison, first_, *a, second_, *b);
    if (!causes.empty()) print("\n");
    print_lines(compared_causes_screen(causes));
  }
  if (tolerance_.empty() || comparison.greatest_difference() <= tolerance) return kDone;
  if (!json_) print("\nMore than {} apart\n", tolerance_);
  return kDiffers;
}

std::unique_ptr<Subcommand> make_compare_command() {
  return std::make_unique<CompareCommand>();
}

}  // namespace refrain::tools
