// What a location spends its time for, iteration by iteration: the fifth area of its spool file
// (format.h), in memory of fixed size.
//
// Place in the flow: ARCHITECTURE.md, stage 3 (kept by tracer/recorder/thread_rows.h) and 5 (read
// by summary_areas.h, also after the process was killed).
// Source: K. Furlinger and S. Moore, Detection and Analysis of Iterative Behavior in Parallel
// Applications, section 3.
//
//     0                     row_bytes()                                  end of the area
//     +---------------------+------------------------------------------+
//     | IterationRowsHeader | IterationRow and its counters [capacity] |
//     +---------------------+------------------------------------------+
//
// Sums run on from the start of the recording. A row has what they were when it began; what belongs
// to it is the difference to the next row. So sums of all rows are those of the run, whatever rows
// are merged: a row less is a start less.
//
// The time of a class is a sum of ends less begins; the class that a thread is in has one start
// more than ends, so its sum is below zero by about the time stamp of that, and no other is. A
// process that dies between the two stores of a change leaves none below zero.
//
// A row is complete before `state` counts it. While rows are merged `state` says how far that has
// come: the first `merged` rows are what came out, the others begin with row `next`.
//
// Units: ticks of the location's clock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "summary/time_class.h"

namespace refrain::spool {

// Classes of summary::TimeClass, and time outside of all regions.
inline constexpr std::size_t kOutsideClass = summary::kTimeClasses;
inline constexpr std::size_t kRowClasses = summary::kTimeClasses + 1;
using ClassSums = std::array<std::uint64_t, kRowClasses>;

inline constexpr unsigned kMaxRowCounters = 32;

inline constexpr std::uint64_t kNoLoopRow = 0xffff;   // in no loop
inline constexpr std::uint64_t kMixedRow = 0xfffe;    // in several
inline constexpr std::uint64_t kMaxRowLoop = 0xfffd;  // numbers above it count as several

enum RowBegin : std::uint64_t {
  kRowIteration = 0,  // an iteration began, not the first of its visit
  kRowVisit = 1,      // the first iteration of a visit, or what follows a visit
  kRowBetween = 2,    // what lies between two phases of a loop
};

struct IterationRow {
  std::uint64_t begin;
  std::uint64_t place;  // number of the first iteration << 16 | loop
  std::uint64_t total;  // iterations of all loops before it
  std::uint64_t kind;   // number of the visit's begin or end << 2 | RowBegin
  // Of all classes but the first: what is missing to the time since the start is that one's.
  std::uint64_t times[kRowClasses - 1];
  // The values of the counters follow.
};
static_assert(sizeof(IterationRow) == 152);

struct IterationRowsHeader {
  std::uint32_t capacity;  // rows
  std::uint32_t counters;
  std::uint64_t begin;                // of the recording
  std::atomic<std::uint64_t> state;   // rows | merged << 21 | next << 42
  std::atomic<std::uint64_t> merges;  // how often rows were merged
  std::atomic<std::uint64_t> total;   // iterations of all loops so far
  // As they are now.
  alignas(64) std::uint64_t times[kRowClasses];
  std::uint64_t counter_values[kMaxRowCounters];
};
inline constexpr std::uint64_t kIterationRowsHeaderBytes = 4096;
static_assert(sizeof(IterationRowsHeader) <= kIterationRowsHeaderBytes);

inline constexpr unsigned kRowStateBits = 21;
inline constexpr std::uint64_t kMaxRows = (std::uint64_t{1} << kRowStateBits) - 1;
inline constexpr std::uint64_t kMinRows = 16;

struct RowState {
  std::uint64_t rows;    // in all
  std::uint64_t merged;  // 0: none are being merged
  std::uint64_t next;

  static constexpr RowState of(std::uint64_t word) noexcept {
    return {word & kMaxRows, word >> kRowStateBits & kMaxRows,
            word >> (2 * kRowStateBits) & kMaxRows};
  }
  constexpr std::uint64_t word() const noexcept {
    return rows | merged << kRowStateBits | next << (2 * kRowStateBits);
  }
};

constexpr std::uint64_t row_place(std::uint64_t loop, std::uint64_t first) noexcept {
  return first << 16 | loop;
}
constexpr std::uint64_t loop_of_row(std::uint64_t place) noexcept { return place & 0xffff; }
// Of two rows that become one.
constexpr std::uint64_t merged_place(std::uint64_t first, std::uint64_t second) noexcept {
  if (loop_of_row(second) == kNoLoopRow) return first;
  if (loop_of_row(first) == kNoLoopRow || first == second) return second;
  return loop_of_row(first) == loop_of_row(second) ? first : row_place(kMixedRow, 0);
}

constexpr std::uint64_t row_bytes(unsigned counters) noexcept {
  return sizeof(IterationRow) + counters * sizeof(std::uint64_t);
}
constexpr std::uint64_t row_offset(std::uint64_t row, unsigned counters) noexcept {
  return kIterationRowsHeaderBytes + row * row_bytes(counters);
}

}  // namespace refrain::spool
