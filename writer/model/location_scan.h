// What the writer must know of a location before it can write any: where it was cut, which
// regions occur, which threads took part in nested teams.
//
// Place in the flow: ARCHITECTURE.md, stage 5, first pass; one call a location, in
// parallel over locations.
// Thread-safety: a LocationScan belongs to one thread while it is filled; const after.
// Cost: one pass over the records. Memory for each distinct region and each gap, each
// nested or foreign parallel region, and one mark every few thousand records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "spool/record_sequence.h"
#include "writer/model/gap_plan.h"

namespace refrain::writer {

// Where in a sequence an epoch begins, roughly: a start for searches.
class EpochIndex {
 public:
  void note(std::size_t position, std::uint64_t epoch, std::uint64_t ticks);
  // A position before the first record of this epoch.
  std::size_t before(std::uint64_t epoch) const noexcept;
  // The same by time.
  std::size_t before_ticks(std::uint64_t ticks) const noexcept;

 private:
  struct Mark {
    std::size_t position;
    std::uint64_t epoch;
    std::uint64_t ticks;
  };
  std::vector<Mark> marks_;
};

struct NestedMember {
  std::uint64_t instance;
  std::uint32_t thread;
};

struct LocationScan {
  std::vector<CutRecord> cuts;
  std::unordered_set<std::uint64_t> keys;                  // RegionKey::packed()
  std::unordered_map<std::uint64_t, std::uint64_t> inner;  // parallel's address -> address
                                                           // of a construct inside it
  std::unordered_map<std::uint64_t, std::uint64_t>
      nested_regions;  // instance -> RegionKey::packed()
  std::vector<NestedMember> nested_members;
  std::vector<std::uint64_t> nested_open;     // instances begun here and not ended
  std::vector<std::uint64_t> nested_waiting;  // joined as a worker, end not reported
  std::vector<std::uint16_t> devices;         // that it gave something to do, sorted
  EpochIndex epochs;
  bool has_sync = false;
  std::size_t damaged = 0;  // records that are none
  std::uint64_t first_ticks = kNever;
  std::uint64_t last_ticks = 0;
  std::uint64_t threads_begun = 0;
  std::uint64_t threads_ended = 0;
  std::uint64_t thread_begin_ticks = 0;  // of the first
  std::uint64_t thread_end_ticks = 0;    // of the last
  std::uint64_t kernel_thread = 0;       // of the first

  // State of the scan between calls.
  std::uint64_t open_parallel = 0;
  std::size_t scanned = 0;
  std::array<std::uint64_t, 64> recent{};
};

// Returns true if a recorder made it: no kind and no time are 0, as they are where a page of a file was lost.
inline bool is_whole(const spool::Record& record) noexcept {
  return record.kind != spool::kInvalid && record.ticks != 0;
}

// Scans what has been added to the sequence since the last call.
void scan_records(const spool::RecordSequence& records, LocationScan& scan);

// Returns true if a record's a48 is an epoch (an outermost region of the process' own root).
bool is_epoch_instance(const spool::Record& record) noexcept;

// Begin record (or its snapshot) of the outermost parallel region that began at this epoch;
// `hint` (or nullptr) remembers the position of the last one.
std::optional<spool::Record> find_parallel(const spool::RecordSequence& primary,
                                           const EpochIndex& epochs, std::uint64_t instance,
                                           std::size_t* hint);

// When that region ended on the thread that began it; `hint` as above.
std::optional<std::uint64_t> parallel_end_ticks(const spool::RecordSequence& primary,
                                                const EpochIndex& epochs,
                                                std::uint64_t instance, std::size_t* hint);

// The end times of nested teams, for those of `instances` (sorted) whose end is in these
// records.
std::vector<std::pair<std::uint64_t, std::uint64_t>> nested_ends(
    const spool::RecordSequence& records, const std::vector<std::uint64_t>& instances);

// Ticks of the first Sync at or after this epoch.
std::optional<std::uint64_t> sync_ticks(const spool::RecordSequence& records,
                                        const EpochIndex& epochs, std::uint64_t epoch);

}  // namespace refrain::writer
