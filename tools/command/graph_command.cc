// `refrain graph ARCHIVE --to FORMAT`: control flow in a run, and how often.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "analysis/flow/control_flow.h"
#include "base/new_file.h"
#include "summary/merged_flow.h"
#include "tools/command/subcommand.h"
#include "tools/command/terminal.h"
#include "tools/graph/control_flow_drawing.h"
#include "tools/graph/drawing.h"
#include "tools/graph/event_flow_drawing.h"
#include "tools/output/left_recording.h"
#include "tools/output/profile_source.h"

namespace refrain::tools {
namespace {

class GraphCommand final : public Subcommand {
 public:
  const char* name() const override { return "graph"; }
  const char* help() const override {
    return "draw the control-flow graph, or the order of MPI calls";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  // What is wrong, or nothing.
  base::Result<Drawing> draw(const ProfiledRun& run) const;
  base::Result<Drawing> draw_events() const;

  std::string archive_;
  std::string format_;
  std::string kind_ = "control";
  std::optional<std::uint32_t> level_;
  std::string region_;
  std::string ranks_;
  std::optional<std::uint64_t> most_;
  std::string output_ = "-";
  bool from_events_ = false;
  bool overwrite_ = false;
  bool quiet_ = false;
};

// What a picture can show.
constexpr std::uint64_t kMaxDrawn = 100;

}  // namespace

void GraphCommand::add_options(CLI::App& app) {
  app.add_option("archive", archive_, "the archive: its directory or its traces.otf2")
      ->required();
  app.add_option("--to", format_,
                 "svg: a picture, by Graphviz; dot: for Graphviz; graphml: for yEd, Gephi, "
                 "NetworkX; json: docs/reference/graph.md")
      ->required()
      ->check(CLI::IsMember({"dot", "svg", "graphml", "json"}));
  auto* kind = app.add_option("--kind", kind_,
                              "control: regions inside regions, with times (default); "
                              "events: the order of MPI calls, with partner, message size "
                              "and time between them")
                   ->check(CLI::IsMember({"control", "events"}));
  kind->type_name("KIND");
  auto* level = app.add_option(
      "--level", level_,
      "one level of the call tree: 0 outermost regions, 1 their children, ...");
  app.add_option("--node", region_,
                 "one region with its children and neighbours; a name, a "
                 "part of it, or a call path, as 'refrain profile' prints them; with "
                 "--kind events a caller, file:line")
      ->type_name("REGION")
      ->excludes(level);
  app.add_option("--ranks", ranks_, "only these processes, e.g. 0-3,7")->type_name("LIST");
  app.add_option(
      "--max-nodes", most_,
      "draw only the N regions with the most time, 0: all (default: 100 for dot and svg, "
      "else all)");
  app.add_option("-o,--output", output_, "file to write (default: -, stdout)")
      ->type_name("FILE");
  app.add_flag("--overwrite", overwrite_, "replace an existing file");
  app.add_flag("--events", from_events_, "use events even if a summary exists");
  app.add_flag("--quiet", quiet_, "print no progress and no notes");
}

int GraphCommand::run() {
  if (const std::string why = why_no_archive(archive_); !why.empty()) return fail(why);
  const base::Existing existing =
      overwrite_ ? base::Existing::kReplace : base::Existing::kKeep;
  if (const auto may = base::may_place(output_, existing); output_ != "-" && !may)
    return fail(may.error());
  ProgressBar bar("reading " + archive_, "events");
  reader::Progress progress;
  if (!quiet_)
    progress = [&bar](std::uint64_t done, std::uint64_t of) { bar.show(done, of); };
  const auto drawing = [&]() -> base::Result<Drawing> {
    if (kind_ == "events") return draw_events();
    const auto run = read_profiled_run(archive_, from_events_, progress);
    bar.remove();
    return run ? draw(*run) : run.failure();
  }();
  if (!drawing) return fail(drawing.error());
  const auto text = text_of(*drawing, format_);
  if (!text) return fail(text.error());
  if (const auto done = write_text(*text, output_, existing); !done)
    return fail(done.error());
  if (!quiet_)
    for (const std::string& note : drawing->notes) fail(note);
  return kDone;
}

base::Result<Drawing> GraphCommand::draw(const ProfiledRun& run) const {
  const auto locations = locations_of(run.profile, ranks_);
  if (!locations) return locations.failure();
  const analysis::ControlFlow flow = analysis::control_flow(run.profile, *locations);
  const bool picture = format_ == "dot" || format_ == "svg";
  const auto view = analysis::view_of(run.profile, flow,
                                      {.level = level_,
                                       .region = region_,
                                       .most = most_.value_or(picture ? kMaxDrawn : 0)});
  if (!view) return view.failure();
  Drawing drawing = control_flow_drawing(run.profile, flow, *view, *locations);
  if (run.from_events && run.gaps != 0)
    drawing.notes.push_back("skipped events are missing: " + std::to_string(run.gaps) +
                            " gaps; across a gap, regions may look adjacent that were not");
  drawing.values.emplace_back("source",
                              std::string(run.from_events ? "events" : "summary"));
  return drawing;
}

base::Result<Drawing> GraphCommand::draw_events() const {
  if (level_ || from_events_)
    return base::Failure{"--level and --events are for --kind control"};
  std::error_code error;
  std::string folder = archive_;
  if (!std::filesystem::is_directory(folder, error))
    folder = std::filesystem::path(folder).parent_path().string();
  try {
    const auto read = summary::read_merged_flow(folder);
    if (!read) return read.failure();
    const auto& flow = *read;
    if (!flow || flow->nodes.empty())
      return base::Failure{
          "'" + archive_ +
          "' has no event flow graph: only MPI programs have one, and not with --graph "
          "none or --no-summary"};
    auto clusters = clusters_of(*flow, ranks_);
    if (!clusters) return clusters.failure();
    EventFlowOptions options{.clusters = *std::move(clusters), .caller = region_};
    const bool picture = format_ == "dot" || format_ == "svg";
    options.most = most_.value_or(picture ? kMaxDrawn : 0);
    return event_flow_drawing(*flow, options);
  } catch (const std::exception& problem) {
    return base::Failure{problem.what()};
  }
}

std::unique_ptr<Subcommand> make_graph_command() {
  return std::make_unique<GraphCommand>();
}

}  // namespace refrain::tools
