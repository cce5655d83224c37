// The search for waits by several threads or processes: each replays the events of its processes, and they exchange what the
// others need along the program's own messages and operations.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Each rank of the exchange calls analyze_share(), all of the same trace. The
// result does not depend on their number: each one has, of what concerns its processes, the steps in the order of all events
// (step_bytes.h), as an analysis by one has. Only the backward pass is the first one's.
// Thread-safety: a rank may be a thread. Errors: those of one end all, and the first one has the line. Nobody waits for ever:
// each one has a last word for each other one, and reads theirs.
// Memory: of a rank the state of its processes and some batches of steps; of the first one also the result.
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

struct ShareOptions {
  std::string folder;                 // where temporary files may be made
  std::uint64_t batch = 4096;         // events until others are informed
  reader::Progress progress = {};     // of the first one, about
  reader::TraceSink* more = nullptr;  // gets the events, too
};

// The first rank gets the result, others nothing in it, or why they ended.
base::Result<WaitAnalysis> analyze_share(exchange::Exchange& exchange, EventSource& source,
                                         const ShareOptions& options);

// In place of the first one's analyze_share(), where not all ranks could begin: those up to `readers` end.
void stop_readers(exchange::Exchange& exchange, std::uint32_t readers);

// The search for waits in an archive by several threads, or by the processes of a job.
//
// Thread-safety: one a process at a time. The result is that of analyze_archive(), to the last digit.

// At most this many threads, and one for each process of the archive; 1: none but the caller. `more`: who wants the events, too.
base::Result<WaitAnalysis> analyze_in_threads(const std::string& archive,
                                              std::size_t threads,
                                              const reader::Progress& progress = {},
                                              reader::ShareSinks* more = nullptr);

// By all processes of a job, two or more, each with its own end. Rank 0 gets the result, others the error that they had.
base::Result<WaitAnalysis> analyze_in_job(const std::string& archive,
                                          exchange::Exchange& exchange,
                                          const reader::Progress& progress = {});

}  // namespace refrain::waits
