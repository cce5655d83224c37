// Keeps the table of the process' loops in the journal's file, and, where nothing else of loops is recorded,
// takes the gate's marks.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Layout: spool/loop_table_format.h. The gate asks for a place for
// each loop that it opens, and counts its iterations there.
// Thread-safety: the primary thread's; other processes may read at any time. Ownership: not of the area.
// Errors: loops that find no place share the last entry. Without an area they all share one that nobody reads.
// Cost: a search of a few entries for each visit of a loop; none for an iteration.
#pragma once

#include <cstdint>

#include "filters/iteration_gate.h"
#include "spool/loop_table_format.h"

namespace refrain::runtime {

class LoopTable {
 public:
  // `area`: kLoopTableBytes of zeros, aligned to 64 bytes; null: none.
  void open(void* area) noexcept;

  // A visit of a loop begins; where its iterations are counted.
  filters::LoopCounts* begin_visit(const filters::LoopMark& mark) noexcept;
  // The loop at this level is left, and those inside it.
  void end_visit(std::uint16_t level) noexcept;

 private:
  spool::LoopEntry& entry(std::uint32_t index) noexcept;
  std::uint32_t find(const filters::LoopMark& mark) noexcept;

  // What the table itself says is for others: another process may have written to it.
  spool::LoopTableHeader* header_ = nullptr;
  std::uint32_t entries_ = 0;
  std::uint32_t open_levels_ = 0;
  std::uint32_t open_entry_[spool::kOpenLoops] = {};
  std::uint32_t loops_[spool::kLoopEntries] = {};  // by entry
  filters::LoopCounts nowhere_;
  // By the loop's number modulo the size: its entry plus one, if it is that one's.
  static constexpr std::uint32_t kIndex = 512;
  std::uint16_t index_[kIndex] = {};
};

}  // namespace refrain::runtime
