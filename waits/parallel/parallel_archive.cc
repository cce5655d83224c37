#include "waits/parallel/parallel_archive.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "exchange/mailboxes.h"
#include "waits/parallel/event_source.h"
#include "waits/parallel/shared_analysis.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {
namespace {

// An archive as an EventSource.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: one a thread.

class ArchiveSource final : public EventSource {
 public:
  explicit ArchiveSource(std::string archive) : archive_(std::move(archive)) {}

  base::Result<> open() override {
    if (opened_) return {};
    base::Result<> done = stream_.open(archive_);
    if (done.ok()) done = has_events(archive_, stream_.definitions());
    opened_ = done.ok();
    return done;
  }
  const reader::TraceDefinitions& definitions() const override {
    return stream_.definitions();
  }
  base::Result<std::uint64_t> choose(const std::vector<LocationId>& locations) override {
    if (const auto done = stream_.open_events(locations); !done) return done.failure();
    return stream_.base_ticks();
  }
  base::Result<> run(std::uint64_t base_ticks, reader::TraceSink& sink,
                     const reader::Progress& progress) override {
    return stream_.run_opened(base_ticks, sink, progress);
  }
  std::uint64_t events() const override { return stream_.events(); }

 private:
  std::string archive_;
  reader::ArchiveStream stream_;
  bool opened_ = false;
};

base::Result<WaitAnalysis> with_threads(base::Result<WaitAnalysis> analysis,
                                        const std::string& archive) {
  if (analysis && analysis->locations.empty())
    return base::Failure{"'" + archive + "' has no threads"};
  return analysis;
}

}  // namespace

base::Result<WaitAnalysis> analyze_in_threads(const std::string& archive,
                                              std::size_t threads,
                                              const reader::Progress& progress) {
  ArchiveSource own(archive);
  if (const auto done = own.open(); !done) return done.failure();
  const std::size_t readers = std::min(threads, own.definitions().processes.size() + 1) - 1;
  if (threads < 2 || readers == 0) return analyze_archive(archive, progress);
  exchange::Mailboxes boxes(static_cast<std::uint32_t>(readers + 1));
  const auto read = [&](std::uint32_t rank) {
    ArchiveSource source(archive);
    (void)read_share(*boxes.of(rank), source);
  };
  std::vector<std::jthread> running;
  for (std::uint32_t rank = 1; rank <= readers; ++rank) {
    try {
      running.emplace_back(read, rank);
    } catch (const std::system_error&) {
      stop_readers(*boxes.of(0), static_cast<std::uint32_t>(running.size()));
      return base::Failure{"threads cannot be started; --threads 1 needs none"};
    }
  }
  return with_threads(put_together(*boxes.of(0), own, folder_of(archive), progress),
                      archive);
}

base::Result<WaitAnalysis> analyze_in_job(const std::string& archive,
                                          exchange::Exchange& exchange,
                                          const reader::Progress& progress) {
  ArchiveSource source(archive);
  if (exchange.rank() == 0)
    return with_threads(put_together(exchange, source, folder_of(archive), progress),
                        archive);
  const auto done = read_share(exchange, source);
  return done ? base::Result(WaitAnalysis{}) : done.failure();
}

}  // namespace refrain::waits
