#include "writer/archive_summaries.h"

#include <optional>
#include <stdexcept>
#include <utility>

#include "code_profile/samples/write_samples.h"
#include "spool/spool_folder.h"
#include "summary/run_summary.h"
#include "writer/archive/process_summary.h"
#include "writer/budget/budget_trim.h"

namespace refrain::writer {
namespace {

// Of its locations together.
summary::MergedFlow flow_of(const summary::RunSummary& summary) {
  summary::FlowGraph all;
  for (const summary::RunSummary::Location& location : summary.locations)
    all = summary::sum(all, location.flow);
  const bool ranked = summary.rank != summary::RunSummary::kNone;
  return summary::merged_flow(all, ranked ? summary.rank : summary.process,
                              summary.ticks_per_second);
}

// Rows of iterations leave most of a budget to the events. `bytes` 0: there is no budget.
void fit_rows(summary::RunSummary& summary, std::uint64_t bytes) {
  if (bytes == 0) return;
  constexpr std::uint64_t kRow = 75;
  for (summary::RunSummary::Location& location : summary.locations)
    summary::merge_rows(location.iterations, bytes / kRow / summary.locations.size());
}

std::string command_of(const spool::Journal& journal) {
  std::string command;
  for (const std::string& word : regions::program_texts(journal))
    command += (command.empty() ? "" : " ") + word;
  return command;
}

void add_samples(const std::string& folder, const std::string& archive, ProcessModel& model,
                 WrittenSummaries& written) {
  const auto sampled = code_profile::write_samples(
      spool::process_path(archive, model.spool().process), model.journal().modules,
      command_of(model.journal()), folder, model.context().process);
  written.sampled |= !sampled || *sampled;
  if (!sampled) written.complaints.push_back(sampled.error());
}

}  // namespace

WrittenSummaries write_summaries(const std::string& folder, const WriteOptions& options,
                                 std::uint32_t all, const ProcessModels& models,
                                 const regions::RegionTable& regions,
                                 const std::vector<std::vector<LocationOutcome>>& outcomes,
                                 std::uint64_t first_location) {
  WrittenSummaries written;
  const std::uint64_t row_bytes = rows_budget(options.budget_bytes, all, models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    summary::RunSummary summary =
        summarize_process(*models[i], regions, outcomes[i], first_location);
    fit_rows(summary, row_bytes);
    first_location += models[i]->locations();
    add_samples(folder, options.archive, *models[i], written);
    if (summary.locations.empty() && summary.locations_without.empty()) continue;
    if (!summary.locations.empty()) written.flows.push_back(flow_of(summary));
    if (std::string error = summary::write_summary(folder, summary); !error.empty())
      throw std::runtime_error(error);
  }
  return written;
}

}  // namespace refrain::writer
