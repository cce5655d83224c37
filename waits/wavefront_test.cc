#include <catch2/catch.hpp>
#include <map>
#include <utility>

#include "waits/synthetic_trace.h"

namespace refrain::waits::wavefront_test {
namespace {

// Ranks on a grid of `columns` x `rows` (x is dimension 0), swept from corner to corner, block by block: a rank
// receives from its neighbours behind, works for `kWork`, and sends ahead.
class Sweeps {
 public:
  static constexpr std::uint64_t kWork = 100;

  Sweeps(std::uint32_t columns, std::uint32_t rows)
      : trace_(columns * rows), columns_(columns), rows_(rows), now_(columns * rows) {
    trace_.d.comms[0].grid = {{columns, false}, {rows, false}};
    for (std::uint32_t rank = 0; rank < now_.size(); ++rank) trace_.enter(rank, 0, rMain);
  }

  void sweep(bool up_x, bool up_y, int blocks) {
    const std::uint64_t begin = 10 + *std::ranges::max_element(now_);
    std::ranges::fill(now_, begin);
    for (int block = 0; block < blocks; ++block)
      for (std::uint32_t i = 0; i < columns_; ++i)
        for (std::uint32_t j = 0; j < rows_; ++j) {
          const std::uint32_t x = up_x ? i : columns_ - 1 - i;
          const std::uint32_t y = up_y ? j : rows_ - 1 - j;
          const std::uint32_t rank = x * rows_ + y;
          if (i > 0)
            receive(rank, up_x ? rank - rows_ : rank + rows_, block == 0, up_x, up_y);
          if (j > 0) receive(rank, up_y ? rank - 1 : rank + 1, block == 0, up_x, up_y);
          // Later ones wait, too, where work differs.
          now_[rank] += kWork + (block == 1 ? 20 * (now_.size() - rank) : 0);
          if (i + 1 < columns_) send(rank, up_x ? rank + rows_ : rank - rows_);
          if (j + 1 < rows_) send(rank, up_y ? rank + 1 : rank - 1);
        }
  }

  WaitAnalysis analyze() {
    for (std::uint32_t rank = 0; rank < now_.size(); ++rank)
      trace_.leave(rank, now_[rank] + 10, rMain);
    return trace_.analyze();
  }
  SyntheticTrace& trace() { return trace_; }

  // By direction (bit 0: up in x, bit 1: up in y) and rank: what the first block waits.
  std::vector<std::vector<std::uint64_t>> expected =
      std::vector(4, std::vector<std::uint64_t>(64));

 private:
  void send(std::uint32_t from, std::uint32_t to) {
    trace_.send(from, now_[from], now_[from] + 1, to);
    sent_[from * 64 + to].push_back(now_[from]);
    now_[from] += 1;
  }
  void receive(std::uint32_t rank, std::uint32_t from, bool first, bool up_x, bool up_y) {
    auto& queue = sent_[from * 64 + rank];
    const std::uint64_t sent = queue.front();
    queue.erase(queue.begin());
    const std::uint64_t end = std::max(sent, now_[rank]) + 1;
    trace_.receive(rank, now_[rank], end, from);
    if (first && sent > now_[rank])
      expected[(up_x ? 1 : 0) + (up_y ? 2 : 0)][rank] += sent - now_[rank];
    now_[rank] = end;
  }

  SyntheticTrace trace_;
  std::uint32_t columns_, rows_;
  std::vector<std::uint64_t> now_;
  std::map<std::uint32_t, std::vector<std::uint64_t>> sent_;
};

const char* const kNames[] = {
    "wavefront_refill_minus_x_minus_y", "wavefront_refill_plus_x_minus_y",
    "wavefront_refill_minus_x_plus_y", "wavefront_refill_plus_x_plus_y"};

}  // namespace

TEST_CASE("Waits: wavefront - late senders of the first block, by direction and rank") {
  const auto [columns, rows, blocks] =
      GENERATE(table<std::uint32_t, std::uint32_t, int>({{2, 2, 3}, {3, 4, 3}, {3, 3, 2}}));
  CAPTURE(columns, rows, blocks);
  Sweeps sweeps(columns, rows);
  for (int sweep = 0; sweep < 2; ++sweep)
    for (const auto& [up_x, up_y] : std::vector<std::pair<bool, bool>>{
             {true, true}, {true, false}, {false, true}, {false, false}})
      sweeps.sweep(up_x, up_y, blocks);
  const WaitAnalysis result = sweeps.analyze();
  double all = 0;
  for (std::uint32_t direction = 0; direction < 4; ++direction) {
    CAPTURE(kNames[direction]);
    std::uint32_t most = 0;
    for (std::uint32_t rank = 0; rank < columns * rows; ++rank) {
      const Ticks found = of_location(result, kNames[direction], rank);
      CAPTURE(rank);
      CHECK(found == sweeps.expected[direction][rank]);
      if (found > of_location(result, kNames[direction], most)) most = rank;
    }
    // The corner that it reaches last.
    const std::uint32_t x = (direction & 1) != 0 ? columns - 1 : 0;
    const std::uint32_t y = (direction & 2) != 0 ? rows - 1 : 0;
    CHECK(most == x * rows + y);
    all += total(result, kNames[direction]);
  }
  CHECK(total(result, "wavefront_refill") == all);
  REQUIRE(result.grids.size() == 1);
  CHECK(result.grids[0].sizes == std::vector<std::uint32_t>{columns, rows});
  CHECK(result.grids[0].processes.size() == columns * rows);
  CHECK(all < total(result, "mpi_latesender"));
  CHECK(result.overcharged == 0);
}

TEST_CASE("Waits: wavefront - none without a grid, or where it is periodic") {
  for (const bool periodic : {false, true}) {
    Sweeps sweeps(3, 3);
    if (periodic)
      sweeps.trace().d.comms[0].grid[1].periodic = true;
    else
      sweeps.trace().d.comms[0].grid.clear();
    sweeps.sweep(true, true, 3);
    sweeps.sweep(false, true, 3);
    const WaitAnalysis result = sweeps.analyze();
    CHECK(total(result, "mpi_latesender") > 0);
    CHECK(total(result, "wavefront_refill") == 0);
  }
}

}  // namespace refrain::waits::wavefront_test
