#include "tracer/mpi/clocks.h"

#include <fstream>
#include <functional>
#include <string>

#include "base/hot_data.h"
#include "tracer/mpi/clock_offset.h"
#include "tracer/mpi/job_exchange.h"
#include "tracer/mpi/mpi_header.h"
#include "tracer/recorder/clock.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/runtime/this_thread.h"

#pragma weak PMPI_Send
#pragma weak PMPI_Recv
#pragma weak PMPI_Barrier
#pragma weak PMPI_Allreduce
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_size

namespace refrain::mpi {
namespace {

using recorder::Clock;

constexpr double kPatience_s = 0.02;

class Messages final : public Transport {
 public:
  explicit Messages(const OwnCommunicator& own) noexcept : comm_(own.get()) {}

  void synchronise() noexcept { PMPI_Barrier(comm_); }
  void send(int rank, const void* data, std::size_t bytes) noexcept override {
    PMPI_Send(data, static_cast<int>(bytes), MPI_BYTE, rank, 0, comm_);
  }
  void receive(int rank, void* data, std::size_t bytes) noexcept override {
    PMPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, rank, 0, comm_, MPI_STATUS_IGNORE);
  }
  std::uint64_t now() noexcept override { return Clock::now(); }

 private:
  MPI_Comm comm_;
};

// Of the kernel that runs here, the same for all its processes; 0 if it cannot be read.
std::uint64_t machine_number() {
  const recorder::NoLowDescriptors no_low_descriptors;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  if (boot.empty()) return 0;
  return std::hash<std::string>{}(boot) | 1;
}

}  // namespace

void measure_clocks(int rank, int size, const OwnCommunicator& own) noexcept {
  if (size < 2 || !own.valid()) return;
  // Once: later the program may have no file left to open.
  static const std::uint64_t machine = [] {
    std::uint64_t number = 0;
    recorder::attempted([&] { number = machine_number(); });
    return number;
  }();
  Messages messages(own);
  messages.synchronise();  // so that no first trip waits for a process that is late
  const ClockOffset found = measure_clock_offset(
      rank, size,
      {.patience_ticks = Clock::ticks_of_seconds(kPatience_s), .machine = machine},
      messages);
  if (runtime::g_session == nullptr) return;
  runtime::g_session->put_fact(runtime::t_thread.recorder,
                               spool::record_words(spool::kClockOffset, found.measured_at,
                                                   static_cast<std::uint64_t>(found.ticks),
                                                   0, found.error & spool::kAddressMask));
}

namespace {

std::uint64_t g_every = 0;

}  // namespace

alignas(64) constinit REFRAIN_HOT_DATA std::uint64_t g_collectives_to_clocks = 0;

void agree_on_clock_every(std::uint64_t collectives) noexcept {
  std::uint64_t least = 0;
  if (PMPI_Allreduce(&collectives, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD) !=
      MPI_SUCCESS)
    least = 0;
  g_every = g_collectives_to_clocks = least;
}

void measure_clocks_again() noexcept {
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  measure_clocks(rank, size, OwnCommunicator());
  g_collectives_to_clocks = g_every;
}

}  // namespace refrain::mpi
