// Which polls in a row become one region.
#include "tracer/mpi/poll_run.h"

#include <catch2/catch.hpp>
#include <string>

namespace refrain::mpi::poll_run_test {
namespace {

constexpr PollRun::Limits kThree{.in_full = 3, .most_between = 10};

// A thread's polls, 5 ticks each, 1 tick from one to the next, and what becomes of them: "." a
// separate region, "[" one that others extend, "=" one that extends it.
class Thread {
 public:
  explicit Thread(const PollRun::Limits& limits) : limits_(limits) {}

  Thread& polls(int times, std::uint16_t procedure = 1) {
    for (int i = 0; i < times; ++i) poll(procedure, false);
    return *this;
  }
  Thread& finds(std::uint16_t procedure = 1) {
    poll(procedure, true);
    return *this;
  }
  Thread& waits(std::uint64_t ticks) {
    now_ += ticks;
    return *this;
  }
  // Something else is recorded, be it an MPI call.
  Thread& does(bool call) {
    now_ += 3;
    last_end_ = call ? now_ : 0;
    return *this;
  }

  std::string regions;
  std::string mixed;  // of the regions that others extend: "m", or "-"

 private:
  void poll(std::uint16_t procedure, bool finds) {
    now_ += 1;
    const PollRun::Begin begin = run_.begin(now_, last_end_, procedure, limits_);
    now_ += 5;
    bool region = begin != PollRun::Begin::kExtends;
    if (begin == PollRun::Begin::kTogether) mixed += run_.mixed() ? 'm' : '-';
    if (finds) region = true;
    regions += !region ? '=' : begin == PollRun::Begin::kTogether ? '[' : '.';
    last_end_ = now_;
    if (finds)
      run_.ends_row();
    else
      run_.in_vain(now_, region);
  }

  PollRun::Limits limits_;
  PollRun run_;
  std::uint64_t now_ = 100;
  std::uint64_t last_end_ = 0;
};

TEST_CASE("Polls: a row - the first N, one region, what was found") {
  CHECK(Thread(kThree).polls(3).regions == "...");
  CHECK(Thread(kThree).polls(4).regions == "...[");
  CHECK(Thread(kThree).polls(8).finds().regions == "...[====.");
  CHECK(Thread(kThree).polls(6).finds().polls(6).regions == "...[==....[==");
  CHECK(Thread(kThree).polls(6).mixed == "-");
}

TEST_CASE("Polls: without a limit - all of them") {
  CHECK(Thread({.in_full = 0, .most_between = 10}).polls(8).regions == "........");
}

TEST_CASE("Polls: anything between them - begins a new row") {
  CHECK(Thread(kThree).polls(5).does(false).polls(5).regions == "...[=...[=");
  CHECK(Thread(kThree).polls(5).does(true).polls(5).regions == "...[=...[=");
  CHECK(Thread(kThree).polls(5).waits(9).polls(3).regions == "...[====");
  CHECK(Thread(kThree).polls(5).waits(10).polls(5).regions == "...[=...[=");
  CHECK(Thread(kThree).polls(2).waits(10).polls(3).regions == ".....");
}

TEST_CASE("Polls: of several procedures - in turns they are one row") {
  Thread turns(kThree);
  for (int i = 0; i < 4; ++i) turns.polls(1, 1).polls(1, 2);
  CHECK(turns.regions == "...[====");
  CHECK(turns.mixed == "m");
  // The region of one procedure has nothing of another.
  const Thread after = Thread(kThree).polls(6, 1).polls(6, 2);
  CHECK(after.regions == "...[==...[==");
  CHECK(after.mixed == "--");
  CHECK(Thread(kThree).polls(3, 1).polls(3, 2).mixed == "m");
}

}  // namespace
}  // namespace refrain::mpi::poll_run_test
