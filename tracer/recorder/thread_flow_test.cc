#include "tracer/recorder/thread_flow.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "spool/summary_areas.h"
#include "tracer/recorder/excluded_regions.h"
#include "tracer/recorder/synthetic_rows.h"

namespace refrain::recorder::thread_flow_test {
namespace {

using spool::FlowKind;
using spool::FlowNode;
using spool::FlowPartner;

constexpr std::uint32_t kAll =
    spool::kFlowSite | spool::kFlowCallers | spool::kFlowPartner | spool::kFlowSize;

struct Area {
  explicit Area(std::uint64_t bytes, std::uint32_t components = kAll,
                std::uint64_t memory = 16 << 20)
      : area(bytes, memory) {
    REQUIRE(graph.open(area.begin(), area.size(), components, area.memory()));
  }
  spool::FlowGraph read() const { return spool::read_flow_graph(area.bytes()); }

  SummaryArea area;
  FlowGraph graph;
};

struct Call {
  std::uint64_t payload = 0;
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

// What the graph must have, kept the plain way. A node is a call's payload, partners and the least
// size that it stands for.
class Reference {
 public:
  using Node = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
  struct Sums {
    std::uint64_t count = 0, time = 0, least = ~std::uint64_t{0}, greatest = 0;
    std::uint64_t gap = 0, gap_least = ~std::uint64_t{0}, gap_greatest = 0;
    std::uint64_t sent = 0, received = 0;
    bool operator==(const Sums&) const = default;
  };
  using Edges = std::map<std::pair<Node, Node>, Sums>;

  void take(const Call& call, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t size = std::max(call.sent, call.received);
    auto& exact = exact_[{call.payload, call.to, call.from}];
    if (exact.size() < 8)
      exact.insert(size);
    else if (!exact.contains(size))
      while ((size & (size - 1)) != 0) size &= size - 1;
    const Node node{call.payload, call.to, call.from, size};
    Sums& sums = edges[{last_, node}];
    const std::uint64_t gap = end_ == 0 ? 0 : begin - end_;
    ++sums.count;
    sums.time += end - begin;
    sums.least = std::min(sums.least, end - begin);
    sums.greatest = std::max(sums.greatest, end - begin);
    sums.gap += gap;
    sums.gap_least = std::min(sums.gap_least, gap);
    sums.gap_greatest = std::max(sums.gap_greatest, gap);
    sums.sent += call.sent;
    sums.received += call.received;
    last_ = node;
    end_ = end;
  }
  Edges edges;

