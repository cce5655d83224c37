// One spool file, open for writing: header, stage, ring, call tree, iterations and a growing log.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Layout: spool/format.h.
//
// All but the log are mapped, their pages made before they are used, so a full disk is a
// result code here and never a SIGBUS in the program. The log is written a stage at a
// time, into chunks that are allocated before: memory does not grow with the run, and
// what was written is in the page cache and outlives the process.
//
// The file stays open where a descriptor may (descriptors.h); otherwise it is opened for each write and closed again,
// seen from its directory, which may move.
//
// Thread-safety: one thread at a time. Ownership: of the descriptor and the mappings,
// until close() or abandon(). Errors: result codes; create(), flush(), use_ring() and close() are slow
// paths (slow_path.h), read() is part of one.
// A descriptor that the program has closed, or made its own, is left alone: nothing is written
// or read any more, as on a full disk; what is mapped stays. What is mapped is never believed: another process may have
// written to it.
// Cost: a flush is one write of at most 96 KiB; a new chunk one allocation call. Pages are made
// before they are touched, by one call for many: when the file is made those of the header, the smallest ring and the
// start of the stage.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "spool/format.h"
#include "tracer/recorder/call_tree.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/summary_memory.h"
#include "tracer/recorder/thread_flow.h"
#include "tracer/recorder/thread_rows.h"

namespace refrain::recorder {

// Bytes of memory and disk that all files of the process share. Thread-safe.
class Budget {
 public:
  Budget(std::uint64_t memory_bytes, std::uint64_t disk_bytes) noexcept
      : memory_limit_(memory_bytes), disk_limit_(disk_bytes) {}
  bool take_memory(std::uint64_t bytes) noexcept {
    return take(memory_, memory_limit_, bytes);
  }
  bool take_disk(std::uint64_t bytes) noexcept { return take(disk_, disk_limit_, bytes); }
  void give_memory(std::uint64_t bytes) noexcept { memory_.fetch_sub(bytes); }
  void give_disk(std::uint64_t bytes) noexcept { disk_.fetch_sub(bytes); }
  std::uint64_t disk_bytes() const noexcept { return disk_.load(); }
  // Of the disk's bytes, those of records that have been written to the files' logs.
  void count_logged(std::uint64_t bytes) noexcept {
    logged_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void forget_logged(std::uint64_t bytes) noexcept {
    logged_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  std::uint64_t logged_bytes() const noexcept {
    return logged_.load(std::memory_order_relaxed);
  }
  // How much of `wanted` bytes, for a ring or a call tree, a further thread should have: when half of
  // the memory is used both get smaller, so that hundreds of threads are recorded and not the
  // first ones.
  std::uint64_t share_of(std::uint64_t wanted) const noexcept {
    const std::uint64_t used = memory_.load();
    if (memory_limit_ == 0 || used + wanted <= memory_limit_ / 2) return wanted;
    const std::uint64_t left = memory_limit_ - std::min(used, memory_limit_);
    return std::min(wanted, std::max(left / kThreadsToCome, kMinShare));
  }

 private:
  static constexpr std::uint64_t kThreadsToCome = 128;
  static constexpr std::uint64_t kMinShare = 24 << 10;
  static bool take(std::atomic<std::uint64_t>& used, std::uint64_t limit,
                   std::uint64_t bytes) noexcept {
    if (limit == 0) return used.fetch_add(bytes), true;
    if (used.fetch_add(bytes) + bytes <= limit) return true;
    used.fetch_sub(bytes);
    return false;
  }
  std::uint64_t memory_limit_;
  std::uint64_t disk_limit_;
  std::atomic<std::uint64_t> memory_{0};
  std::atomic<std::uint64_t> disk_{0};
  std::atomic<std::uint64_t> logged_{0};
};

enum class SpoolResult : std::uint8_t { kOk, kDiskLimit, kDiskFull, kMemory };

// Bytes of the parts of a file.
struct SpoolSizes {
  std::uint64_t ring;
  std::uint64_t tree;      // 0: none; of the journal its table of loops
  std::uint64_t chunk;     // by which the log grows
  std::uint64_t flow = 0;  // the event flow graph; 0: none
  std::uint64_t rows = 0;  // of iterations; 0: none
  std::uint64_t summary =
      0;  // what these three may use, together; 0: they are not a summary's
};

class SpoolFile : private PageMaker {
 public:
  SpoolFile() = default;
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;
  ~SpoolFile() { close(); }

  // Makes the file `path`, seen from the descriptor `folder`, with the constant part of `header` (offsets and
  // capacities are filled in here); it appears under its name only when complete. `folder` is used as long as
  // the file is.
  SpoolResult create(int folder, const char* path, const spool::Header& header,
                     const SpoolSizes& sizes, Budget& budget) noexcept;

  bool is_open() const noexcept { return open_; }
  spool::Header* header() const noexcept { return header_; }
  spool::Record* ring() const noexcept { return ring_; }
  std::uint64_t ring_records() const noexcept { return ring_records_; }

  // The first `records` of the ring, a power of two times kRingFirst, are about to be used; those after the number
  // of the last call were not used before. False: the disk is full, and ring_records() are all that there are.
  bool use_ring(std::uint64_t records) noexcept;

  // Gives the tree the file's area; false if the file has none.
  bool open_tree(CallTree& tree, std::uint64_t* times) noexcept;
  // The same for the event flow graph.
  bool open_flow(FlowGraph& flow, std::uint32_t components) noexcept;
  // The same of iterations, see IterationRows::open().
  bool open_rows(IterationRows& rows, std::uint64_t most, unsigned counters) noexcept;

  // The area of the call tree, where it is no call tree's; null: none.
  void* area() const noexcept {
    return header_ == nullptr || tree_bytes_ == 0 ? nullptr : at(tree_offset_);
  }

  spool::Record* stage() const noexcept { return stage_; }
  // So many records of it may be used; all of them after use_stage(). Threads that record little take no more.
  std::uint64_t stage_ready() const noexcept { return stage_ready_; }
  SpoolResult use_stage() noexcept;

  // Log records that are in the log area; the stage begins with the next.
  std::uint64_t flushed() const noexcept { return flushed_; }

  // Writes the first `count` records of the stage to the log area.
  SpoolResult flush(std::uint64_t count) noexcept;

  // The log is cut back to `records`, which are not in the stage any more.
  void rewind(std::uint64_t records) noexcept;

  // Copies log records [first, first + count) to `to`, from log area and stage.
  bool read(std::uint64_t first, std::uint64_t count, spool::Record* to) const noexcept;

  // Gives unused space back and marks the file as ended.
  void close() noexcept;
  // Instead: the process ends by itself, where something is still in progress. One store.
  void note_exit() noexcept {
    if (open_) header_->ended.store(spool::kEndedInside, std::memory_order_release);
  }
  // Also after close(), for the mapping stays.
  void note_end_reported() noexcept {
    if (header_ != nullptr) header_->end_reported.store(1, std::memory_order_relaxed);
  }
  // A thread got no location. Any thread.
  void count_unrecorded_thread() noexcept {
    if (header_ != nullptr)
      header_->threads_unrecorded.fetch_add(1, std::memory_order_relaxed);
  }
  // What a thread of the location has used of the machine, besides that of its earlier ones.
  void add_use(const base::ThreadUse& use) noexcept;
  void note_memory(std::uint64_t peak_bytes, std::uint64_t bytes) noexcept {
    if (!open_) return;
    header_->peak_memory_bytes.store(peak_bytes, std::memory_order_relaxed);
    header_->memory_bytes.store(bytes, std::memory_order_relaxed);
  }

  // In a forked child: drops the mappings and the descriptor, changes nothing.
  void abandon() noexcept;

 private:
  bool make_pages(std::uintptr_t begin, std::uintptr_t end) noexcept override;
  template <typename T = char>
  T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(header_) + offset);
  }
  class Opened;
  SpoolResult fill_new_file(int file, const spool::Header& header) noexcept;
  bool keep_open(int file, const char* path) noexcept;

