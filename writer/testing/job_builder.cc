#include "writer/testing/job_builder.h"

namespace refrain::spool {

std::vector<SpoolBuilder> job(std::uint32_t size) {
  std::vector<SpoolBuilder> ranks;
  for (std::uint32_t rank = 0; rank < size; ++rank) ranks.emplace_back(1).mpi(rank, size);
  return ranks;
}

void send(SpoolBuilder& rank, std::uint64_t epoch, std::uint64_t ticks,
          const Message& message) {
  rank.location(0)
      .enter_mpi(ticks, kTestSend, kSite, epoch)
      .message(kMpiSend, ticks + 1, message)
      .leave_mpi(ticks + 5, kTestSend, kSite);
}

void receive(SpoolBuilder& rank, std::uint64_t epoch, std::uint64_t ticks,
             const Message& message) {
  rank.location(0)
      .enter_mpi(ticks, kTestRecv, kSite, epoch)
      .message(kMpiRecv, ticks + 4, message)
      .leave_mpi(ticks + 5, kTestRecv, kSite);
}

void allreduce(SpoolBuilder& rank, std::uint64_t epoch, std::uint64_t ticks,
               std::uint32_t number) {
  rank.location(0)
      .enter_mpi(ticks, kTestAllreduce, kSite, epoch)
      .collective(ticks + 8, kMpiAllreduce, 0, number)
      .leave_mpi(ticks + 9, kTestAllreduce, kSite);
}

}  // namespace refrain::spool
