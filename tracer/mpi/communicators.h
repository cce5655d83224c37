// The communicators (and windows) that the program has, found by their handles.
//
// Place in the flow: ARCHITECTURE.md, stage 2. The wrappers look handles up here.
//
// *Identity*: 64 bits that all members of a communicator compute alike, without any message:
// a hash of its parent's identity, its members (ranks in MPI_COMM_WORLD, in order), the tag that
// distinguishes the call from those of other threads, where it has one, and how many were made before with the same of all
// these. Members make the communicators that they share in the same order, so they count alike.
//
// Thread-safety: find() from any thread, no lock; add() and remove() under a lock. Entries are
// never freed: at most 65 535, as many as there are numbers; later communicators are not known.
// Units: ranks in the communicator. Cost: find() two dependent loads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/hot_data.h"
#include "spool/mpi_format.h"

namespace refrain::mpi {

// PeriodicGrid: how far a partner is on a Cartesian communicator that is closed to a ring in some
// dimension, so that all of its ranks say the same of their neighbours.
//
// Place in the flow: ARCHITECTURE.md, stage 2; partners in the event flow graph (call.h).
// Source: Fürlinger/Skinner, section 3.1 and Fig. 2: partners are equal if their direction is.
//
// A distance is the partner's rank less the own one, as on an open grid; across the end of a ring it is
// that of a neighbour in the middle. In each ring the shorter way counts, of two equal ones the upwards.
// So different directions have different distances.
//
// Thread-safety: after the construction, any thread. Units: ranks in the communicator, which lie
// row by row (MPI). Cost: a load and a comparison for partners that came before (32 of them); else
// two divisions a dimension.

class PeriodicGrid {
 public:
  // Of each dimension, the first one outermost: ranks; not 0: a ring; own place.
  PeriodicGrid(std::span<const int> sizes, std::span<const int> periods,
               std::span<const int> own);

  int distance(int rank) const noexcept {
    std::atomic<std::uint64_t>& known = known_[static_cast<unsigned>(rank) % kKept];
    const std::uint64_t word = known.load(std::memory_order_relaxed);
    if (static_cast<std::int32_t>(word >> 32) == rank) [[likely]]
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(word));
    const int found = find(rank);
    known.store(std::uint64_t{static_cast<std::uint32_t>(rank)} << 32 |
                    static_cast<std::uint32_t>(found),
                std::memory_order_relaxed);
    return found;
  }

 private:
  struct Dimension {
    int size;
    bool ring;
    int own;
  };
  static constexpr std::size_t kKept = 32;

  int find(int rank) const noexcept;

  std::vector<Dimension> dimensions_;  // the innermost first
  // rank << 32 | its distance. No rank is negative.
  mutable std::array<std::atomic<std::uint64_t>, kKept> known_;
};

// What an MPI library knows an object by, as a number: MPICH's handles are numbers, Open MPI's are
// addresses (mpi_header.h makes one of the other). Communicators, windows and requests that exist at a time have
// different ones.
using Handle = std::uintptr_t;
inline constexpr Handle kNoHandle = 0;
// Of what is not looked up by a handle.
inline constexpr Handle kNameless = ~Handle{0};
inline constexpr std::uint16_t kNoCommunicator = 0xffff;

struct Communicator {
  Handle handle = kNoHandle;
  std::uint16_t number = kNoCommunicator;  // in this process, in the order of creation
  // The smallest that no other one has which is not freed: a loop that makes and frees a communicator gives the
  // same in each iteration. 0: not known.
  std::uint16_t place = 0;
  spool::MpiCommKind kind = spool::kMpiCommIntra;
  bool worldwide = false;  // all processes are members
  int rank = 0;
  int size = 0;         // of the local group
  int remote_size = 0;  // of the remote group, or 0
  int in_degree = 0;    // neighbours of a topology
  int out_degree = 0;
  std::uint64_t identity = 0;
  std::unique_ptr<const PeriodicGrid> grid;  // of a Cartesian one with a ring

