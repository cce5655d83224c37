// Programs of which all is known, as archives of another tool: the replay against a recount by the definition.
#include "analysis/ideal/ideal_network.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reader/small_archive.h"
#include "test/support/files.h"

namespace refrain::analysis::ideal_network_test {
namespace {

using Ns = std::uint64_t;
constexpr Ns kUs = 1000;

struct Op {
  enum Kind {
    kWork,
    kSend,
    kRecv,
    kIrecv,     // posts `id`
    kWaitRecv,  // of `id`
    kBarrier,
    kAllreduce,
    kBcast,
    kReduce,
    kScan,
    kIallreduce,
    kWaitAll,  // of the Iallreduce `id`
  } kind;
  Ns time = 0;             // of work; else what the network takes in the measured run
  std::uint32_t peer = 0;  // or root
  int id = 0;              // ends of a message, or parts of an operation, have the same
};

// POP's definition, by recursion from the end: nothing takes time but work; with `network` also what it took.
class Recount {
 public:
  // `without`: nobody waits in operations of this kind.
  Recount(const std::vector<std::vector<Op>>& ranks, bool network,
          std::optional<Op::Kind> without = {})
      : ranks_(ranks), network_(network), without_(without), known_(ranks.size()) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      known_[rank].assign(ranks[rank].size(), ~Ns{0});
      for (std::size_t i = 0; i < ranks[rank].size(); ++i) {
        const Op& op = ranks[rank][i];
        if (op.kind == Op::kSend) sends_[op.id] = {rank, i};
        if (op.kind == Op::kIallreduce || is_operation(op.kind))
          parts_[op.id].emplace_back(rank, i);
      }
    }
    // From the front, so that recursions are short.
    for (std::size_t i = 0;; ++i) {
      bool more = false;
      for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        if (i < ranks[rank].size()) more = end(rank, i) != ~Ns{0};
      if (!more) break;
    }
  }
  Ns begin(std::size_t rank, std::size_t i) { return i == 0 ? 0 : end(rank, i - 1); }
  Ns end(std::size_t rank, std::size_t i) {
    Ns& known = known_[rank][i];
    if (known != ~Ns{0}) return known;
    const Op& op = ranks_[rank][i];
    const Ns from = begin(rank, i);
    Ns until = from;
    const auto wait = [&](std::pair<std::size_t, std::size_t> at) {
      if (op.kind != without_) until = std::max(until, begin(at.first, at.second));
    };
    if (op.kind == Op::kRecv || op.kind == Op::kWaitRecv) wait(sends_.at(op.id));
    for (const auto& part : parts_[op.id]) {
      const bool is_root = part.first == op.peer;
      if (op.kind == Op::kBarrier || op.kind == Op::kAllreduce || op.kind == Op::kWaitAll ||
          (op.kind == Op::kBcast && is_root) ||
          (op.kind == Op::kReduce && rank == op.peer) ||
          (op.kind == Op::kScan && part.first < rank))
        wait(part);
    }
    if (op.kind == Op::kWork || network_) until += op.time;
    return known_[rank][i] = until;
  }
  Ns all() {
    Ns most = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      most = std::max(most, end(rank, ranks_[rank].size() - 1));
    return most;
  }
  static bool is_operation(Op::Kind kind) {
    return kind >= Op::kBarrier && kind <= Op::kScan;
  }

 private:
  const std::vector<std::vector<Op>>& ranks_;
  bool network_;
  std::optional<Op::Kind> without_;
  std::vector<std::vector<Ns>> known_;
  std::map<int, std::pair<std::size_t, std::size_t>> sends_;
  std::map<int, std::vector<std::pair<std::size_t, std::size_t>>> parts_;
};

