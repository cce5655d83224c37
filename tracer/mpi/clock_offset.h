// Measures how the clocks of a job's processes differ from that of process 0.
//
// Place in the flow: at MPI_Init and MPI_Finalize, all processes together, over a
// communicator of our own. The result goes to the journal (kClockOffset).
//
// Each process asks the one whose rank is its own without the lowest bit that is set:
//
//     process   ask ──t0────────► tp ──┐ its clock
//               t1 ◄────────────answer─┘      offset = tp - (t0 + t1) / 2
//
// many times, and keeps the answer with the shortest round trip: its error is at most half of
// that time. In round k, from the largest down, all pairs whose ranks differ in
// bit k ask at the same time, so the whole takes as many rounds as the job's size has bits,
// and a process knows its parent's offset when it asks (errors add up along the way).
// Two on one machine read one clock: they say so to each other, and have no offset.
//
// Units: ticks of each process' own clock; offsets are added to it to have that of process 0
// at that moment. Two measurements give the rate by which the clocks drift apart.
// Thread-safety: one thread. Errors: the transport handles its own.
// Cost: at most `patience_ticks` a round (where processes share a core the scheduler decides how
// long a trip takes).
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::mpi {

class Transport {
 public:
  virtual void send(int rank, const void* data, std::size_t bytes) noexcept = 0;
  virtual void receive(int rank, void* data, std::size_t bytes) noexcept = 0;
  virtual std::uint64_t now() noexcept = 0;  // ticks

 protected:
  ~Transport() = default;
};

struct ClockOffset {
  std::int64_t ticks = 0;         // to be added to this process' clock
  std::uint64_t error = 0;        // ticks, at the most
  std::uint64_t measured_at = 0;  // by this process' clock
};

struct ClockTrips {
  unsigned most = 100;               // trips a pair
  std::uint64_t patience_ticks = 0;  // for all trips of a pair; 0: no end but `most`
  std::uint64_t machine = 0;         // whose clock it is; 0: not known
};

ClockOffset measure_clock_offset(int rank, int size, const ClockTrips& trips,
                                 Transport& transport) noexcept;

}  // namespace refrain::mpi