 private:
  Node last_{};
  std::uint64_t end_ = 0;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::set<std::uint64_t>>
      exact_;
};

Reference::Edges edges_of(const spool::FlowGraph& graph) {
  Reference::Edges edges;
  const auto node = [&](std::uint32_t index) {
    const FlowNode& from = graph.nodes[index];
    return Reference::Node{from.payload, from.to, from.from, from.size_least};
  };
  for (const spool::FlowEdge& edge : graph.edges) {
    const auto [at, is_new] =
        edges.try_emplace({node(edge.from), node(edge.to)},
                          Reference::Sums{edge.count, edge.time, edge.least, edge.greatest,
                                          edge.gap, edge.gap_least, edge.gap_greatest,
                                          edge.bytes_sent, edge.bytes_received});
    CHECK(is_new);
  }
  return edges;
}

void make(FlowGraph& graph, const Call& call, std::uint64_t begin, std::uint64_t end,
          std::uint32_t path = spool::kNoPath) {
  graph.begin(call.payload, path, begin);
  if (call.to != 0) graph.to(call.to);
  if (call.from != 0) graph.from(call.from);
  if (call.sent != 0) graph.moved(call.sent, 0);
  if (call.received != 0) graph.moved(0, call.received);
  graph.end(end);
}

constexpr bool team() { return false; }
constexpr bool league() { return true; }

constexpr std::uint64_t procedure(std::uint64_t number, std::uint64_t site = 0x4000) {
  return number << 48 | site;
}

constexpr std::uint64_t relative(int rank) {
  return FlowPartner::pack(FlowPartner::kRelative, rank);
}

}  // namespace

TEST_CASE("FlowGraph: random calls - as a map of pairs has them") {
  std::mt19937_64 random(GENERATE(1, 2, 3));
  const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
  Area area(8 << 20);
  Reference reference;
  std::uint64_t now = 100;
  for (int i = 0; i < 20000; ++i) {
    Call call{.payload = procedure(1 + up_to(3))};
    if (up_to(1) != 0) call.to = relative(up_to(1) != 0 ? 1 : -1);
    if (up_to(2) == 0) call.from = FlowPartner::pack(FlowPartner::kAny);
    if (up_to(1) != 0) call.sent = up_to(3) == 0 ? 1 + random() % 100000 : 8;
    if (call.from != 0) call.received = 4 * up_to(2);
    const std::uint64_t begin = now + up_to(50);
    now = begin + up_to(1000);
    reference.take(call, begin, now);
    make(area.graph, call, begin, now);
  }
  const spool::FlowGraph read = area.read();
  CHECK_FALSE(read.damaged);
  CHECK(read.nodes_elsewhere == 0);
  CHECK(read.edges_elsewhere == 0);
  CHECK(read.edges.size() > 100);
  const bool equal = edges_of(read) == reference.edges;  // too much to print
  CHECK(equal);
  CHECK(area.area.made_once());
}

TEST_CASE("FlowGraph: sizes - eight exact ones of a signature, then powers of two") {
  Area area(64 << 10);
  for (std::uint64_t size = 100; size < 110; ++size)
    make(area.graph, {.payload = procedure(1), .sent = size}, 1, 2);
  make(area.graph, {.payload = procedure(1), .sent = 103}, 1, 2);
  make(area.graph, {.payload = procedure(1), .sent = 127}, 1, 2);
  make(area.graph, {.payload = procedure(1)}, 1, 2);
  make(area.graph, {.payload = procedure(1), .sent = ~std::uint64_t{0}}, 1, 2);
  make(area.graph, {.payload = procedure(2), .sent = 108}, 1, 2);
  const spool::FlowGraph read = area.read();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (std::size_t i = 2; i < read.nodes.size(); ++i)
    ranges.emplace_back(read.nodes[i].size_least, read.nodes[i].size_greatest);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
  for (std::uint64_t size = 100; size < 108; ++size) expected.emplace_back(size, size);
  expected.emplace_back(64, 127);
  expected.emplace_back(0, 0);
  expected.emplace_back(std::uint64_t{1} << 63, ~std::uint64_t{0});
  expected.emplace_back(108, 108);
  CHECK(ranges == expected);
}

TEST_CASE("FlowGraph: sizes - an exact one is not taken for the range that is predicted") {
  Area area(64 << 10);
  for (std::uint64_t size = 100; size < 108; ++size)
    make(area.graph, {.payload = procedure(1), .sent = size}, 1, 2);
  for (int i = 0; i < 3; ++i)  // the range follows itself
    make(area.graph, {.payload = procedure(1), .sent = 120}, 1, 2);
  make(area.graph, {.payload = procedure(1), .sent = 103}, 1, 2);
  const spool::FlowGraph read = area.read();
  std::uint64_t exact = 0;
  for (const spool::FlowEdge& edge : read.edges)
    if (read.nodes[edge.to].size_least == 103) exact += edge.count;
  CHECK(exact == 2);
}

TEST_CASE("FlowGraph: components - what is not chosen makes no nodes") {
  const auto nodes = [](std::uint32_t components) {
    Area area(64 << 10, components);
    const std::uint32_t path = area.graph.add_path(7, nullptr, 0);
    for (int i = 0; i < 16; ++i)
      make(area.graph,
           {.payload = procedure(1, (i & 1) != 0 ? 0x10 : 0x20),
            .to = relative((i & 2) != 0 ? 1 : 2),
            .sent = (i & 4) != 0 ? 1U : 2U},
           1, 2, area.graph.wants_callers() && (i & 8) != 0 ? path : spool::kNoPath);
    return area.read().nodes.size() - 2;
  };
  CHECK(nodes(0) == 1);
  CHECK(nodes(spool::kFlowSite) == 2);
  CHECK(nodes(spool::kFlowSite | spool::kFlowSize) == 4);
  CHECK(nodes(spool::kFlowPartner | spool::kFlowSize) == 4);
  CHECK(nodes(kAll) == 16);
}

TEST_CASE("FlowGraph: partners - several of one call are one value") {
  Area area(64 << 10);
  area.graph.begin(procedure(1), spool::kNoPath, 1);
  area.graph.to(relative(1));
  area.graph.to(relative(1));
  area.graph.from(relative(1));
  area.graph.from(relative(2));
  area.graph.end(2);
  const spool::FlowGraph read = area.read();
  REQUIRE(read.nodes.size() == 3);
  CHECK(read.nodes[2].to == relative(1));
  CHECK(read.nodes[2].from == FlowPartner::pack(FlowPartner::kSeveral));
}

TEST_CASE("FlowGraph: regions - around the calls that are made in them") {
  Area area(64 << 10);
  FlowGraph& graph = area.graph;
  make(graph, {.payload = procedure(1)}, 10, 20);
  graph.begin_region(0x77, 25, team);
  make(graph, {.payload = procedure(2)}, 40, 60);
  graph.end_region(100);
  make(graph, {.payload = procedure(1)}, 130, 131);
  const spool::FlowGraph read = area.read();
  REQUIRE(read.edges.size() == 4);
  const auto is = [&](std::size_t i, std::uint64_t payload, std::uint64_t gap,
                      std::uint64_t time) {
    CHECK(read.nodes[read.edges[i].to].payload == payload);
    CHECK(read.edges[i].gap == gap);
    CHECK(read.edges[i].time == time);
  };
  is(0, procedure(1), 0, 10);
  is(1, 0x77, 5, 75);
  is(2, procedure(2), 15, 20);
  is(3, procedure(1), 30, 1);
  CHECK(read.nodes[read.edges[1].to].kind == FlowKind::kRegion);
}

TEST_CASE("FlowGraph: left out by the filter - what is around it follows each other") {
  set_excluded([](spool::CallKey key, std::uint64_t) noexcept {
    return key == spool::CallKey::make(spool::kMpiEnter, 0, procedure(2)) ||
           key == spool::CallKey::make(spool::kParallelBegin, 0, 0x77) ||
           key == spool::CallKey::make(spool::kParallelBegin, spool::kTeamLeague, 0x88);
  });
  Area area(64 << 10);
  FlowGraph& graph = area.graph;
  for (std::uint64_t i = 0; i < 2; ++i) {
    const std::uint64_t at = 1000 * i;
    make(graph, {.payload = procedure(2), .sent = 8}, at + 5, at + 9);
    make(graph, {.payload = procedure(1)}, at + 10, at + 20);
    graph.begin_region(0x77, at + 25, team);
    make(graph, {.payload = procedure(3)}, at + 40, at + 60);
    graph.end_region(at + 100);
    graph.begin_region(0x88, at + 110, league);
    make(graph, {.payload = procedure(2), .sent = 8}, at + 120, at + 130);
    graph.end_region(at + 140);
    graph.begin_region(0x99, at + 150, team);
    graph.end_region(at + 160);
  }
  set_excluded(nullptr);
  const spool::FlowGraph read = area.read();
  REQUIRE(read.edges.size() == 4);
  const auto is = [&](std::size_t i, std::uint64_t payload, std::uint64_t count,
                      std::uint64_t gap, std::uint64_t time) {
    CHECK(read.nodes[read.edges[i].to].payload == payload);
    CHECK(read.edges[i].count == count);
    CHECK(read.edges[i].gap == gap);
    CHECK(read.edges[i].time == time);
    CHECK(read.edges[i].bytes_sent == 0);
  };
  is(0, procedure(1), 1, 0, 10);
  is(1, procedure(3), 2, 2 * 20, 2 * 20);
  is(2, 0x99, 2, 2 * 90, 2 * 10);
  is(3, procedure(1), 1, 850, 10);
  CHECK(read.nodes_elsewhere == 0);
}

TEST_CASE("FlowGraph: region in a call that calls back - the call is as it was") {
  Area area(64 << 10);
  area.graph.begin(procedure(1), spool::kNoPath, 10);
  area.graph.moved(8, 0);
  area.graph.begin_region(0x77, 20, team);
  area.graph.end_region(30);
  area.graph.end(40);
  const spool::FlowGraph read = area.read();
  REQUIRE(read.edges.size() == 2);
  CHECK(read.edges[1].bytes_sent == 8);
  CHECK(read.edges[1].time == 30);
  CHECK(read.edges[1].gap == 0);
}

TEST_CASE("FlowGraph: no place - events go to the other node, sums stay exact") {
  const auto [bytes, memory] =
      GENERATE(table<std::uint64_t, std::uint64_t>({{10 << 10, 1 << 20},
                                                    {12 << 10, 1 << 20},
                                                    {20 << 10, 1 << 20},
                                                    {1 << 20, 24 << 10},
                                                    {1 << 20, 40 << 10}}));
  Area area(bytes, kAll, memory);
  std::mt19937_64 random(5);
  std::uint64_t now = 1, time = 0, gap = 0, sent = 0, count = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t begin = now + random() % 10;
    if (i != 0) gap += begin - now;
    now = begin + random() % 10;
    const Call call{.payload = procedure(1 + random() % 40), .sent = random() % 3};
    make(area.graph, call, begin, now);
    time += now - begin;
    sent += call.sent;
    ++count;
  }
  const spool::FlowGraph read = area.read();
  CHECK_FALSE(read.damaged);
  CHECK(read.nodes_elsewhere + read.edges_elsewhere > 0);
  std::uint64_t other = 0;
  for (const spool::FlowEdge& edge : read.edges) {
    count -= edge.count;
    time -= edge.time;
    gap -= edge.gap;
    sent -= edge.bytes_sent;
    other += edge.to == spool::kOtherEvents ? edge.count : 0;
  }
  CHECK(count == 0);
  CHECK(time == 0);
  CHECK(gap == 0);
  CHECK(sent == 0);
  CHECK(other > 0);
  CHECK(area.area.made_once());
}

TEST_CASE("FlowGraph: paths of callers - found by their hash, until there is no place") {
  Area area(64 << 10);
  const std::uint64_t frames[] = {1, 2, 3};
  std::uint32_t added = 0;
  for (std::uint64_t hash = 1;; ++hash) {
    CHECK(area.graph.find_path(hash) == spool::kNoPath);
    const std::uint32_t path = area.graph.add_path(hash, frames, 3);
    if (path == spool::kNoPath) break;
    CHECK(path == ++added);
    CHECK(area.graph.find_path(hash) == path);
  }
  CHECK(added > 10);
  const spool::FlowGraph read = area.read();
  REQUIRE(read.paths.size() == added + 1);
  CHECK(read.paths[0].empty());
  CHECK(read.paths[added] == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE("FlowGraph: not open - nothing is kept, and nothing breaks") {
  FlowGraph graph;
  make(graph, {.payload = procedure(1), .sent = 8}, 1, 2);
  graph.begin_region(1, 2, team);
  graph.end_region(3);
  CHECK(graph.find_path(1) == spool::kNoPath);
  CHECK(graph.add_path(1, nullptr, 0) == spool::kNoPath);
  CHECK_FALSE(graph.is_open());
  CHECK(spool::read_flow_graph({}).nodes.empty());
}

TEST_CASE("FlowGraph reader: damaged areas - what does not fit is left out") {
  Area area(64 << 10);
  for (std::uint64_t i = 0; i < 200; ++i)
    make(area.graph, {.payload = procedure(1 + i % 5)}, i, i + 1);
  std::mt19937_64 random(7);
  const std::span<std::byte> bytes = area.area.writable();
  const std::vector<std::byte> good(bytes.begin(), bytes.end());
  int damaged = 0;
  for (int round = 0; round < 2000; ++round) {
    std::copy(good.begin(), good.end(), bytes.begin());
    const std::size_t most = round % 2 == 0 ? 1024 : bytes.size();
    for (int i = 0; i < 4; ++i) bytes[random() % most] = static_cast<std::byte>(random());
    const spool::FlowGraph read = area.read();
    damaged += read.damaged ? 1 : 0;
    for (const spool::FlowEdge& edge : read.edges)
      REQUIRE((edge.to < read.nodes.size() && edge.from < read.nodes.size()));
    for (const FlowNode& node : read.nodes)
      REQUIRE((node.kind != FlowKind::kCall || node.path < read.paths.size()));
  }
  CHECK(damaged > 100);
}

}  // namespace refrain::recorder::thread_flow_test
