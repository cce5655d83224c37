#include "tracer/mpi/clock_offset.h"

#include <bit>

namespace refrain::mpi {
namespace {

struct Question {
  std::uint64_t more;  // 0: the last one
  std::uint64_t machine;
};
struct Answer {
  std::uint64_t now;
  std::int64_t ticks;  // the answering process' own offset and error
  std::uint64_t error;
  std::uint64_t machine;
};

bool one_clock(std::uint64_t machine, std::uint64_t other) noexcept {
  return machine != 0 && machine == other;
}

void answer(int child, const ClockOffset& own, std::uint64_t machine,
            Transport& transport) noexcept {
  Question question{};
  do {
    transport.receive(child, &question, sizeof question);
    const Answer answer{transport.now(), own.ticks, own.error, machine};
    transport.send(child, &answer, sizeof answer);
  } while (question.more != 0 && !one_clock(machine, question.machine));
}

ClockOffset ask(int parent, const ClockTrips& trips, Transport& transport) noexcept {
  ClockOffset best;
  std::uint64_t shortest = ~std::uint64_t{0};
  const std::uint64_t begin = transport.now();
  bool more = true;
  for (unsigned trip = 0; more; ++trip) {
    const std::uint64_t before = transport.now();
    more = trip + 1 < trips.most &&
           (trips.patience_ticks == 0 || before - begin < trips.patience_ticks);
    const Question question{more ? 1U : 0U, trips.machine};
    Answer answer{};
    transport.send(parent, &question, sizeof question);
    transport.receive(parent, &answer, sizeof answer);
    const std::uint64_t after = transport.now();
    if (one_clock(trips.machine, answer.machine))
      return {answer.ticks, answer.error, after};
    const std::uint64_t took = after - before;
    if (took >= shortest) continue;
    shortest = took;
    const std::uint64_t middle = before + took / 2;
    // Clocks may be anywhere: the difference is what counts, modulo 2^64.
    best.ticks = static_cast<std::int64_t>(answer.now - middle +
                                           static_cast<std::uint64_t>(answer.ticks));
    best.error = took - took / 2 + answer.error;
    best.measured_at = middle;
  }
  return best;
}

}  // namespace

ClockOffset measure_clock_offset(int rank, int size, const ClockTrips& trips,
                                 Transport& transport) noexcept {
  ClockOffset own;
  own.measured_at = transport.now();
  if (size < 2) return own;
  for (int bit = static_cast<int>(std::bit_floor(static_cast<unsigned>(size - 1))); bit > 0;
       bit /= 2) {
    if (rank % bit != 0) continue;  // its turn comes in a lower round
    if (rank % (2 * bit) == bit)
      own = ask(rank - bit, trips, transport);
    else if (rank + bit < size)
      answer(rank + bit, own, trips.machine, transport);
  }
  if (rank == 0) own.measured_at = transport.now();
  return own;
}

}  // namespace refrain::mpi
