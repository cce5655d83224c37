// Programs that are drawn by chance, of fixed seeds: artificial traces for tests of what holds of every analysis.
//
// Thread-safety: none. Units: ticks, as in made_up_trace.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "waits/made_up_trace.h"

namespace refrain::waits {

// Ranks that work, send, synchronize and fork, each with a clock of its own. `as`: the rank that plays each part.
class DrawnProgram {
 public:
  DrawnProgram(std::uint32_t seed, std::uint32_t ranks, std::uint32_t threads,
               std::vector<std::uint32_t> as)
      : trace_(ranks, threads),
        ranks_(ranks),
        threads_(threads),
        as_(std::move(as)),
        random_(seed),
        now_(ranks, 10) {
    for (std::uint32_t i = 0; i < ranks; ++i) trace_.enter(as_[i], 10, rMain);
  }

  MadeUpTrace& run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    for (std::uint32_t i = 0; i < ranks_; ++i)
      trace_.leave(as_[i], now_[i] + 1 + draw(50), rMain);
    return trace_;
  }

  // The same without one event in ten, and one in twenty earlier than it was.
  MadeUpTrace& run_damaged(int steps, std::uint32_t seed) {
    MadeUpTrace& trace = run(steps);
    std::mt19937 random(seed);
    std::erase_if(trace.events(),
                  [&](const reader::TraceEvent&) { return random() % 10 == 0; });
    for (reader::TraceEvent& event : trace.events())
      if (random() % 20 == 0) event.ticks -= std::min<std::uint64_t>(event.ticks, 90);
    return trace;
  }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  std::uint64_t latest() const { return *std::ranges::max_element(now_); }

  void step() {
    for (std::uint64_t& each : now_) each += 1 + draw(200);
    switch (draw(5)) {
      case 0:
        return collective(rBarrier, OTF2_COLLECTIVE_OP_BARRIER);
      case 1:
        return collective(rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE);
      case 2:
        return collective(rScan, OTF2_COLLECTIVE_OP_SCAN);
      case 3:
        return threads_ > 1 ? parallel() : message();
      default:
        return message();
    }
  }

  void collective(std::uint32_t region, OTF2_CollectiveOp operation) {
    const std::uint64_t all_there = latest();
    for (std::uint32_t i = 0; i < ranks_; ++i) {
      const std::uint64_t end = all_there + 1 + draw(30);
      trace_.collective(as_[i], now_[i], end, region, operation);
      now_[i] = end;
    }
  }

  // Half of them by MPI_Irecv and MPI_Wait, a quarter of the blocking sends wait for the receive.
  void message() {
    if (ranks_ < 2) return;
    const auto from = static_cast<std::uint32_t>(draw(ranks_));
    const auto to = static_cast<std::uint32_t>((from + 1 + draw(ranks_ - 1)) % ranks_);
    const bool waits = draw(4) == 0;
    const bool posted_before = draw(2) == 0;
    const std::uint64_t sent = now_[from], received = std::max(sent, now_[to]) + 3;
    if (posted_before) {
      trace_.enter(as_[to], now_[to], rIrecv);
      trace_.request(as_[to], now_[to], reader::EventKind::kMpiIrecvRequest, ++request_);
      trace_.leave(as_[to], now_[to] + 1, rIrecv);
      trace_.enter(as_[to], now_[to] + 1, rWait);
      trace_.message(as_[to], received, reader::EventKind::kMpiIrecv, as_[from], 0,
                     request_);
      trace_.leave(as_[to], received, rWait);
    } else {
      trace_.receive(as_[to], now_[to], received, as_[from]);
    }
    const std::uint64_t send_ends = waits ? std::max(sent, now_[to]) + 2 : sent + 2;
    trace_.send(as_[from], sent, send_ends, as_[to]);
    now_[to] = received;
    now_[from] = send_ends;
  }

  void parallel() {
    const auto rank = static_cast<std::uint32_t>(draw(ranks_));
    const std::uint32_t as = as_[rank];
    const std::uint64_t fork = now_[rank];
    std::uint64_t all_there = 0;
    std::vector<std::uint64_t> arrives;
    for (std::uint32_t i = 0; i < threads_; ++i) {
      arrives.push_back(fork + 5 + draw(300));
      all_there = std::max(all_there, arrives.back());
    }
    trace_.add(as, fork, reader::EventKind::kThreadFork);
    for (std::uint32_t i = 0; i < threads_; ++i) {
      const std::uint64_t begin = fork + (i == 0 ? 0 : 1 + draw(4));
      trace_.team_begin({as, i}, begin);
      trace_.enter({as, i}, begin, rParallel);
      const std::uint64_t end = all_there + 1 + draw(5);
      trace_.region({as, i}, arrives[i], end, rImplicit);
      trace_.leave({as, i}, end, rParallel);
      trace_.team_end({as, i}, end);
    }
    now_[rank] = all_there + 10;
    trace_.add(as, now_[rank], reader::EventKind::kThreadJoin);
  }

  MadeUpTrace trace_;
  std::uint32_t ranks_, threads_;
  std::vector<std::uint32_t> as_;
  std::mt19937 random_;
  std::vector<std::uint64_t> now_;
  std::uint64_t request_ = 0;
};

// Ranks that work and send, upwards or also downwards. A receive ends when its send begins, or at once: so a wait is as
// long as it is where the receiver's clock is behind, and shorter where it is ahead.
inline MadeUpTrace drawn_messages(std::uint32_t seed, std::uint32_t ranks, int steps,
                                  bool upwards) {
  MadeUpTrace trace(ranks);
  std::mt19937 random(seed);
  std::vector<std::uint64_t> now(ranks, 10);
  for (int i = 0; i < steps; ++i) {
    auto from = static_cast<std::uint32_t>(random() % (ranks - 1));
    auto to = static_cast<std::uint32_t>(from + 1 + random() % (ranks - 1 - from));
    if (!upwards && random() % 2 == 0) std::swap(from, to);
    for (const std::uint32_t rank : {from, to}) {
      const std::uint64_t work = 1 + random() % (rank == from ? 200 : 100);
      trace.region(rank, now[rank], now[rank] + work, random() % 2 == 0 ? rTask : rLoop);
      now[rank] += work;
    }
    const std::uint64_t sent = now[from], end = std::max(sent, now[to]);
    trace.send(from, sent, sent, to);
    trace.receive(to, now[to], end, from);
    now[to] = end;
  }
  return trace;
}

inline std::vector<std::uint32_t> in_order(std::uint32_t ranks) {
  std::vector<std::uint32_t> as(ranks);
  for (std::uint32_t i = 0; i < ranks; ++i) as[i] = i;
  return as;
}

}  // namespace refrain::waits