  // Of a rank, as the event flow graph has partners.
  int relative(int of) const noexcept {
    return grid == nullptr ? of - rank : grid->distance(of);
  }
  // How many collectives this process has begun on it before; counts one more.
  std::uint32_t next_collective() const noexcept {
    return collectives_.fetch_add(1, std::memory_order_relaxed);
  }

  // Of windows: numbers of the groups of its open epochs, of access and of exposure.
  std::uint16_t epoch_group(bool exposure) const noexcept {
    return epoch_groups_[exposure].load(std::memory_order_relaxed);
  }
  void set_epoch_group(bool exposure, std::uint16_t group) const noexcept {
    epoch_groups_[exposure].store(group, std::memory_order_relaxed);
  }

  bool known() const noexcept { return number != kNoCommunicator; }
  // Those that a collective's data go to or come from.
  int peers() const noexcept { return kind == spool::kMpiCommInter ? remote_size : size; }

 private:
  friend class Communicators;
  std::atomic<Communicator*> next_{nullptr};
  mutable std::atomic<std::uint32_t> collectives_{0};
  mutable std::array<std::atomic<std::uint16_t>, 2> epoch_groups_{kNoCommunicator,
                                                                  kNoCommunicator};
};

// Hash of a group: ranks in MPI_COMM_WORLD, in order.
std::uint64_t hash_members(std::span<const int> world_ranks) noexcept;
// Of an intercommunicator: both sides give the same.
std::uint64_t hash_members(std::span<const int> local,
                           std::span<const int> remote) noexcept;

class Communicators {
 public:
  // The entry of a handle; one that is not known() if there is none.
  const Communicator* find(Handle handle) const noexcept {
    const Communicator* at = slots_[slot(handle)].load(std::memory_order_acquire);
    while (at != nullptr && at->handle != handle)
      at = at->next_.load(std::memory_order_acquire);
    return at != nullptr ? at : &none_;
  }

  // Enters a communicator; number and identity are made here. Null if there are no numbers
  // left, or no memory. `parent`: identity, or 0.
  struct Facts {
    Handle handle;
    spool::MpiCommKind kind;
    bool worldwide;
    int rank;
    int size;
    int remote_size;
    std::uint64_t parent;
    std::uint64_t members;  // hash_members()
    std::uint64_t tag = 0;  // that distinguishes calls of several threads
  };
  Communicator* add(const Facts& facts) noexcept;
  void remove(const Communicator* entry) noexcept;
  // Grows when entries come and go: results of find() stay valid while it is the same.
  static std::uint64_t generation() noexcept {
    return g_generation.load(std::memory_order_acquire);
  }

 private:
  Communicator* add_locked(const Facts& facts);
  static constexpr std::size_t kSlots = 1024;
  static std::size_t slot(Handle handle) noexcept {
    return handle * 0x9E3779B97F4A7C15u >> 54 & (kSlots - 1);
  }

  // No AppendOnlyMap: communicators are removed.
  std::array<std::atomic<Communicator*>, kSlots> slots_{};
  Communicator none_;
  static std::atomic<std::uint64_t> g_generation;
  std::mutex mutex_;  // of what follows, and of changes
  std::vector<std::unique_ptr<Communicator>> all_;
  std::unordered_map<std::uint64_t, std::uint64_t> made_;  // by parent and members
  std::vector<bool> places_{true};                         // that are taken
  std::size_t free_place_ = 1;                             // none below it is free
};

// The process' own. Never destroyed. Made when tracing starts: throws std::bad_alloc.
void make_communicators();
extern base::Undestroyed<Communicators> g_communicators_room;
inline Communicators& g_communicators = g_communicators_room.object;

inline const Communicator* find_communicator(Handle handle) noexcept {
  return g_communicators.find(handle);
}

// One hash of several words, one after the other: of members of a communicator, of callers.
//
// Place in the flow: inside tracer/mpi. Pure. Processes of a job give equal hashes to equal words.

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

}  // namespace refrain::mpi
