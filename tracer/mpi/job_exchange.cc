#include "tracer/mpi/job_exchange.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Isend
#pragma weak PMPI_Irecv
#pragma weak PMPI_Test

namespace refrain::mpi {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 18;  // of a part

void check(int result) {
  if (result != MPI_SUCCESS) throw std::runtime_error("MPI does not carry messages");
}

}  // namespace

JobExchange::JobExchange(const OwnCommunicator& own) noexcept : comm_(own.get()) {
  PMPI_Comm_rank(comm_, &rank_);
  PMPI_Comm_size(comm_, &size_);
}

void JobExchange::wait(MPI_Request request) {
  using namespace std::chrono_literals;
  constexpr int kYields = 100;
  std::chrono::microseconds pause = 10us;
  for (int tries = 0;; ++tries) {
    int done = 0;
    check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done != 0) return;
    if (tries < kYields) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(2 * pause, 1ms);
  }
}

void JobExchange::send_part(int to, const void* data, std::size_t bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(PMPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, 0, comm_, &request));
  wait(request);
}

void JobExchange::receive_part(int from, void* data, std::size_t bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(PMPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, 0, comm_, &request));
  wait(request);
}

// So that the next message is not taken for the rest of this one.
void JobExchange::skip(int from, std::uint64_t bytes) {
  static std::byte nowhere[kMaxBytes];
  for (std::uint64_t at = 0; at < bytes; at += kMaxBytes)
    receive_part(from, nowhere, std::min<std::uint64_t>(kMaxBytes, bytes - at));
}

void JobExchange::send(std::uint32_t to, const exchange::Bytes& bytes) {
  const std::uint64_t length = bytes.size();
  const int peer = static_cast<int>(to);
  send_part(peer, &length, sizeof(length));
  for (std::size_t at = 0; at < bytes.size(); at += kMaxBytes)
    send_part(peer, bytes.data() + at, std::min(kMaxBytes, bytes.size() - at));
}

exchange::Bytes JobExchange::receive(std::uint32_t from) {
  std::uint64_t length = 0;
  const int peer = static_cast<int>(from);
  receive_part(peer, &length, sizeof(length));
  exchange::Bytes bytes;
  try {
    bytes.resize(length);
  } catch (const std::exception&) {
    skip(peer, length);
    return {};
  }
  for (std::size_t at = 0; at < bytes.size(); at += kMaxBytes)
    receive_part(peer, bytes.data() + at, std::min(kMaxBytes, bytes.size() - at));
  return bytes;
}

}  // namespace refrain::mpi

#pragma weak PMPI_Allreduce
#pragma weak PMPI_Comm_create
#pragma weak PMPI_Comm_free
#pragma weak PMPI_Comm_get_errhandler
#pragma weak PMPI_Comm_group
#pragma weak PMPI_Comm_set_errhandler
#pragma weak PMPI_Errhandler_free
#pragma weak PMPI_Group_free

namespace refrain::mpi {

WorldErrorsReturned::WorldErrorsReturned() noexcept {
  if (PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_) != MPI_SUCCESS)
    before_ = MPI_ERRHANDLER_NULL;
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

WorldErrorsReturned::~WorldErrorsReturned() {
  if (before_ == MPI_ERRHANDLER_NULL) return;
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
  PMPI_Errhandler_free(&before_);
}

OwnCommunicator::OwnCommunicator() noexcept {
  const WorldErrorsReturned returned;
  MPI_Group world = MPI_GROUP_NULL;
  int made = 0;
  int all_made = 0;
  if (PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
    made = PMPI_Comm_create(MPI_COMM_WORLD, world, &comm_) == MPI_SUCCESS ? 1 : 0;
    PMPI_Group_free(&world);
  }
  if (made == 0) comm_ = MPI_COMM_NULL;
  if (comm_ != MPI_COMM_NULL) PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  valid_ = PMPI_Allreduce(&made, &all_made, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) ==
               MPI_SUCCESS &&
           all_made != 0;
}

OwnCommunicator::~OwnCommunicator() {
  if (comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
}

}  // namespace refrain::mpi
