#include "tools/output/profile_source.h"

#include <charconv>
#include <exception>
#include <filesystem>

#include "analysis/profile/event_summary.h"
#include "base/archive_files.h"
#include "base/result.h"
#include "tools/output/whole_run.h"

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;

std::uint64_t number(const std::map<std::string, std::string>& properties,
                     const std::string& name) {
  std::uint64_t value = 0;
  const auto found = properties.find("REFRAIN::" + name);
  if (found != properties.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(),
                    value);
  return value;
}

// What the anchor file says of the run.
base::Result<> read_facts(ProfiledRun& run) {
  reader::ArchiveStream stream;
  const auto done = stream.open_anchor(run.archive);
  if (!done) return done;
  const auto& properties = stream.definitions().properties;
  const auto command = properties.find("REFRAIN::COMMAND");
  if (command != properties.end()) run.command = command->second;
  run.openmp = reader::openmp_runtime(properties);
  run.openmp_note = reader::openmp_note(properties);
  note_unrecorded(run.archive, properties);
  run.events_seen = number(properties, "EVENTS_SEEN");
  run.events_written = number(properties, "EVENTS_WRITTEN");
  run.summary_only = stream.definitions().summary_only();
  return done;
}

analysis::MessageTables profile_graphs(const std::vector<summary::RunSummary>& summaries) {
  std::vector<analysis::ProcessMessages> processes;
  processes.reserve(summaries.size());
  for (const summary::RunSummary& summary : summaries)
    processes.push_back(analysis::messages_of(summary));
  return analysis::message_tables(processes);
}

}  // namespace

base::Result<ProfiledRun> read_profiled_run(const std::string& archive, bool from_events,
                                            const reader::Progress& progress) {
  ProfiledRun run;
  run.archive = archive;
  run.asked_for_events = from_events;
  std::error_code error;
  if (!fs::exists(archive, error)) return base::Failure{"'" + archive + "' does not exist"};
  if (!from_events) {
    auto summaries = summary::read_summaries(base::archive_folder(archive));
    if (!summaries) return summaries.failure();
    run.summaries = *std::move(summaries);
  }
  const auto facts = read_facts(run);
  // A summary may be all that there is.
  if (!facts && (run.summaries.empty() ||
                 fs::exists(base::archive_folder(archive) + "/traces.otf2", error)))
    return facts.failure();
  if (run.summary_only && run.summaries.empty())
    return base::Failure{"'" + archive +
                         "' has no events: it was recorded with --summary-only"};
  if (run.summaries.empty()) {
    run.from_events = true;
    auto events = analysis::summarize_events(archive, {.progress = progress});
    if (!events) return events.failure();
    run.gaps = events->gaps;
    if (run.events_seen == 0) run.events_written = events->events;
    run.summaries = std::move(events->processes);
    run.messages = analysis::message_tables(events->messages);
  } else {
    run.messages = profile_graphs(run.summaries);
  }
  run.profile = analysis::merge_summaries(run.summaries);
  run.totals = analysis::total(run.profile);
  return run;
}

}  // namespace refrain::tools
