// The call trees of an archive's events, in the form of the summaries that newer archives have.
//
// Place in the flow: ARCHITECTURE.md, stage 6, for archives without a summary, of any tool.
// What an archive does not have, such as skipped iterations, is missing: the time while writing
// was suspended is `time_elsewhere` of what was open then, that of holes in damaged files of what is outside of all regions. Call sites are known in
// archives of Refrain; the time from fork to join where both are events around the region.
// Thread-safety: any thread.
// Cost: reads all events, by up to four threads; memory for the call trees.
// Units: ticks of the archive's clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/profile/message_calls.h"
#include "base/result.h"
#include "reader/archive_shares.h"
#include "reader/archive_stream.h"
#include "summary/run_summary.h"

namespace refrain::analysis {

struct EventSummary {
  std::vector<summary::RunSummary> processes;
  std::vector<ProcessMessages> messages;  // of all processes that the archive defines
  std::uint64_t events = 0;
  std::uint64_t gaps = 0;  // intervals that were not written
};

// Makes it of a stream that is read for other things, too. Without messages, and says nothing of records that it does not use.
class EventSummarySink : public reader::TraceSink {
 public:
  // After finish(), once; `events` and `messages` are empty.
  virtual EventSummary take() = 0;
};
std::unique_ptr<EventSummarySink> event_summary_sink();

// The same of events that several read. Notes name records that it does not use.
class EventSummaries final : public reader::ShareSinks {
 public:
  explicit EventSummaries(bool messages = false);
  ~EventSummaries() override;

  reader::TraceSink& sink_of(std::uint32_t share) override;
  void all_read() override;
  // After that, once; nothing before. `events` is 0.
  std::optional<EventSummary> take() { return std::exchange(summary_, std::nullopt); }

 private:
  struct Sinks;
  std::unique_ptr<Sinks> sinks_;
  std::optional<EventSummary> summary_;
};

struct EventSummaryOptions {
  bool messages =
      true;  // else EventSummary::messages is empty, and a quarter of the time less
  std::size_t threads =
      0;  // as ArchiveShares has shares; the result does not depend on them
  reader::Progress progress{};
};

base::Result<EventSummary> summarize_events(const std::string& archive,
                                            const EventSummaryOptions& options = {});

}  // namespace refrain::analysis
