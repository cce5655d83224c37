// A location's records as one sequence: its log and, where the ring is wanted too, what
// of the ring belongs behind the log.
//
// Place in the flow: ARCHITECTURE.md, step 7; everything that walks over a location's
// events does so through this.
// Thread-safety: const access from any number of threads.
// Ownership: none; the SpoolFile must live longer.
// Cost: operator[] is O(1), one predictable branch.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "writer/spool/format.h"

namespace refrain::writer {

class RecordSequence {
 public:
  RecordSequence() = default;
  explicit RecordSequence(std::span<const spool::Record> log) : parts_{log, {}, {}} {}

  // Puts [from, ring size) of the ring behind the log.
  void append_ring(std::span<const spool::Record> older,
                   std::span<const spool::Record> newer, std::size_t from) {
    const std::size_t skip = from < older.size() ? from : older.size();
    parts_[1] = older.subspan(skip);
    const std::size_t rest = from - skip;
    parts_[2] = newer.subspan(rest < newer.size() ? rest : newer.size());
  }

  std::size_t size() const noexcept {
    return parts_[0].size() + parts_[1].size() + parts_[2].size();
  }

  const spool::Record& operator[](std::size_t index) const noexcept {
    if (index < parts_[0].size()) return parts_[0][index];
    index -= parts_[0].size();
    if (index < parts_[1].size()) return parts_[1][index];
    return parts_[2][index - parts_[1].size()];
  }

 private:
  std::array<std::span<const spool::Record>, 3> parts_;
};

}  // namespace refrain::writer
