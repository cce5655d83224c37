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

#include <cstdint>
#include <string>

#include "base/result.h"
#include "exchange/exchange.h"
#include "waits/parallel/event_source.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {

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

}  // namespace refrain::waits
