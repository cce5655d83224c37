// The processes of a job in which the command was started together, by an MPI launcher.
//
// Place in the flow: `refrain analyze` under mpirun. The command is not linked with MPI: librefrain_job_mpich.so and
// librefrain_job_openmpi.so are, next to it as installed (../lib) or as built; that of the launcher is loaded, and only then.
// Thread-safety: one thread. Errors: send() and receive() throw.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "exchange/exchange.h"
#include "tools/job/job_link.h"

namespace refrain::tools {

class Job final : public exchange::Exchange {
 public:
  // No job: this process was started alone. Of an error, all processes have the same one, and `first` is one of them.
  static base::Result<> join(std::unique_ptr<Job>& job, bool& first);

  Job(const RefrainJobLink& link, int rank, int size)
      : link_(link), rank_(rank), size_(size) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  std::uint32_t rank() const noexcept override { return static_cast<std::uint32_t>(rank_); }
  std::uint32_t size() const noexcept override { return static_cast<std::uint32_t>(size_); }
  void send(std::uint32_t to, const exchange::Bytes& bytes) override;
  exchange::Bytes receive(std::uint32_t from) override;

  // By all, as the last: rank 0's exit status.
  int leave(int status);

 private:
  const RefrainJobLink& link_;
  int rank_;
  int size_;
};

}  // namespace refrain::tools
