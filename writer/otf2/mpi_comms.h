// The communicators of a job, each once, and what a process' own numbers of them mean.
//
// Place in the flow: ARCHITECTURE.md, step 7: put together from the journals of all
// processes before any event is written; mpi_definitions.h writes them.
// A communicator is known by its identity, which all members tell alike. Its members are
// told by one of them; what that one did not tell, if it died, each member's own rank in
// it tells. MPI_COMM_SELF is one definition for all. A communicator of which a member is
// told by nobody is not defined: its member died before it could take part in anything.
//
// Thread-safety: pure; const after comm_table().
// Cost: linear in communicators and members; CommFacts may be merged in a tree.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "writer/spool/mpi_journal.h"

namespace refrain::writer {

inline constexpr std::uint32_t kNoRank = 0xffffffff;

struct CommFacts {
  spool::MpiCommKind kind = spool::kMpiCommIntra;
  std::uint64_t parent = 0;
  std::vector<std::uint32_t> members;  // ranks in MPI_COMM_WORLD; kNoRank: not known
  std::vector<std::uint32_t> remote;   // of an intercommunicator; `members` has the least rank
  std::string name;
  std::string topology;

  bool operator==(const CommFacts&) const = default;
};

struct WindowFacts {
  std::uint64_t comm = 0;  // identity
  bool operator==(const WindowFacts&) const = default;
};

// Of one process, or of several.
struct MpiFacts {
  std::uint32_t size = 0;  // of MPI_COMM_WORLD
  std::map<std::uint64_t, CommFacts> comms;  // by identity
  std::map<std::uint64_t, WindowFacts> windows;

  bool operator==(const MpiFacts&) const = default;
};

MpiFacts mpi_facts(const spool::MpiJournal& journal);
// Associative: processes may be merged in a tree.
MpiFacts merge(const MpiFacts& a, const MpiFacts& b);

struct CartGrid {
  std::vector<std::uint32_t> sizes;
  std::vector<bool> periodic;
};
// Empty if the text tells of none.
CartGrid cart_grid(const std::string& topology);

struct CommEntry {
  std::uint64_t identity = 0;
  CommFacts facts;
  std::uint32_t parent = kNoRank;  // index in the table
};

struct WindowEntry {
  std::uint64_t identity = 0;
  std::uint32_t comm = 0;  // index in CommTable::comms
};

struct CommTable {
  std::uint32_t size = 0;
  std::vector<CommEntry> comms;  // MPI_COMM_WORLD first, MPI_COMM_SELF next, if there are any
  std::vector<WindowEntry> windows;
  std::unordered_map<std::uint64_t, std::uint32_t> index_of;  // identity -> index
  std::unordered_map<std::uint64_t, std::uint64_t> members;   // identity -> processes in it
};

CommTable comm_table(const MpiFacts& all);

// A communicator as the records of one process name it.
struct LocalComm {
  std::uint32_t index = 0;  // in CommTable::comms
  std::uint64_t identity = 0;
  std::uint32_t own = 0;      // rank of this process in MPI_COMM_WORLD
  const std::vector<std::uint32_t>* peers = nullptr;  // nullptr: this process alone

  // Rank in MPI_COMM_WORLD of whom messages of this process go to; kNoRank: no member.
  std::uint32_t world_rank(std::uint32_t peer) const noexcept {
    if (peers == nullptr) return own;
    return peer < peers->size() ? (*peers)[peer] : kNoRank;
  }
};

struct ProcessComms {
  std::uint32_t rank = 0;
  std::unordered_map<std::uint16_t, LocalComm> comms;
  std::unordered_map<std::uint16_t, std::uint32_t> windows;  // number -> index in windows
};

// `table` must live longer.
ProcessComms process_comms(const spool::MpiJournal& journal, const CommTable& table);

}  // namespace refrain::writer
