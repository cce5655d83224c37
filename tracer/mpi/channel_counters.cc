#include "tracer/mpi/channel_counters.h"

#include <new>
#include <utility>

#include "tracer/mpi/tables_failed.h"

namespace refrain::mpi {

ChannelCounters::Slot* ChannelCounters::open(std::uint16_t comm, int peer,
                                             int tag) noexcept {
  if (2 * (used_ + 1) > slots_.size()) {
    try {
      std::vector<Slot> old(2 * slots_.size());
      old.swap(slots_);
      mask_ = slots_.size() - 1;
      for (const Slot& slot : old) {
        if (slot.comm_and_count == kEmpty) continue;
        const auto peer_of = static_cast<int>(slot.peer_and_tag >> 32);
        const auto tag_of = static_cast<int>(slot.peer_and_tag & 0xffffffff);
        *find(static_cast<std::uint16_t>(slot.comm_and_count >> kCommShift), peer_of,
              tag_of) = slot;
      }
    } catch (const std::bad_alloc&) {
      if (used_ + 1 == slots_.size()) {  // one stays empty, for find()
        g_tables_failed.store(true);
        return nullptr;
      }
    }
  }
  Slot* slot = find(comm, peer, tag);
  *slot = {key(peer, tag), std::uint64_t{comm} << kCommShift};
  ++used_;
  return slot;
}

}  // namespace refrain::mpi