// As another tool would have written it. Messages carry their channel only, not their numbers.
void write(const std::string& path, const std::vector<std::vector<Op>>& ranks) {
  reader::SmallArchive archive(path);
  Recount measured(ranks, true);
  const auto main = archive.region("main");
  std::map<Op::Kind, std::uint32_t> regions;
  for (const auto& [kind, name] :
       std::vector<std::pair<Op::Kind, const char*>>{{Op::kSend, "MPI_Send"},
                                                     {Op::kRecv, "MPI_Recv"},
                                                     {Op::kIrecv, "MPI_Irecv"},
                                                     {Op::kWaitRecv, "MPI_Wait"},
                                                     {Op::kBarrier, "MPI_Barrier"},
                                                     {Op::kAllreduce, "MPI_Allreduce"},
                                                     {Op::kBcast, "MPI_Bcast"},
                                                     {Op::kReduce, "MPI_Reduce"},
                                                     {Op::kScan, "MPI_Scan"},
                                                     {Op::kIallreduce, "MPI_Iallreduce"},
                                                     {Op::kWaitAll, "MPI_Wait"}})
    regions[kind] = archive.mpi(name);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    archive.process();
    archive.enter(0, main);
    OTF2_EvtWriter* const writer = archive.writer();
    for (std::size_t i = 0; i < ranks[rank].size(); ++i) {
      const Op& op = ranks[rank][i];
      if (op.kind == Op::kWork) continue;
      const Ns begin = measured.begin(rank, i), end = measured.end(rank, i);
      const auto request = static_cast<std::uint64_t>(op.id);
      const auto collective = [&](OTF2_CollectiveOp operation) {
        OTF2_EvtWriter_MpiCollectiveBegin(writer, nullptr, begin);
        OTF2_EvtWriter_MpiCollectiveEnd(writer, nullptr, end, operation, 0, op.peer, 8, 8);
      };
      archive.enter(begin, regions.at(op.kind));
      switch (op.kind) {
        case Op::kSend:
          OTF2_EvtWriter_MpiSend(writer, nullptr, begin, op.peer, 0, 1, 8);
          break;
        case Op::kRecv:
          OTF2_EvtWriter_MpiRecv(writer, nullptr, end, op.peer, 0, 1, 8);
          break;
        case Op::kIrecv:
          OTF2_EvtWriter_MpiIrecvRequest(writer, nullptr, begin, request);
          break;
        case Op::kWaitRecv:
          OTF2_EvtWriter_MpiIrecv(writer, nullptr, end, op.peer, 0, 1, 8, request);
          break;
        case Op::kBarrier:
          collective(OTF2_COLLECTIVE_OP_BARRIER);
          break;
        case Op::kAllreduce:
          collective(OTF2_COLLECTIVE_OP_ALLREDUCE);
          break;
        case Op::kBcast:
          collective(OTF2_COLLECTIVE_OP_BCAST);
          break;
        case Op::kReduce:
          collective(OTF2_COLLECTIVE_OP_REDUCE);
          break;
        case Op::kScan:
          collective(OTF2_COLLECTIVE_OP_SCAN);
          break;
        case Op::kIallreduce:
          OTF2_EvtWriter_NonBlockingCollectiveRequest(writer, nullptr, begin, request);
          break;
        case Op::kWaitAll:
          OTF2_EvtWriter_NonBlockingCollectiveComplete(
              writer, nullptr, end, OTF2_COLLECTIVE_OP_ALLREDUCE, 0, OTF2_UNDEFINED_UINT32,
              8, 8, request);
          break;
        case Op::kWork:
          break;
      }
      archive.leave(end, regions.at(op.kind));
    }
    archive.leave(measured.end(rank, ranks[rank].size() - 1), main);
  }
  archive.finish(0, measured.all());
}

double ideal_ns(const std::vector<std::vector<Op>>& ranks) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "a").string();
  write(path, ranks);
  const auto run = ideal_run(path);
  INFO(run.error());
  REQUIRE(run.ok());
  CHECK(run->unknown.empty());
  CHECK(run->given_up == 0);
  CHECK(run->estimated == 0);
  REQUIRE(run->processes.size() == ranks.size());
  double most = 0;
  for (const auto& process : run->processes)
    most = std::max(most, process.whole.time_ns - process.whole.saved_ns);
  return most;
}

