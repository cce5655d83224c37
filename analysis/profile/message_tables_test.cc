#include <otf2/otf2.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/profile/message_calls.h"

namespace refrain::analysis::message_tables_test {
namespace {

using summary::FlowGraph;
using summary::RunSummary;
using Partner = FlowGraph::Partner;
using Kind = FlowGraph::Kind;
using Row = MessageTables::Row;

Partner relative(std::int32_t rank) { return {Partner::Kind::kRelative, rank}; }

// One call after another: the graph that a tracer would have kept, and what each call was.
class SyntheticGraph {
 public:
  struct Call {
    std::string name;
    Partner to{}, from{};
    std::uint64_t sent = 0, received = 0, duration = 0;
    std::string site{};
  };

  SyntheticGraph() {
    graph.components = {"site", "partner", "size"};
    graph.nodes.emplace_back();
  }
  void call(const Call& made) {
    calls.push_back(made);
    const std::uint64_t size = std::max(made.sent, made.received);
    const FlowGraph::Node node{.kind = Kind::kCall,
                               .name = made.name,
                               .site = made.site,
                               .to = made.to,
                               .from = made.from,
                               .size_least = size,
                               .size_greatest = size};
    const auto found = std::ranges::find(graph.nodes, node);
    const auto to = static_cast<std::uint32_t>(found - graph.nodes.begin());
    if (found == graph.nodes.end()) graph.nodes.push_back(node);
    graph.edges.push_back({.from = latest_,
                           .to = to,
                           .count = 1,
                           .time = made.duration,
                           .least = made.duration,
                           .greatest = made.duration,
                           .gap = 1000,
                           .bytes_sent = made.sent,
                           .bytes_received = made.received});
    latest_ = to;
  }
  FlowGraph get() const {
    FlowGraph out = graph;
    normalize(out);
    return out;
  }

  FlowGraph graph;
  std::vector<Call> calls;

 private:
  std::uint32_t latest_ = 0;
};

RunSummary summary_of(std::uint32_t rank, const std::vector<FlowGraph>& graphs,
                      double ticks_per_second = 1e9) {
  RunSummary out;
  out.process = rank;
  out.rank = rank;
  out.ticks_per_second = ticks_per_second;
  for (const FlowGraph& graph : graphs) out.locations.emplace_back().flow = graph;
  return out;
}

MessageTables profile_of(const std::vector<RunSummary>& summaries) {
  std::vector<ProcessMessages> processes;
  for (const RunSummary& summary : summaries) processes.push_back(messages_of(summary));
  return message_tables(processes);
}

const Row& row_of(const std::vector<Row>& rows, const std::string& procedure,
                  std::size_t nth = 0) {
  for (const Row& row : rows)
    if (row.procedure == procedure && nth-- == 0) return row;
  FAIL("no row of " << procedure);
  return rows.front();
}

// Row by row, from the calls themselves.
using Key = std::tuple<std::string, Partner, Partner, std::uint64_t>;
struct Naive {
  std::uint64_t calls = 0, sent = 0, received = 0, least = ~std::uint64_t{0}, greatest = 0;
  double time_ns = 0, shortest_ns = 1e300, longest_ns = 0;
  std::map<std::uint32_t, double> by_rank;

