// Input: the summary of a process, as in an archive's directory; its profile and its control flow.
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/flow/control_flow.h"
#include "analysis/profile/iteration_profile.h"
#include "analysis/profile/message_calls.h"
#include "analysis/profile/run_profile.h"
#include "summary/run_summary.h"
#include "test/fuzz/fuzz.h"
#include "tools/graph/control_flow_drawing.h"
#include "tools/graph/drawing.h"
#include "tools/output/message_output.h"
#include "tools/output/profile_data.h"
#include "tools/output/profile_iterations.h"
#include "tools/output/profile_screen.h"

namespace {

using namespace refrain;

// Modulo 2^64, for the numbers may be anything.
std::uint64_t accounted(const analysis::RunProfile& profile, std::uint32_t location) {
  const auto& at = profile.locations[location];
  std::uint64_t sum =
      static_cast<std::uint64_t>(at.outside) + static_cast<std::uint64_t>(at.elsewhere);
  for (const auto& path : profile.paths)
    for (const auto& each : path.sums)
      if (each.location == location)
        sum += static_cast<std::uint64_t>(each.own) +
               static_cast<std::uint64_t>(each.management) +
               static_cast<std::uint64_t>(each.elsewhere);
  return sum;
}

void draw(const analysis::RunProfile& profile, const analysis::FlowViewOptions& options) {
  const std::vector<bool> all(profile.locations.size(), true);
  const analysis::ControlFlow flow = analysis::control_flow(profile, all);
  const auto view = analysis::view_of(profile, flow, options);
  fuzz::require(fuzz::one_line(view.error()), "an error is one line", view.error());
  if (!view) return;
  fuzz::require(options.most == 0 || view->regions - view->left_out <= options.most,
                "not more regions than wanted");
  const tools::Drawing drawing = tools::control_flow_drawing(profile, flow, *view, all);
  const auto graph = nlohmann::json::parse(tools::json_text(drawing), nullptr, false);
  fuzz::require(!graph.is_discarded() && graph["nodes"].size() == view->nodes.size(),
                "JSON of a graph");
  fuzz::require(!tools::dot_text(drawing).empty() && !tools::graphml_text(drawing).empty(),
                "dot and GraphML");
}

// All tables have the same calls.
void check_messages(const tools::ProfiledRun& run) {
  using analysis::MessageTables;
  const MessageTables& messages = run.messages;
  const auto calls = [](const std::vector<MessageTables::Row>& rows) {
    std::uint64_t sum = 0;
    for (const MessageTables::Row& row : rows) sum += row.calls;
    return sum;
  };
  const std::uint64_t all = calls(messages.by_signature);
  fuzz::require(calls(messages.by_size) == (messages.sizes ? all : 0), "calls by size");
  fuzz::require(calls(messages.by_partner) == (messages.partners ? all : 0),
                "calls by partner");
  fuzz::require(
      !nlohmann::json::parse(tools::messages_json(run), nullptr, false).is_discarded(),
      "JSON of messages");
  fuzz::require(!tools::messages_csv(run).empty(), "CSV of messages");
  for (const bool all : {false, true})
    fuzz::require(!tools::message_screen(run, {.all = all}).empty(), "text of messages");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto read = summary::summary_from_text(text);
  fuzz::require(fuzz::one_line(read.error()), "an error is one line", read.error());
  if (!read) return 0;
  const summary::RunSummary& summary = *read;
  fuzz::require(*summary::summary_from_text(summary::to_text(summary)) == summary,
                "what is written is what was read");
  tools::ProfiledRun run;
  run.profile = analysis::merge_summaries({summary, summary});
  run.totals = analysis::total(run.profile);
  const analysis::ProcessMessages process = analysis::messages_of(summary);
  run.messages = analysis::message_tables({process, process});
  check_messages(run);
  for (LocationId i; i < run.profile.locations.size(); ++i)
    fuzz::require(accounted(run.profile, i) == run.profile.time_of(i),
                  "all of a location's time is somewhere");
  fuzz::require(
      !nlohmann::json::parse(tools::profile_json(run), nullptr, false).is_discarded(),
      "JSON");
  fuzz::require(!tools::profile_csv(run).empty(), "CSV");
  fuzz::require(!tools::profile_screen(run, {.all = true}).empty(), "text");
  draw(run.profile, {});
  draw(run.profile, {.most = 3});
  draw(run.profile, {.level = static_cast<std::uint32_t>(size % 4)});
  draw(run.profile, {.region = "parallel"});
  tools::ProfiledIterations iterations;
  iterations.profile = analysis::iteration_profile({summary, summary}, 12);
  for (const auto& loop : iterations.profile.loops)
    fuzz::require(loop.parts.size() <= 12, "no more parts than asked for");
  fuzz::require(!nlohmann::json::parse(tools::iterations_json(iterations), nullptr, false)
                     .is_discarded(),
                "JSON of iterations");
  fuzz::require(!tools::iterations_csv(iterations).empty(), "CSV of iterations");
  fuzz::require(!tools::iterations_screen(iterations, 80, true).empty(),
                "text of iterations");
  return 0;
}