// Ranks that work, and messages and operations between them, drawn at random from a seed.
std::vector<std::vector<Op>> drawn(std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::uint32_t count = 2 + random() % 4;
  std::vector<std::vector<Op>> ranks(count);
  const auto ns = [&](Ns most) { return kUs + random() % (most * kUs); };
  struct Later {
    std::uint32_t rank;
    Op op;
  };
  std::vector<Later> open;  // receives and operations that were begun
  for (int id = 1; id < 60; ++id) {
    for (auto& rank : ranks)
      if (random() % 2 == 0) rank.push_back({Op::kWork, ns(100)});
    const std::uint32_t from = random() % count,
                        to = (from + 1 + random() % (count - 1)) % count;
    switch (random() % 9) {
      case 0:
      case 1:
        ranks[from].push_back({Op::kSend, ns(20), to, id});
        ranks[to].push_back({Op::kRecv, ns(20), from, id});
        break;
      case 2:
      case 3:
        ranks[to].push_back({Op::kIrecv, ns(2), from, id});
        ranks[from].push_back({Op::kSend, ns(20), to, id});
        open.push_back({to, {Op::kWaitRecv, ns(20), from, id}});
        break;
      case 4:
        for (auto& rank : ranks) rank.push_back({Op::kIallreduce, ns(2), 0, id});
        for (std::uint32_t rank = 0; rank < count; ++rank)
          open.push_back({rank, {Op::kWaitAll, ns(20), 0, id}});
        break;
      default: {
        const auto kind = static_cast<Op::Kind>(Op::kBarrier + random() % 5);
        const bool rooted = kind == Op::kBcast || kind == Op::kReduce;
        for (auto& rank : ranks) rank.push_back({kind, ns(20), rooted ? from : 0, id});
      }
    }
    // Some complete, not in the order in which they began.
    std::shuffle(open.begin(), open.end(), random);
    while (!open.empty() && random() % 3 == 0) {
      ranks[open.back().rank].push_back(open.back().op);
      open.pop_back();
    }
  }
  for (const Later& each : open) ranks[each.rank].push_back(each.op);
  for (auto& rank : ranks) rank.push_back({Op::kWork, ns(100)});
  return ranks;
}

}  // namespace

TEST_CASE("Ideal network: random programs - as by the definition") {
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    const auto ranks = drawn(seed);
    Recount ideal(ranks, false), measured(ranks, true);
    CHECK(ideal_ns(ranks) == Approx(static_cast<double>(ideal.all())));
    CHECK(ideal.all() < measured.all());
  }
}

TEST_CASE("What if nobody waited in a call: random programs - as by the definition") {
  const std::map<Op::Kind, std::string> kinds = {
      {Op::kRecv, "MPI_Recv"},       {Op::kWaitRecv, "MPI_Wait"},
      {Op::kBarrier, "MPI_Barrier"}, {Op::kAllreduce, "MPI_Allreduce"},
      {Op::kBcast, "MPI_Bcast"},     {Op::kReduce, "MPI_Reduce"},
      {Op::kScan, "MPI_Scan"}};
  std::vector<std::string> calls;
  for (const auto& [kind, name] : kinds) calls.push_back(name);
  int gains = 0;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    const auto ranks = drawn(seed);
    const test::TemporaryFolder folder;
    const std::string path = (folder / "a").string();
    write(path, ranks);
    const auto found = without_waits(path, calls);
    REQUIRE(found.ok());
    REQUIRE(found->unknown.empty());
    REQUIRE(found->calls.size() == calls.size());
    const auto as_it_was = static_cast<double>(Recount(ranks, false).all());
    std::size_t i = 0;
    for (const auto& [kind, name] : kinds) {
      CAPTURE(name);
      const double gain =
          as_it_was - static_cast<double>(Recount(ranks, false, kind).all());
      CHECK(found->calls[i].gain_ns == Approx(gain).margin(1e-6));
      gains += gain > 0;
      ++i;
    }
  }
  CHECK(gains > 100);
}

