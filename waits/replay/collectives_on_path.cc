// What the critical path and delay costs need of collective operations.
#include <algorithm>

#include "waits/replay/collectives.h"

namespace refrain::waits {
namespace {

paths::WaitKind wait_kind(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kBarrier:
      return paths::WaitKind::kBarrier;
    case CollectiveKind::kOneToAll:
      return paths::WaitKind::kOneToAll;
    case CollectiveKind::kAllToOne:
      return paths::WaitKind::kAllToOne;
    case CollectiveKind::kScan:
      return paths::WaitKind::kScan;
    case CollectiveKind::kFinalize:
      return paths::WaitKind::kFinalize;
    default:
      return paths::WaitKind::kAllToAll;
  }
}

}  // namespace

// Those that do not block, of neighbours and of windows are not.
bool Collectives::is_on_path(const Comm& comm, CollectiveKind kind) {
  return !comm.started && !comm.window && kind != CollectiveKind::kNeighbours;
}

// Of two at the same time, that with the lower number.
bool Collectives::later(const Entered& a, const Entered& b) {
  return a.first > b.first || (a.first == b.first && a.second < b.second);
}

void Collectives::note_wait(CollectiveKind kind, const Call& call, const Entered& latest) {
  const Ticks until = std::min(latest.first, call.leave);
  if (until > call.enter)
    log_.waited(wait_kind(kind), call, std::min(until - call.enter, call.left_over),
                latest.second, latest.first);
}

}  // namespace refrain::waits
