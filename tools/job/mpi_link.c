// Bytes between the processes of a job, over the MPI library that it is built for.
//
// Place in the flow: job_link.h. Who waits sleeps, up to 200 us at a time, so that those that work have the processors.
// Shape: a message is its length, and then its bytes in parts.
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>

#include "tools/job/job_link.h"

enum { kPart = 1 << 22, kYields = 50, kMinPause = 5000, kMaxPause = 200000 };

static int wait_for(MPI_Request* request) {
  long pause = kMinPause;
  for (int tries = 0;; ++tries) {
    int done = 0;
    const int result = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (result != MPI_SUCCESS || done != 0) return result;
    if (tries < kYields) {
      sched_yield();
      continue;
    }
    const struct timespec time = {0, pause};
    nanosleep(&time, NULL);
    pause = 2 * pause < kMaxPause ? 2 * pause : kMaxPause;
  }
}

static int start(int* rank, int* size) {
  int result = MPI_Init(NULL, NULL);
  if (result != MPI_SUCCESS) return result;
  result = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (result == MPI_SUCCESS) result = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  return result == MPI_SUCCESS ? MPI_Comm_size(MPI_COMM_WORLD, size) : result;
}

static int send_part(int to, const void* bytes, int count) {
  MPI_Request request;
  const int result = MPI_Isend(bytes, count, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
  return result == MPI_SUCCESS ? wait_for(&request) : result;
}

static int receive_part(int from, void* bytes, int count) {
  MPI_Request request;
  const int result = MPI_Irecv(bytes, count, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request);
  return result == MPI_SUCCESS ? wait_for(&request) : result;
}

static int part_of(size_t rest) { return rest < kPart ? (int)rest : kPart; }

static int send_bytes(int to, const void* bytes, size_t count) {
  const uint64_t length = count;
  int result = send_part(to, &length, (int)sizeof length);
  for (size_t at = 0; at < count && result == MPI_SUCCESS; at += kPart)
    result = send_part(to, (const char*)bytes + at, part_of(count - at));
  return result;
}

static int expect(int from, size_t* count) {
  uint64_t length = 0;
  const int result = receive_part(from, &length, (int)sizeof length);
  *count = (size_t)length;
  return result;
}

static int receive_bytes(int from, void* bytes, size_t count) {
  int result = MPI_SUCCESS;
  for (size_t at = 0; at < count && result == MPI_SUCCESS; at += kPart)
    result = receive_part(from, (char*)bytes + at, part_of(count - at));
  return result;
}

static int end(int* status) {
  MPI_Request request;
  int result = MPI_Ibcast(status, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  if (result == MPI_SUCCESS) result = wait_for(&request);
  return result == MPI_SUCCESS ? MPI_Finalize() : result;
}

__attribute__((visibility("default"))) const RefrainJobLink* refrain_job_link(void) {
  static const RefrainJobLink link = {
      REFRAIN_JOB_LINK_VERSION, start, send_bytes, expect, receive_bytes, end};
  return &link;
}