TEST_CASE("What if nobody waited in a call: where the waits go") {
  // Rank 1 works longer in odd iterations, rank 0 in even ones; each ends with a barrier and an operation.
  const auto of = [](const std::vector<Op::Kind>& meetings, const char* call) {
    std::vector<std::vector<Op>> ranks(2);
    int id = 0;
    for (std::uint32_t i = 0; i < 20; ++i) {
      for (std::uint32_t rank = 0; rank < 2; ++rank)
        ranks[rank].push_back({Op::kWork, (i % 2 == rank ? 90u : 10u) * kUs});
      for (const Op::Kind kind : meetings) {
        ++id;
        for (auto& rank : ranks) rank.push_back({kind, kUs, 0, id});
      }
    }
    for (auto& rank : ranks) rank.push_back({Op::kWork, kUs});
    const test::TemporaryFolder folder;
    const std::string path = (folder / "a").string();
    write(path, ranks);
    const auto found = without_waits(path, {call});
    REQUIRE(found.ok());
    REQUIRE(found->calls.size() == 1);
    return found->calls[0];
  };
  const WithoutWaits alone = of({Op::kBarrier}, "MPI_Barrier");
  CHECK(alone.gain_ns == Approx(20 * 40. * kUs));
  CHECK(alone.moved_to.empty());
  const WithoutWaits before = of({Op::kBarrier, Op::kAllreduce}, "MPI_Barrier");
  CHECK(before.gain_ns == 0);
  CHECK(before.moved_to == "MPI_Allreduce");
  CHECK(before.moved == Approx(1));
  CHECK(alone.saved == Approx(1));
  CHECK(alone.gone == std::vector<double>{1});
  CHECK(before.saved == Approx(0).margin(1e-9));
  const WithoutWaits other = of({Op::kBarrier}, "MPI_Recv");
  CHECK(other.gain_ns == 0);
  CHECK(other.moved_to.empty());
}

// In each iteration rank 0 works longer before a barrier and rank 1 after it, and then both meet.
TEST_CASE("What if nobody waited in a call: what is waited in another for it is gone") {
  std::vector<std::vector<Op>> ranks(2);
  for (int i = 0; i < 20; ++i)
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      ranks[rank].push_back({Op::kWork, (rank == 0 ? 90u : 10u) * kUs});
      ranks[rank].push_back({Op::kBarrier, kUs, 0, 2 * i});
      ranks[rank].push_back({Op::kWork, (rank == 0 ? 10u : 90u) * kUs});
      ranks[rank].push_back({Op::kAllreduce, kUs, 0, 2 * i + 1});
    }
  const test::TemporaryFolder folder;
  const std::string path = (folder / "a").string();
  write(path, ranks);
  const auto found = without_waits(path, {"MPI_Barrier", "MPI_Allreduce"});
  REQUIRE(found.ok());
  REQUIRE(found->calls.size() == 2);
  for (const WithoutWaits& each : found->calls) {
    CHECK(each.moved_to.empty());
    CHECK(each.saved == Approx(2).epsilon(0.06));
    CHECK(each.gain_ns == Approx(20 * 80. * kUs).epsilon(0.06));
    CHECK(each.gone[0] == Approx(1).margin(0.06));
    CHECK(each.gone[1] == Approx(1).margin(0.06));
  }
}

TEST_CASE("Ideal network: transfer alone - nothing is left of it") {
  std::vector<std::vector<Op>> ranks(2);
  for (int i = 1; i <= 10; ++i)
    for (auto& rank : ranks) {
      rank.push_back({Op::kWork, 70 * kUs});
      rank.push_back({Op::kAllreduce, 30 * kUs, 0, i});
    }
  CHECK(ideal_ns(ranks) == Approx(700. * kUs));
}

TEST_CASE("Ideal network: one rank after the other - all of it is left") {
  std::vector<std::vector<Op>> ranks(2);
  for (int i = 1; i <= 10; ++i) {
    ranks[0].push_back({Op::kWork, 50 * kUs});
    ranks[0].push_back({Op::kSend, 0, 1, 2 * i});
    ranks[0].push_back({Op::kRecv, 0, 1, 2 * i + 1});
    ranks[1].push_back({Op::kRecv, 0, 0, 2 * i});
    ranks[1].push_back({Op::kWork, 50 * kUs});
    ranks[1].push_back({Op::kSend, 0, 0, 2 * i + 1});
  }
  CHECK(ideal_ns(ranks) == Approx(1000. * kUs));
}

