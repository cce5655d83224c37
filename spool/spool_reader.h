// Opens one spool file for reading and determines what in it can be trusted.
//
// Place in the flow: ARCHITECTURE.md, stage 5; format.h is the contract. Used at the end
// of a run and, by `refrain recover`, on the files of a process that was killed.
// Thread-safety: const access from any number of threads. Not for signal handlers.
// Ownership: the mapping lives as long as the SpoolFile; spans point into it. The file
// is never written to.
// Errors: open() does not fail or throw because of a file's content: of a damaged file
// the rest is read, and complaints() says, a sentence each, what was wrong.
// usable() is false when nothing could be read. Without memory to map it: std::bad_alloc.
// Cost: one mmap, O(1) whatever the size of the file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/thread_use.h"
#include "spool/format.h"
#include "spool/record_sequence.h"
#include "spool/summary_areas.h"

namespace refrain::spool {

// The header's fields, read once when the file was opened.
struct SpoolFacts {
  std::uint32_t file_kind = 0;
  std::uint32_t process = 0;
  std::uint32_t location = 0;
  std::uint32_t role = 0;
  std::uint32_t team_number = 0;
  std::uint64_t thread_function = 0;
  std::uint64_t pid = 0;
  std::uint32_t clock_kind = 0;
  double ticks_per_second = 1e9;
  std::uint64_t start_ticks = 0;
  std::uint64_t start_epoch_ns = 0;
  std::uint64_t start_monotonic_ns = 0;
  std::uint64_t events_seen = 0;
  std::uint64_t last_ticks = 0;
  std::array<std::uint64_t, kLossCauses> lost{};
  base::ThreadUse use;
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t locks_left_out = 0;
  std::uint64_t threads_unrecorded = 0;
  bool ended = false;             // closed regularly
  bool exited = false;            // not closed, but the process has ended by itself
  bool end_reported = false;      // and has said why there is no archive
  bool suspended = false;         // new records went into the ring
  std::uint64_t log_records = 0;  // committed
};

// The content of the ring, oldest first: `older`, then `newer`.
struct RingView {
  std::span<const Record> older;
  std::span<const Record> newer;
  bool overflowed = false;  // part of this gap may be lost
};

class SpoolFile {
 public:
  static SpoolFile open(const std::string& path);

  SpoolFile() = default;
  ~SpoolFile();
  SpoolFile(SpoolFile&& other) noexcept;
  SpoolFile& operator=(SpoolFile&& other) noexcept;
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;

  bool usable() const noexcept { return usable_; }
  const std::vector<std::string>& complaints() const noexcept { return complaints_; }
  const std::string& path() const noexcept { return path_; }
  const SpoolFacts& facts() const noexcept { return facts_; }
  // The same, with what has changed since: of a file that is being written.
  SpoolFacts facts_now() const noexcept;
  // The committed log.
  const RecordSequence& log() const noexcept { return log_; }
  // Empty unless facts().suspended.
  const RingView& ring() const noexcept { return ring_; }
  // Empty if the file has none.
  CallTree call_tree() const { return read_call_tree(tree_); }
  // There is room for one, which may be empty: there was no memory for its index.
  bool wants_call_tree() const noexcept { return !tree_.empty(); }
  FlowGraph flow_graph() const { return read_flow_graph(flow_); }
  // Of the journal: the area of its table of loops (summary_areas.h). Empty if there is none.
  std::span<const std::byte> loop_table() const noexcept {
    return facts_.file_kind == kJournalFile ? tree_ : std::span<const std::byte>{};
  }
  // See read_iteration_rows(); no rows if the file has none.
  IterationRows iteration_rows(const CallTree& tree, std::uint64_t team_end,
                               std::uint64_t end) const {
    return read_iteration_rows(rows_, tree, team_end, end);
  }
  // Allocated on disk.
  std::uint64_t disk_bytes() const noexcept { return disk_bytes_; }

 private:
  void map(const std::string& path);
  void read_header();
  void read_log(const Header& header);
  void read_ring(const Header& header);
  void read_tree(const Header& header);
  void read_flow(const Header& header);
  void read_rows(const Header& header);
  std::span<const Record> records_at(std::uint64_t offset,
                                     std::uint64_t count) const noexcept;
  void complain(const std::string& what);

  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t disk_bytes_ = 0;
  bool usable_ = false;
  SpoolFacts facts_;
  RecordSequence log_;
  std::span<const std::byte> tree_;
  std::span<const std::byte> flow_;
  std::span<const std::byte> rows_;
  RingView ring_;
  std::vector<std::string> complaints_;
};

// A process' locations by number; workers among them by OpenMP's number, which says who is who to the program: the order in which
// threads begin does not.
void sort_locations(std::vector<SpoolFile>& locations);

}  // namespace refrain::spool
