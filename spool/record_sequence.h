// A file's records as one sequence: its log, which is partly in the log area and partly
// in the stage, and, if wanted, the part of the ring that continues the log.
// Where a process was killed between the two, a record that says so is put at the seam.
//
// Place in the flow: ARCHITECTURE.md, stage 5; everything that walks over records does so
// through this.
// Thread-safety: const access from any number of threads.
// Ownership: none; the SpoolFile must live longer.
// Cost: operator[] is O(1), one predictable branch.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "spool/format.h"

namespace refrain::spool {

class RecordSequence {
 public:
  RecordSequence() = default;
  explicit RecordSequence(std::span<const Record> log, std::span<const Record> stage = {})
      : parts_{log, stage, {}, {}, {}} {}

  // Puts one record after the log, before any ring; it must live as long as this.
  void append_seam(const Record& record) { parts_[2] = std::span(&record, 1); }

  // Puts [from, ring size) of the ring after the log.
  void append_ring(std::span<const Record> older, std::span<const Record> newer,
                   std::size_t from) {
    const std::size_t skip = from < older.size() ? from : older.size();
    parts_[3] = older.subspan(skip);
    const std::size_t rest = from - skip;
    parts_[4] = newer.subspan(rest < newer.size() ? rest : newer.size());
  }

  std::size_t size() const noexcept {
    return parts_[0].size() + parts_[1].size() + parts_[2].size() + parts_[3].size() +
           parts_[4].size();
  }

  const Record& operator[](std::size_t index) const noexcept {
    if (index < parts_[0].size()) return parts_[0][index];
    index -= parts_[0].size();
    if (index < parts_[1].size()) return parts_[1][index];
    index -= parts_[1].size();
    if (index < parts_[2].size()) return parts_[2][index];
    index -= parts_[2].size();
    if (index < parts_[3].size()) return parts_[3][index];
    return parts_[4][index - parts_[3].size()];
  }

 private:
  std::array<std::span<const Record>, 5> parts_;
};

}  // namespace refrain::spool