// Iterations of 70 us of work and 30 of the network; every fourth has 900 and 100. The first `written` ones are in the archive.
IdealRun reduced(int written) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "a").string();
  {
    reader::SmallArchive archive(path);
    archive.of_refrain();
    const auto loop = archive.loop("loop 1 @ main p.c:7");
    const auto meet = archive.mpi("MPI_Allreduce");
    Ns end = 0;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      archive.process();
      OTF2_EvtWriter* const writer = archive.writer();
      Ns at = 0;
      for (int i = 0; i < 40; ++i) {
        const bool is_long = i % 4 == 3;
        const Ns work = kUs * (is_long ? 900 : 70), network = kUs * (is_long ? 100 : 30);
        if (i == written)
          OTF2_EvtWriter_MeasurementOnOff(writer, nullptr, at, OTF2_MEASUREMENT_OFF);
        archive.enter(at, loop);
        at += work;
        if (i < written) {
          archive.enter(at, meet);
          OTF2_EvtWriter_MpiCollectiveBegin(writer, nullptr, at);
          OTF2_EvtWriter_MpiCollectiveEnd(writer, nullptr, at + network,
                                          OTF2_COLLECTIVE_OP_ALLREDUCE, 0,
                                          OTF2_UNDEFINED_UINT32, 8, 8);
          archive.leave(at + network, meet);
        }
        at += network;
        archive.leave(at, loop);
      }
      end = at;
    }
    archive.finish(0, end);
  }
  const auto run = ideal_run(path);
  INFO(run.error());
  REQUIRE(run.ok());
  return *run;
}

namespace {

// 40 iterations of two steps, each with a barrier: in the first one rank 0 works longer, in the second one rank 1 as much. The first
// `written` iterations are in the archive; `gaps`: of each but the first half.
WhatIf turns(int written, bool gaps) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "a").string();
  {
    reader::SmallArchive archive(path);
    archive.of_refrain();
    const auto loop = archive.loop("loop 1 @ main p.c:7");
    const auto meet = archive.mpi("MPI_Barrier");
    Ns end = 0;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      archive.process();
      OTF2_EvtWriter* const writer = archive.writer();
      Ns at = 0;
      bool on = true;
      const auto turn = [&](bool wanted) {
        if (on == wanted) return;
        on = wanted;
        OTF2_EvtWriter_MeasurementOnOff(writer, nullptr, at,
                                        on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF);
      };
      for (int i = 0; i < 40; ++i) {
        if (!gaps) turn(i < written);
        archive.enter(at, loop);
        for (std::uint32_t step = 0; step < 2; ++step) {
          if (gaps) turn(i < written && step == 0);
          const Ns work = (step == rank ? 90 : 10) * kUs;
          if (on) {
            archive.enter(at + work, meet);
            OTF2_EvtWriter_MpiCollectiveBegin(writer, nullptr, at + work);
            OTF2_EvtWriter_MpiCollectiveEnd(writer, nullptr, at + 90 * kUs,
                                            OTF2_COLLECTIVE_OP_BARRIER, 0,
                                            OTF2_UNDEFINED_UINT32, 0, 0);
            archive.leave(at + 90 * kUs, meet);
          }
          at += 90 * kUs;
        }
        archive.leave(at, loop);
      }
      end = at;
    }
    archive.finish(0, end);
  }
  const auto found = without_waits(path, {"MPI_Barrier"});
  INFO(found.error());
  REQUIRE(found.ok());
  return *found;
}

}  // namespace

TEST_CASE("What if nobody waited in a call: reduced archives") {
  for (const int written : {5, 40}) {
    CAPTURE(written);
    const WhatIf found = turns(written, false);
    REQUIRE(found.unknown.empty());
    CHECK(found.calls[0].gain_ns == Approx(40 * 80. * kUs));
  }
  CHECK(turns(5, true).unknown == "iterations have gaps inside");
  CHECK(turns(40, true).unknown == "iterations have gaps inside");
}

