// The communicators of a job, each once, and the process' own numbers for them.
//
// Place in the flow: ARCHITECTURE.md, stage 5: put together from the journals of all
// processes before any event is written; definitions.h writes them.
// A communicator is known by its identity, which is the same in all members. One member
// records the list of members; if that one died before, it is put together from each
// member's own rank. MPI_COMM_SELF is one definition for all. A communicator with an
// unknown member is not defined: that member died before it could take part in anything.
//
// Thread-safety: pure; const after comm_table().
// Cost: linear in communicators and the runs of their members (mpi_comms.h).
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "exchange/bytes.h"
#include "spool/mpi_journal.h"

namespace refrain::writer {

// --- The members of a communicator: at each place a rank in MPI_COMM_WORLD, or none known yet.
//
// Place in the flow: ARCHITECTURE.md, stage 5; mpi_comms.h. Ranks that follow each other in
// equal steps, as they do in the world, in rows and in columns, are one run, so that a
// communicator of any size takes a few bytes in memory and in messages.
// Thread-safety: const access from any number of threads. Pure.
// Cost: operator[] O(log runs); fill() linear in the runs of both; memory 16 bytes a run.
// Ranks without any order are a run for each two.

inline constexpr std::uint32_t kNoRank = 0xffffffff;
inline constexpr std::uint32_t kMaxProcesses = 1U << 24;

class RankList {
 public:
  struct Run {
    std::uint32_t place = 0;  // of the first
    std::uint32_t rank = 0;   // of the first
    std::uint32_t count = 0;
    std::int32_t step = 0;  // from rank to rank; 0 for a single one
    std::uint32_t end() const noexcept { return place + count; }
    std::uint32_t at(std::uint32_t where) const noexcept {
      return rank + (where - place) * static_cast<std::uint32_t>(step);
    }
    auto operator<=>(const Run&) const = default;
  };

  RankList() = default;
  RankList(std::initializer_list<std::uint32_t> ranks)
      : RankList(std::span(ranks.begin(), ranks.size())) {}
  explicit RankList(std::span<const std::uint32_t> ranks);
  // Each rank at the place of its number, as in the world.
  static RankList all(std::uint32_t size);
  // One known rank among `size` places.
  static RankList one(std::uint32_t size, std::uint32_t place, std::uint32_t rank);

  std::uint32_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  // kNoRank: not known.
  std::uint32_t operator[](std::uint32_t place) const noexcept;
  bool complete() const noexcept;
  bool contains(std::uint32_t rank) const noexcept;
  std::uint32_t least() const noexcept;  // kNoRank if none is known
  // Adds those that are not known here.
  void fill(const RankList& from);
  const std::vector<Run>& runs() const noexcept { return runs_; }
  // All, including unknown ones. `Number` may be wider.
  template <typename Number>
  std::vector<Number> expanded() const {
    std::vector<Number> out(size_, Number{kNoRank});
    for (const Run& run : runs_)
      for (std::uint32_t i = run.place; i < run.end(); ++i) out[i] = run.at(i);
    return out;
  }

  auto operator<=>(const RankList&) const = default;

  friend void put(exchange::ByteWriter& out, const RankList& list);
  friend void take(exchange::ByteReader& in, RankList& list);

 private:
  // At the end, as if its ranks were added one by one, so that equal lists have equal runs.
  void append(Run run);

  std::uint32_t size_ = 0;
  std::vector<Run> runs_;  // by place
};

// The identity of MPI_COMM_SELF, of which each process has its own; identities of
// communicators are odd.
inline constexpr std::uint64_t kSelfIdentity = ~std::uint64_t{1};

struct CommFacts {
  spool::MpiCommKind kind = spool::kMpiCommIntra;
  std::uint64_t parent = 0;
  RankList members;  // ranks in MPI_COMM_WORLD
  RankList remote;   // of an intercommunicator; `members` has the smallest rank
  std::string name;
  std::string topology;

  bool operator==(const CommFacts&) const = default;
};

struct WindowFacts {
  std::uint64_t comm = 0;  // identity
  std::string name;        // empty: it has none
  bool operator==(const WindowFacts&) const = default;
};

// Of one process, or of several.
struct MpiFacts {
  std::uint32_t size = 0;                    // of MPI_COMM_WORLD
  std::map<std::uint64_t, CommFacts> comms;  // by identity
  std::map<std::uint64_t, WindowFacts> windows;

  bool operator==(const MpiFacts&) const = default;
};

MpiFacts mpi_facts(const spool::MpiJournal& journal);
// Associative: processes may be merged in a tree.
MpiFacts merge(MpiFacts a, const MpiFacts& b);
void put(exchange::ByteWriter& out, const MpiFacts& facts);
void take(exchange::ByteReader& in, MpiFacts& facts);

struct CartGrid {
  std::vector<std::uint32_t> sizes;
  std::vector<bool> periodic;
};
// Empty if the text has none.
CartGrid cart_grid(const std::string& topology);

struct CommEntry {
  std::uint64_t identity = 0;
  CommFacts facts;
  std::uint32_t parent = kNoRank;  // index in the table
};

struct WindowEntry {
  std::uint64_t identity = 0;
  std::uint32_t comm = 0;  // index in CommTable::comms
  std::string name;
};

struct GroupEntry {
  std::uint64_t identity = 0;
  RankList members;
};

struct CommTable {
  std::uint32_t size = 0;
  std::vector<CommEntry>
      comms;  // MPI_COMM_WORLD first, MPI_COMM_SELF next, if there are any
  std::vector<WindowEntry> windows;
  std::vector<GroupEntry> groups;  // that one-sided communication names
  std::unordered_map<std::uint64_t, std::uint32_t> index_of;  // identity -> index
  std::unordered_map<std::uint64_t, std::uint64_t>
      members;  // identity, also of windows -> processes in it

  // Adds the process' number for MPI_COMM_SELF.
  void add_self_of(const spool::MpiJournal& journal);
};

CommTable comm_table(const MpiFacts& all);

// A communicator as it is numbered in the records of one process.
struct LocalComm {
  std::uint32_t index = 0;  // in CommTable::comms
  std::uint64_t identity = 0;
  std::uint32_t own = 0;            // rank of this process in MPI_COMM_WORLD
  const RankList* peers = nullptr;  // nullptr: this process alone

  // Rank in MPI_COMM_WORLD of a peer of this process; kNoRank: no member.
  std::uint32_t world_rank(std::uint32_t peer) const noexcept {
    if (peers == nullptr) return own;
    return (*peers)[peer];
  }
};

struct LocalWindow {
  std::uint32_t index = 0;  // in CommTable::windows
  std::uint64_t identity = 0;
};

struct ProcessComms {
  std::uint32_t rank = 0;
  std::unordered_map<std::uint16_t, LocalComm> comms;
  std::unordered_map<std::uint16_t, LocalWindow> windows;
  std::unordered_map<std::uint16_t, std::uint32_t> groups;  // number -> index in groups
};

// `table` must live longer.
ProcessComms process_comms(const spool::MpiJournal& journal, const CommTable& table);

}  // namespace refrain::writer