  bool open_ = false;
  int kept_ = -1;                // descriptor; -1: opened each time,
  int folder_ = -1;              // from here,
  std::array<char, 64> name_{};  // by this name
  FileIdentity file_;
  spool::Header* header_ = nullptr;
  spool::Record* stage_ = nullptr;
  spool::Record* ring_ = nullptr;
  std::uint64_t flushed_ = 0;
  std::uint64_t ring_offset_ = 0;
  std::uint64_t ring_records_ = 0;
  std::uint64_t ring_ready_ = 0;   // of them, from the first on: pages are made
  std::uint64_t stage_ready_ = 0;  // likewise
  std::uint64_t tree_offset_ = 0;
  std::uint64_t tree_bytes_ = 0;
  std::uint64_t flow_offset_ = 0;
  std::uint64_t flow_bytes_ = 0;
  std::uint64_t rows_offset_ = 0;
  std::uint64_t rows_bytes_ = 0;
  std::uint64_t summary_bytes_ = 0;  // 0: areas are used whole
  std::uint64_t head_bytes_ = 0;     // of all but the log, mapped together
  std::uint64_t charged_ = 0;        // of these, what the budget counts
  std::uint64_t chunk_bytes_ = 0;    // how much is allocated at a time
  std::uint64_t allocated_ = 0;      // bytes of the file
  Budget* budget_ = nullptr;
  SummaryMemory memory_;
};

}  // namespace refrain::recorder
