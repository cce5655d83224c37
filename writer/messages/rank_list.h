// The members of a communicator: at each place a rank in MPI_COMM_WORLD, or none known yet.
//
// Place in the flow: ARCHITECTURE.md, stage 5; mpi_comms.h. Ranks that follow each other in
// equal steps, as they do in the world, in rows and in columns, are one run, so that a
// communicator of any size takes a few bytes in memory and in messages.
// Thread-safety: const access from any number of threads. Pure.
// Cost: operator[] O(log runs); fill() linear in the runs of both; memory 16 bytes a run.
// Ranks without any order are a run for each two.
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "exchange/bytes.h"

namespace refrain::writer {

inline constexpr std::uint32_t kNoRank = 0xffffffff;
inline constexpr std::uint32_t kMostProcesses = 1U << 24;

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

}  // namespace refrain::writer
