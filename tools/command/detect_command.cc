// `refrain detect FILE...`: what a detector and the policy make of symbol streams.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/command/subcommand.h"
#include "tools/detect/detection.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

class DetectCommand final : public Subcommand {
 public:
  const char* name() const override { return "detect"; }
  const char* help() const override {
    return "detect the loops of recorded symbol streams";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  base::Result<> read_options(DetectionSettings& settings) const;

  std::string detector_ = "nested";
  std::string nested_ = "first";
  std::string limit_;
  std::string window_;
  std::string max_period_;
  bool json_ = false;
  std::vector<std::string> files_;
};

double skipped_fraction(const Detection& found) {
  return static_cast<double>(found.skipped) / static_cast<double>(found.events);
}

nlohmann::ordered_json json_of(const DetectedLoop& loop) {
  nlohmann::ordered_json parent;  // null: none
  if (loop.parent >= 0) parent = loop.parent;
  return {{"id", loop.id},           {"parent", parent},
          {"level", loop.level},     {"body_events", loop.body_events},
          {"visits", loop.visits},   {"iterations", loop.iterations},
          {"written", loop.written}, {"first_event", loop.first_event}};
}

void print_json(const std::string& file, const DetectionSettings& settings,
                const Detection& found) {
  nlohmann::ordered_json out = {{"file", file},
                                {"detector", settings.tracer.detector},
                                {"events", found.events},
                                {"distinct", found.distinct},
                                {"skipped", found.skipped},
                                {"skipped_fraction", skipped_fraction(found)},
                                {"gaps", found.gaps}};
  out["loops"] = nlohmann::ordered_json::array();
  for (const DetectedLoop& loop : found.loops) out["loops"].push_back(json_of(loop));
  out["structure"] = found.structure;
  out["ns_per_event"] = found.ns_per_event;
  out["max_push_ns"] = found.max_push_ns;
  // A file's name that is no UTF-8 must not cost the rest.
  print("{}\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_loops(const std::vector<DetectedLoop>& loops) {
  constexpr std::size_t kMax = 20;
  if (loops.empty()) {
    print("Loops      none detected: everything is written\n");
    return;
  }
  print("{:<16} {:>8} {:>11} {:>9} {:>11} {:>11} {:>12}\n", "Loops", "parent",
        "body events", "visits", "iterations", "written", "first event");
  for (std::size_t i = 0; i < std::min(kMax, loops.size()); ++i) {
    const DetectedLoop& loop = loops[i];
    const std::string indent(2 * std::size_t{std::min(loop.level, 4u)}, ' ');
    print("{:<16} {:>8} {:>11} {:>9} {:>11} {:>11} {:>12}\n",
          fmt::format("{}loop {}", indent, loop.id),
          loop.parent < 0 ? "-" : fmt::format("loop {}", loop.parent), loop.body_events,
          loop.visits, loop.iterations, loop.written, loop.first_event);
  }
  if (loops.size() > kMax) print("... and {} more loops\n", loops.size() - kMax);
}

void print_text(const std::string& file, const DetectionSettings& settings,
                const Detection& found) {
  const auto& tracer = settings.tracer;
  std::string how = tracer.detector;
  if (tracer.detector != "nested")
    how += fmt::format(" (window {}, longest period {})", tracer.window_events,
                       tracer.max_period_events);
  print("Stream     {}\n", file);
  print("Events     {}, {} distinct\n", found.events, found.distinct);
  print("Settings   detector {}, limit {}, nested {}\n", how, tracer.limit,
        filters::word_of(settings.nested));
  print("Skipped    {} events ({:.2f} %), {} gap{}\n", found.skipped,
        100 * skipped_fraction(found), found.gaps, found.gaps == 1 ? "" : "s");
  print("Cost       {:.1f} ns an event, longest push {:.0f} ns\n", found.ns_per_event,
        found.max_push_ns);
  print_loops(found.loops);
  print("Structure  {}\n", found.structure);
}

base::Result<> set(filters::Settings& settings, const char* name, const std::string& text) {
  if (text.empty()) return {};
  for (const filters::SettingInfo& info : filters::setting_table())
    if (info.name == std::string_view(name)) return set_value(settings, info, text);
  return base::Failure{std::string("no setting ") + name};
}

}  // namespace

void DetectCommand::add_options(CLI::App& app) {
  app.add_option("--detector", detector_, "how loops are detected: matrix, exact or nested")
      ->check(CLI::IsMember({"matrix", "exact", "nested"}))
      ->capture_default_str();
  app.add_option("-n,--limit", limit_,
                 "iterations to write of each loop, 0: all "
                 "(default: 10)");
  app.add_option("--window", window_,
                 "events that must have repeated; for matrix and exact (default: 512)");
  app.add_option("--max-period", max_period_,
                 "longest body that is detected, in events; for matrix and exact "
                 "(default: 512)");
  app.add_option(
         "--nested", nested_,
         "what the limit counts. first: iterations of each body in the run, and the "
         "first of each visit; each: iterations of every visit; once: iterations of "
         "each body in the run")
      ->check(CLI::IsMember({"first", "each", "once"}))
      ->capture_default_str();
  app.add_flag("--json", json_, "as JSON, one line per file");
  app.add_option("files", files_,
                 "streams: one integer per line, plain or gzip; - for standard input")
      ->required();
}

base::Result<> DetectCommand::read_options(DetectionSettings& settings) const {
  auto& tracer = settings.tracer;
  for (const auto& [name, text] :
       {std::pair{"limit", &limit_}, {"window", &window_}, {"max_period", &max_period_}})
    if (const auto done = set(tracer, name, *text); !done) return done;
  // As for the tracer: where one of the two is set the other is fitted to it.
  if (max_period_.empty())
    tracer.max_period_events = std::min(tracer.max_period_events, tracer.window_events);
  if (window_.empty())
    tracer.window_events = std::max(tracer.max_period_events, tracer.window_events);
  tracer.detector = detector_;
  settings.nested = filters::nested_of(nested_);
  return check_together(tracer);
}

int DetectCommand::run() {
  DetectionSettings settings;
  if (const auto done = read_options(settings); !done) return fail(done.error());
  int status = kDone;
  bool any = false;
  for (const std::string& file : files_) {
    const auto found = detect(file, settings);
    if (!found) {
      std::fflush(stdout);
      status =
          fail((file == "-" ? "standard input" : "'" + file + "'") + " " + found.error());
      continue;
    }
    if (any && !json_) print("\n");
    any = true;
    if (json_)
      print_json(file, settings, *found);
    else
      print_text(file, settings, *found);
  }
  return status;
}

std::unique_ptr<Subcommand> make_detect_command() {
  return std::make_unique<DetectCommand>();
}

}  // namespace refrain::tools
