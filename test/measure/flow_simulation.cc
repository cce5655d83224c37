#include "test/measure/flow_simulation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <ctime>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "exchange/tree.h"
#include "summary/merged_flow.h"
#include "test/measure/live_bytes.h"
#include "tracer/mpi/communicators.h"

namespace refrain::simulation {
namespace {

using summary::FlowGraph;
using summary::MergedFlow;
using Partner = FlowGraph::Partner;

constexpr unsigned kMostDimensions = 3;

double cpu_now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// One message from each rank, taken by its parent after it was sent.
class Letters {
 public:
  explicit Letters(std::uint32_t ranks) : ranks_(ranks) {}

  class Rank final : public exchange::Exchange {
   public:
    Rank(Letters& letters, std::uint32_t rank) : letters_(letters), rank_(rank) {}
    std::uint32_t rank() const noexcept override { return rank_; }
    std::uint32_t size() const noexcept override { return letters_.ranks_; }
    void send(std::uint32_t, const exchange::Bytes& bytes) override {
      letters_.largest_ = std::max(letters_.largest_, bytes.size());
      letters_.sent_[rank_] = bytes;
    }
    exchange::Bytes receive(std::uint32_t from) override {
      exchange::Bytes bytes = std::move(letters_.sent_.extract(from).mapped());
      letters_.received_ = std::max(letters_.received_, bytes.size());
      return bytes;
    }

   private:
    Letters& letters_;
    std::uint32_t rank_;
  };

  std::size_t largest() const { return largest_; }
  std::size_t received() const { return received_; }

 private:
  std::uint32_t ranks_;
  std::map<std::uint32_t, exchange::Bytes> sent_;
  std::size_t largest_ = 0;
  std::size_t received_ = 0;
};

class Grid {
 public:
  Grid(std::uint32_t ranks, unsigned dimensions, bool different, bool rings)
      : dimensions_(dimensions), different_(different), rings_(rings) {
    const auto bits = static_cast<unsigned>(std::countr_zero(ranks));
    for (unsigned i = 0; i < dimensions; ++i)
      sizes_[i] = 1U << (bits + dimensions - 1 - i) / dimensions;
  }

  MergedFlow graph(std::uint32_t rank) const {
    FlowGraph graph;
    graph.components = {"site", "callers", "partner", "size"};
    graph.nodes.emplace_back();
    const std::uint64_t iterations = different_ ? 1000 + rank : 1000;
    std::uint32_t last = add(graph, 0, call("MPI_Init", 10), 1);
    std::uint32_t first = 0;
    for (const bool sends : {false, true})
      for (unsigned i = 0; i < 2 * dimensions_; ++i) {
        FlowGraph::Node node = call(sends ? "MPI_Isend" : "MPI_Irecv", 20 + i);
        (sends ? node.to : node.from) =
            rings_ ? neighbour_in_ring(rank, i) : neighbour(rank, i);
        if (sends) node.size_least = node.size_greatest = 1024 << i / 2;
        node.callers = {"exchange.c:30", "main.c:80"};
        last = add(graph, last, node, first == 0 ? 1 : iterations);
        if (first == 0) first = last;
      }
    last = add(graph, last, call("MPI_Waitall", 40), iterations);
    last = add(graph, last, call("MPI_Allreduce", 50), iterations);
    graph.edges.push_back(edge(last, first, iterations - 1));
    add(graph, last, call("MPI_Finalize", 60), 1);
    normalize(graph);
    return summary::merged_flow(graph, rank, 2.5e9 + rank);
  }

 private:
  static FlowGraph::Node call(const char* name, unsigned line) {
    return {.kind = FlowGraph::Kind::kCall,
            .name = name,
            .site = "solver.c:" + std::to_string(line),
            .callers = {"main.c:80"}};
  }
  static FlowGraph::Edge edge(std::uint32_t from, std::uint32_t to, std::uint64_t count) {
    return {.from = from,
            .to = to,
            .count = count,
            .time = 5000 * count,
            .least = 2000,
            .greatest = 90000,
            .gap = 700 * count,
            .gap_least = 100,
            .gap_greatest = 4000};
  }
  static std::uint32_t add(FlowGraph& graph, std::uint32_t last, FlowGraph::Node node,
                           std::uint64_t count) {
    const auto at = static_cast<std::uint32_t>(graph.nodes.size());
    graph.nodes.push_back(std::move(node));
    graph.edges.push_back(edge(last, at, count));
    return at;
  }

  Partner neighbour(std::uint32_t rank, unsigned direction) const {
    std::uint32_t step = 1;
    for (unsigned i = 0; i < direction / 2; ++i) step *= sizes_[i];
    const std::uint32_t at = rank / step % sizes_[direction / 2];
    const bool up = direction % 2 == 0;
    if (at == (up ? sizes_[direction / 2] - 1 : 0)) return {Partner::Kind::kNobody, 0};
    const auto distance = static_cast<std::int32_t>(step);
    return {Partner::Kind::kRelative, up ? distance : -distance};
  }

  // As the tracer computes it, from the number that MPI_Cart_shift gives.
  Partner neighbour_in_ring(std::uint32_t rank, unsigned direction) const {
    const unsigned moved = direction / 2;
    std::array<int, kMostDimensions> sizes{}, own{}, rings{};
    std::uint32_t step = 1;
    std::uint32_t partner = rank;
    for (unsigned i = 0; i < dimensions_; ++i) {
      const std::uint32_t at = rank / step % sizes_[i];
      const unsigned to = dimensions_ - 1 - i;  // MPI's first dimension is the outermost
      sizes[to] = static_cast<int>(sizes_[i]);
      own[to] = static_cast<int>(at);
      rings[to] = 1;
      const std::uint32_t next =
          (at + (direction % 2 == 0 ? 1 : sizes_[i] - 1)) % sizes_[i];
      if (i == moved) partner = rank - at * step + next * step;
      step *= sizes_[i];
    }
    const auto used = [&](const std::array<int, kMostDimensions>& of) {
      return std::span<const int>(of).first(dimensions_);
    };
    const mpi::PeriodicGrid grid(used(sizes), used(rings), used(own));
    return {Partner::Kind::kRelative, grid.distance(static_cast<int>(partner))};
  }

  unsigned dimensions_;
  bool different_;
  bool rings_;
  std::array<std::uint32_t, kMostDimensions> sizes_{};
};

}  // namespace

FlowReport simulate_flow(std::uint32_t ranks, unsigned dimensions, bool different,
                         bool rings) {
  const Grid grid(ranks, dimensions, different, rings);
  Letters letters(ranks);
  FlowReport report{.ranks = ranks};
  std::optional<MergedFlow> all;
  for (std::uint32_t rank = ranks; rank-- > 0;) {
    std::optional<MergedFlow> own = grid.graph(rank);
    Letters::Rank end(letters, rank);
    const std::size_t before = live_bytes();
    forget_peak();
    const double began = cpu_now();
    gather_up(end, own);
    if (rank != 0) continue;
    report.longest_s = cpu_now() - began;
    // Messages were allocated before by those that sent them.
    report.root_bytes = peak_bytes() - before + letters.received();
    all = std::move(own);
  }
  report.largest_bytes = letters.largest();
  if (!all) return report;
  report.nodes = all->nodes.size();
  report.clusters = all->clusters.size();
  for (const MergedFlow::Cluster& cluster : all->clusters)
    report.ranks_found += cluster.ranks.size();
  report.file_bytes = summary::to_text(*all).size();
  return report;
}

}  // namespace refrain::simulation