  bool operator==(const Naive&) const = default;
};

Naive naive_of(const Row& row, const MessageTables& profile) {
  Naive out{.calls = row.calls,
            .sent = row.bytes_sent,
            .received = row.bytes_received,
            .least = row.size_least,
            .greatest = row.size_greatest,
            .time_ns = row.time_ns,
            .shortest_ns = row.minimum_ns,
            .longest_ns = row.maximum_ns,
            .by_rank = {}};
  for (const MessageTables::Part& part : row.parts) {
    const MessageTables::Process& process = profile.processes[part.process];
    out.by_rank[process.rank] +=
        static_cast<double>(part.sums.time) * 1e9 / process.ticks_per_second;
  }
  return out;
}

// The largest power of two that is not larger.
std::uint64_t class_of(std::uint64_t size) {
  std::uint64_t power = size == 0 ? 0 : 1;
  while (power != 0 && size / 2 >= power) power *= 2;
  return power;
}

enum class By { kSize, kPartner, kSignature };

std::map<Key, Naive> naive_table(const std::vector<std::vector<SyntheticGraph>>& ranks,
                                 const std::vector<double>& frequencies, By by) {
  std::map<Key, Naive> out;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
    for (const SyntheticGraph& graph : ranks[rank])
      for (const SyntheticGraph::Call& call : graph.calls) {
        const std::uint64_t size = std::max(call.sent, call.received);
        Naive& sums = out[{call.name, by == By::kSize ? Partner{} : call.to,
                           by == By::kSize ? Partner{} : call.from,
                           by == By::kPartner ? 0 : class_of(size)}];
        const double ns = static_cast<double>(call.duration) * 1e9 / frequencies[rank];
        ++sums.calls;
        sums.sent += call.sent;
        sums.received += call.received;
        sums.least = std::min(sums.least, size);
        sums.greatest = std::max(sums.greatest, size);
        sums.time_ns += ns;
        sums.shortest_ns = std::min(sums.shortest_ns, ns);
        sums.longest_ns = std::max(sums.longest_ns, ns);
        sums.by_rank[rank] += ns;
      }
  return out;
}

void check_table(const std::vector<Row>& rows, const MessageTables& profile,
                 const std::map<Key, Naive>& expected, By by) {
  REQUIRE(rows.size() == expected.size());
  for (std::size_t i = 1; i < rows.size(); ++i)
    CHECK(rows[i - 1].time_ns >= rows[i].time_ns);
  for (const Row& row : rows) {
    const auto found = expected.find({row.procedure, row.to, row.from,
                                      by == By::kPartner ? 0 : class_of(row.size_least)});
    REQUIRE(found != expected.end());
    CHECK(naive_of(row, profile) == found->second);
    double least = 1e300, most = 0;
    for (const auto& [rank, ns] : found->second.by_rank) {
      least = std::min(least, ns);
      most = std::max(most, ns);
    }
    CHECK(row.process_minimum_ns == least);
    CHECK(row.process_maximum_ns == most);
    CHECK(found->second.by_rank.at(profile.processes[row.slowest].rank) == most);
  }
}

}  // namespace

TEST_CASE("Message tables: made-up graphs of several ranks - as counted call by call") {
  const unsigned seed = GENERATE(range(1u, 40u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  const char* names[] = {"MPI_Send", "MPI_Recv", "MPI_Sendrecv", "MPI_Allreduce"};
  std::vector<std::vector<SyntheticGraph>> ranks(1 + pick(4));
  // A tick is one or two ns, so that sums are exact, whatever their order.
  std::vector<double> frequencies;
  std::vector<RunSummary> summaries;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    frequencies.push_back(pick(2) == 0 ? 1e9 : 5e8);
    std::vector<FlowGraph> graphs;
    for (std::uint32_t thread = 0, threads = 1 + pick(2); thread < threads; ++thread) {
      SyntheticGraph& graph = ranks[rank].emplace_back();
      for (std::uint32_t i = 0, calls = pick(60); i < calls; ++i) {
        SyntheticGraph::Call call{.name = names[pick(4)],
                                  .sent = pick(3) == 0 ? 0 : std::uint64_t{1} << pick(20),
                                  .received = pick(3) == 0 ? 0 : pick(5000),
                                  .duration = pick(1000),
                                  .site = "p.c:" + std::to_string(pick(3))};
        if (call.name != "MPI_Allreduce" && call.name != "MPI_Recv")
          call.to = relative(static_cast<std::int32_t>(pick(4)) - 1);
        if (call.name == "MPI_Sendrecv" || call.name == "MPI_Recv")
          call.from = pick(4) == 0 ? Partner{Partner::Kind::kAny, 0} : relative(-1);
        graph.call(call);
      }
      graphs.push_back(graph.get());
    }
    summaries.push_back(summary_of(rank, graphs, frequencies.back()));
  }
  const MessageTables profile = profile_of(summaries);
  CHECK(profile.complete());
  check_table(profile.by_size, profile, naive_table(ranks, frequencies, By::kSize),
              By::kSize);
  check_table(profile.by_partner, profile, naive_table(ranks, frequencies, By::kPartner),
              By::kPartner);
  check_table(profile.by_signature, profile,
              naive_table(ranks, frequencies, By::kSignature), By::kSignature);
}

TEST_CASE("Message tables: sizes - classes from a power of two to the next") {
  SyntheticGraph graph;
  for (const std::uint64_t size : {0, 1, 2, 3, 4, 1023, 1024, 2047, 2048})
    graph.call({.name = "MPI_Send", .to = relative(1), .sent = size, .duration = 1});
  FlowGraph made = graph.get();
  // What the tracer counts together.
  for (FlowGraph::Node& node : made.nodes)
    if (node.size_least == 1024) node.size_greatest = 2047;
  const MessageTables profile = profile_of({summary_of(0, {made})});
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> rows;
  for (const Row& row : profile.by_size)
    rows.emplace_back(row.size_least, row.size_greatest, row.calls);
  std::ranges::sort(rows);
  CHECK(rows == decltype(rows){{0, 0, 1},
                               {1, 1, 1},
                               {2, 3, 2},
                               {4, 4, 1},
                               {1023, 1023, 1},
                               {1024, 2047, 2},
                               {2048, 2048, 1}});
  CHECK(profile.by_partner.size() == 1);
  CHECK(profile.by_partner[0].calls == 9);
  CHECK(profile.by_partner[0].bytes_sent == 0 + 1 + 2 + 3 + 4 + 1023 + 1024 + 2047 + 2048);
}

TEST_CASE("Message tables: mean and bandwidth, also of nothing") {
  SyntheticGraph graph;
  graph.call({.name = "MPI_Sendrecv", .sent = 600, .received = 400, .duration = 10});
  graph.call({.name = "MPI_Sendrecv", .sent = 600, .received = 400, .duration = 30});
  graph.call({.name = "MPI_Barrier"});
  const MessageTables profile = profile_of({summary_of(0, {graph.get()})});
  const Row& both = row_of(profile.by_size, "MPI_Sendrecv");
  CHECK(both.mean_ns() == 20);
  CHECK(both.bytes_per_second() == Approx(2000 / 40e-9));
  CHECK(both.size_least == 600);
  const Row& barrier = row_of(profile.by_size, "MPI_Barrier");
  CHECK(barrier.bytes_per_second() == 0);
  CHECK(Row{}.mean_ns() == 0);
}

TEST_CASE("Message tables: regions are no calls, what found no place is counted apart") {
  SyntheticGraph graph;
  graph.call({.name = "MPI_Send", .to = relative(1), .sent = 8, .duration = 5});
  FlowGraph made = graph.get();
  made.nodes.push_back({.kind = Kind::kRegion, .name = "parallel"});
  made.nodes.push_back({.kind = Kind::kOther});
  made.edges.push_back({.from = 1, .to = 2, .count = 3, .time = 50});
  made.edges.push_back({.from = 2, .to = 3, .count = 4, .time = 70, .bytes_sent = 9});
  made.edges.push_back({.from = 3, .to = 3, .count = 2, .time = 7, .bytes_received = 1});
  const MessageTables profile =
      profile_of({summary_of(0, {made}), summary_of(1, {made}, 5e8)});
  REQUIRE(profile.by_signature.size() == 1);
  CHECK(profile.by_signature[0].procedure == "MPI_Send");
  CHECK(profile.by_signature[0].calls == 2);
  CHECK(profile.by_signature[0].process_minimum_ns == 5);
  CHECK(profile.by_signature[0].process_maximum_ns == 10);
  CHECK(profile.by_signature[0].slowest == 1);
  CHECK(profile.calls_elsewhere == 12);
  CHECK(profile.elsewhere_ns == 77 + 154);
  CHECK(profile.elsewhere_bytes == 20);
}

TEST_CASE("Message tables: what the graph does not distinguish is not known") {
  SyntheticGraph graph;
  graph.call({.name = "MPI_Send", .sent = 8, .duration = 5});
  FlowGraph made = graph.get();
  made.components = {"partner"};
  MessageTables profile = profile_of({summary_of(0, {graph.get()}), summary_of(1, {made})});
  CHECK_FALSE(profile.sizes);
  CHECK(profile.partners);
  CHECK(profile.by_size.empty());
  CHECK(profile.by_partner.size() == 1);
  made.components = {"size"};
  profile = profile_of({summary_of(0, {made})});
  CHECK(profile.sizes);
  CHECK_FALSE(profile.partners);
  CHECK_FALSE(profile.complete());
  CHECK(profile.by_size.size() == 1);
  CHECK(profile.by_partner.empty());
}

TEST_CASE("Message tables: no graph - not known where MPI was called, else nothing") {
  RunSummary summary = summary_of(0, {FlowGraph{}});
  CHECK(profile_of({summary}).complete());
  CHECK(profile_of({summary}).by_signature.empty());
  summary.regions.edit().resize(1);
  summary.regions.edit()[0].paradigm = OTF2_PARADIGM_MPI;
  summary.nodes.edit().resize(1);
  summary.nodes.edit()[0].region = 0;
  summary.locations[0].sums.resize(1);
  CHECK(profile_of({summary}).complete());
  summary.locations[0].sums[0].visits = 1;
  const MessageTables profile = profile_of({summary});
  CHECK_FALSE(profile.sizes);
  CHECK_FALSE(profile.partners);
  CHECK(profile_of({}).complete());
}

}  // namespace refrain::analysis::message_tables_test
