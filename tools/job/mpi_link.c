// Bytes between the processes of a job, over the MPI library that it is built for.
//
// Place in the flow: job_link.h. Who waits sleeps, up to 200 us at a time, so that those that work have the processors.
// Shape: a message is its length, and then its bytes in parts. Who sends does not wait: a message is kept until it has gone, so
// that all may send to each other before they receive.
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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

static int part_of(size_t rest) { return rest < kPart ? (int)rest : kPart; }

// A message that has not gone as a whole: its length, its bytes, and a request for the length and each part.
typedef struct Sending {
  struct Sending* next;
  MPI_Request* requests;
  int parts;
  uint64_t length;
  char bytes[];
} Sending;

static Sending* g_first = NULL;  // the oldest one
static Sending** g_last = &g_first;

// Frees what has gone; `all`: waits for all.
static int finish_sending(int all) {
  while (g_first != NULL) {
    Sending* const sending = g_first;
    int done = 1;
    int result = MPI_SUCCESS;
    for (int i = 0; i < sending->parts && done != 0 && result == MPI_SUCCESS; ++i)
      result = all != 0 ? wait_for(&sending->requests[i])
                        : MPI_Test(&sending->requests[i], &done, MPI_STATUS_IGNORE);
    if (result != MPI_SUCCESS || done == 0) return result;
    g_first = sending->next;
    if (g_first == NULL) g_last = &g_first;
    free(sending->requests);
    free(sending);
  }
  return MPI_SUCCESS;
}

static int receive_part(int from, void* bytes, int count) {
  MPI_Request request;
  const int result = MPI_Irecv(bytes, count, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request);
  return result == MPI_SUCCESS ? wait_for(&request) : result;
}

static int send_bytes(int to, const void* bytes, size_t count) {
  int result = finish_sending(0);
  if (result != MPI_SUCCESS) return result;
  const size_t parts = 1 + (count + kPart - 1) / kPart;
  Sending* const sending = malloc(sizeof *sending + count);
  MPI_Request* const requests = malloc(parts * sizeof *requests);
  if (sending == NULL || requests == NULL) {
    free(sending);
    free(requests);
    return MPI_ERR_NO_MEM;
  }
  *sending = (Sending){.next = NULL, .requests = requests, .parts = 0, .length = count};
  if (count != 0) memcpy(sending->bytes, bytes, count);
  *g_last = sending;
  g_last = &sending->next;
  result = MPI_Isend(&sending->length, (int)sizeof sending->length, MPI_BYTE, to, 0,
                     MPI_COMM_WORLD, &requests[sending->parts++]);
  for (size_t at = 0; at < count && result == MPI_SUCCESS; at += kPart)
    result = MPI_Isend(sending->bytes + at, part_of(count - at), MPI_BYTE, to, 0,
                       MPI_COMM_WORLD, &requests[sending->parts++]);
  if (result != MPI_SUCCESS) --sending->parts;
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
  int result = finish_sending(1);
  if (result == MPI_SUCCESS)
    result = MPI_Ibcast(status, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  if (result == MPI_SUCCESS) result = wait_for(&request);
  return result == MPI_SUCCESS ? MPI_Finalize() : result;
}

__attribute__((visibility("default"))) const RefrainJobLink* refrain_job_link(void) {
  static const RefrainJobLink link = {
      REFRAIN_JOB_LINK_VERSION, start, send_bytes, expect, receive_bytes, end};
  return &link;
}
