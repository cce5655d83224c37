// A location's records as one sequence: its log and, where the ring is wanted too, what
// of the ring belongs behind the log.
//
// Place in the flow: ARCHITECTURE.md, step 7; everything that walks over a location's
// events does so through this.
// Thread-safety: const access from any number of threads.
// Ownership: none; the SpoolFile must live longer.
// Cost: operator[] is O(1), a predictable branch.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "writer/spool/format.h"

namespace refrain::spool {

class RecordSequence {
 public:
  RecordSequence() = default;
  RecordSequence(std::span<const Record> flushed,
                 std::span<const Record> staged)
      : parts_{flushed, staged, {}, {}} {}

  // Puts [from, ring size) of the ring behind the log.
  void append_ring(std::span<const Record> older,
                   std::span<const Record> newer, std::size_t from) {
    const std::size_t skip = from < older.size() ? from : older.size();
    parts_[2] = older.subspan(skip);
    const std::size_t rest = from - skip;
    parts_[3] = newer.subspan(rest < newer.size() ? rest : newer.size());
  }

  std::size_t size() const noexcept {
    return parts_[0].size() + parts_[1].size() + parts_[2].size() + parts_[3].size();
  }

  const Record& operator[](std::size_t index) const noexcept {
    for (std::size_t part = 0; part < 3; ++part) {
      if (index < parts_[part].size()) [[likely]]
        return parts_[part][index];
      index -= parts_[part].size();
    }
    return parts_[3][index];
  }

 private:
  std::array<std::span<const Record>, 4> parts_;
};

}  // namespace refrain::spool
