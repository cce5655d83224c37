// The search for waits by several threads or processes: readers replay the events of their processes each, and one puts
// together what these do with each other.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Rank 0 of the exchange calls put_together(), each other one read_share();
// all of the same trace. The result does not depend on their number: rank 0 gets the steps of all processes in the order
// of their events (step_bytes.h), as in an analysis by one thread.
// Thread-safety: a rank may be a thread. The failure is rank 0's; then all have ended. Nobody waits for ever: a reader
// that fails says so in place of its next batch, and learns with the answer to a batch that others did.
// Memory: of rank 0 as of an analysis by one, and kAhead + 1 batches of each reader; of a reader the state of its processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "exchange/exchange.h"
#include "reader/archive_stream.h"
#include "reader/trace.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {

// Where one of several readers of a trace gets the events of its processes from.
//
// Thread-safety: one a thread.

class EventSource {
 public:
  virtual ~EventSource() = default;
  // First. After that the definitions are known.
  virtual base::Result<> open() = 0;
  virtual const reader::TraceDefinitions& definitions() const = 0;
  // Of these locations: where their time begins.
  virtual base::Result<std::uint64_t> choose(const std::vector<LocationId>& locations) = 0;
  virtual base::Result<> run(std::uint64_t base_ticks, reader::TraceSink& sink,
                             const reader::Progress& progress) = 0;
  virtual std::uint64_t events() const = 0;  // handed over
};

// `batch`: bytes, about; for tests.
inline constexpr std::size_t kStepBatch = std::size_t{1} << 18;

base::Result<> read_share(exchange::Exchange& exchange, EventSource& source,
                          std::size_t batch = kStepBatch);

// `folder`: where temporary files may be made. `source`: for its definitions.
base::Result<WaitAnalysis> put_together(exchange::Exchange& exchange, EventSource& source,
                                        const std::string& folder,
                                        const reader::Progress& progress = {});

// In place of put_together(), where not all readers could begin: those with ranks up to `readers` end.
void stop_readers(exchange::Exchange& exchange, std::uint32_t readers);

// The search for waits in an archive by several threads, or by the processes of a job.
//
// Thread-safety: one a process at a time. The result is that of analyze_archive(), to the last digit.

// At most this many threads, and one for each process of the archive and one more; 1: none but the caller.
base::Result<WaitAnalysis> analyze_in_threads(const std::string& archive,
                                              std::size_t threads,
                                              const reader::Progress& progress = {});

// By all processes of a job, two or more, each with its own end. Rank 0 gets the result, others the error that they had.
base::Result<WaitAnalysis> analyze_in_job(const std::string& archive,
                                          exchange::Exchange& exchange,
                                          const reader::Progress& progress = {});

}  // namespace refrain::waits
