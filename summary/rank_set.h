// A set of ranks that takes as much memory as it has irregular parts: ranks that follow each other,
// or recur at equal steps in up to three dimensions, as the inside and the faces of a grid do, are
// one section.
//
// Place in the flow: ARCHITECTURE.md, stage 5; the ranks of a cluster in merged_flow.h.
// Thread-safety: plain value. Cost: unite() linear in the runs of both (rows of ranks that follow
// each other), in memory for the sections alone.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace refrain::summary {

class RankSet {
 public:
  static constexpr std::size_t kDimensions = 4;
  static constexpr std::uint64_t kMostRanks = std::uint64_t{1} << 24;

  struct Dimension {
    std::uint32_t count = 1;
    std::uint32_t step = 0;  // 0 if the count is 1
    auto operator<=>(const Dimension&) const = default;
  };
  // first + i * step, for all i below the count, in each dimension; of the innermost the step is 1.
  struct Section {
    std::uint32_t first = 0;
    std::array<Dimension, kDimensions> dimensions{};
    auto operator<=>(const Section&) const = default;
  };
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  RankSet() = default;
  static RankSet of(std::uint32_t rank);
  static RankSet of(std::vector<std::uint32_t> ranks);  // in any order
  // Of sections as a file has them. Fails where they are not in order, or lie in each other.
  static base::Result<RankSet> make(std::span<const Section> sections);

  bool empty() const noexcept { return sections_.empty(); }
  std::uint64_t size() const noexcept;
  bool contains(std::uint32_t rank) const noexcept;
  std::uint32_t first() const noexcept;  // of a set that is not empty
  const std::vector<Section>& sections() const noexcept { return sections_; }
  void unite(const RankSet& other);
  // In their order, at most so many.
  std::vector<std::uint32_t> lowest(std::uint64_t most) const;

  // In their order: ranks that follow each other.
  class Runs {
   public:
    explicit Runs(const RankSet& set) : set_(&set) {}
    // False: there are no more.
    bool next(Run& run) noexcept;

   private:
    const RankSet* set_;
    std::size_t section_ = 0;
    std::array<std::uint32_t, kDimensions> at_{};
  };

  // "0-3,5,8-14:2"; "..." after so many parts.
  std::string text(std::size_t most_parts = 16) const;

  auto operator<=>(const RankSet&) const = default;

 private:
  class Builder;
  std::vector<Section>
      sections_;  // in order, none begins before the one before it has ended
};

}  // namespace refrain::summary
