// What a replay has found of its processes, as bytes, and added to the state of all.
//
// Place in the flow: at the end, from who replays processes to who makes the result. Call paths are known by then, for
// they come as steps. Thread-safety: pure. Errors: false, if the bytes are damaged.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/bytes.h"
#include "waits/replay/replay_state.h"

namespace refrain::waits {

// Of these processes.
void put_state(exchange::ByteWriter& out, const ReplayState& state, std::size_t metrics,
               const std::vector<ProcessId>& processes);
bool add_state(exchange::ByteReader& in, ReplayState& state, std::size_t metrics);

}  // namespace refrain::waits