TEST_CASE("Ideal network: reduced archives - iterations stand for those like them") {
  constexpr double kTime = 30 * 100 + 10 * 1000, kSaved = 30 * 30 + 10 * 100;
  for (const int written : {4, 10, 40}) {
    CAPTURE(written);
    const IdealRun run = reduced(written);
    CHECK(run.unknown.empty());
    REQUIRE(run.loops.size() == 1);
    REQUIRE(run.processes.size() == 2);
    for (const IdealRun::Process& process : run.processes) {
      CHECK(process.whole.time_ns == Approx(kTime * kUs));
      CHECK(process.whole.saved_ns == Approx(kSaved * kUs));
      CHECK(process.loops[0].time_ns == Approx(kTime * kUs));
      CHECK(process.loops[0].saved_ns == Approx(kSaved * kUs));
    }
    CHECK((run.estimated == 0) == (written == 40));
  }
  // Without one like them, the most similar ones stand for them.
  CHECK(reduced(2).processes[0].whole.saved_ns == Approx(0.3 * kTime * kUs));
  CHECK(reduced(0).unknown == "loops have no iteration that was written in full");
}

TEST_CASE("Ideal network: reduced archives - of inner loops, by their own iterations") {
  // Each of 10 iterations: 200 us of work that saves nothing, then 20 inner ones of 60 us of work and 40 of the network. Two
  // inner ones are written of each of the first three; of the others nothing is.
  const test::TemporaryFolder folder;
  const std::string path = (folder / "a").string();
  {
    reader::SmallArchive archive(path);
    archive.of_refrain();
    const auto outer = archive.loop("loop 1 @ main p.c:7"),
               inner = archive.loop("loop 2 @ main p.c:9");
    const auto meet = archive.mpi("MPI_Allreduce");
    Ns at = 0;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      archive.process();
      OTF2_EvtWriter* const writer = archive.writer();
      at = 0;
      bool off = false;
      const auto write = [&](bool on) {
        if (on == off)
          OTF2_EvtWriter_MeasurementOnOff(writer, nullptr, at,
                                          on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF);
        off = !on;
      };
      for (int i = 0; i < 10; ++i) {
        write(i < 3);
        archive.enter(at, outer);
        at += 200 * kUs;
        for (int k = 0; k < 20; ++k) {
          write(i < 3 && k < 2);
          if (i < 3) archive.enter(at, inner);
          at += 60 * kUs;
          if (!off) {
            archive.enter(at, meet);
            OTF2_EvtWriter_MpiCollectiveBegin(writer, nullptr, at);
            OTF2_EvtWriter_MpiCollectiveEnd(writer, nullptr, at + 40 * kUs,
                                            OTF2_COLLECTIVE_OP_ALLREDUCE, 0,
                                            OTF2_UNDEFINED_UINT32, 8, 8);
            archive.leave(at + 40 * kUs, meet);
          }
          at += 40 * kUs;
          if (i < 3) archive.leave(at, inner);
        }
        archive.leave(at, outer);
      }
      write(true);
    }
    archive.finish(0, at);
  }
  const auto run = ideal_run(path);
  INFO(run.error());
  REQUIRE(run.ok());
  CHECK(run->unknown.empty());
  for (const IdealRun::Process& process : run->processes) {
    CHECK(process.whole.time_ns == Approx(22000. * kUs));
    CHECK(process.loops[0].saved_ns == Approx(8000. * kUs));
    CHECK(process.whole.saved_ns == Approx(8000. * kUs));
  }
}

TEST_CASE(
    "Ideal network: what is not in the archive is given up, and nobody waits for it") {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "a").string();
  {
    reader::SmallArchive archive(path);
    const auto send = archive.mpi("MPI_Send"), receive = archive.mpi("MPI_Recv");
    archive.process();
    archive.receive(10 * kUs, 30 * kUs, receive, 1, 7);  // nobody sends it
    archive.send(40 * kUs, 41 * kUs, send, 1);
    archive.process();
    archive.enter(0, send);
    archive.leave(0, send);
    archive.receive(20 * kUs, 45 * kUs, receive, 0);
    archive.leave(50 * kUs, send);  // was left before
    archive.finish(0, 50 * kUs);
  }
  const auto run = ideal_run(path);
  REQUIRE(run.ok());
  CHECK(run->given_up == 1);
  CHECK(run->unknown.empty());
  CHECK(run->processes[0].whole.saved_ns == Approx(21. * kUs));
  CHECK(run->processes[1].whole.saved_ns == Approx(25. * kUs));
}

}  // namespace refrain::analysis::ideal_network_test
