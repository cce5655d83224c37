/* Every way to wait by polling: an iteration sends one message to each of the other ranks
 * (to itself too) and takes what comes by Waitany, Testsome, Test, Iprobe and Recv, or
 * Improbe and Mrecv, in turn. The number of polls is nondeterministic; the result is not.
 *
 * Arguments: [iterations = 10]
 * MPI calls of an iteration: Isend to all, one of the ways to receive, Waitall, Barrier. */
#include "messages.h"

enum { kFirstTag = 101, kValues = 2, kRoom = MESSAGE_ROOM(kValues), kWays = 5 };

typedef struct {
  const Group* all;
  double* in; /* kRoom doubles for each rank */
  MPI_Request* requests;
  int* done;
  MPI_Status* status;
  int tag;
  uint64_t sum;
} Receiver;

static void take(Receiver* r, int slot, const MPI_Status* status) {
  const double* message = r->in + (long)slot * kRoom;
  message_got(r->all, message, status);
  r->sum += (uint64_t)message[1] * (uint64_t)(status->MPI_SOURCE + 1);
}

static void post_all(Receiver* r) {
  for (int i = 0; i < r->all->size; ++i)
    MPI_Irecv(r->in + (long)i * kRoom, kRoom, MPI_DOUBLE, i, r->tag, r->all->handle,
              &r->requests[i]);
}

static NOINLINE void by_waitany(Receiver* r) {
  post_all(r);
  for (int i = 0; i < r->all->size; ++i) {
    int which;
    MPI_Waitany(r->all->size, r->requests, &which, &r->status[0]);
    take(r, which, &r->status[0]);
  }
}

static NOINLINE void by_testsome(Receiver* r) {
  post_all(r);
  for (int left = r->all->size; left > 0;) {
    int count;
    MPI_Testsome(r->all->size, r->requests, &count, r->done, r->status);
    for (int i = 0; i < count; ++i) take(r, r->done[i], &r->status[i]);
    left -= count;
  }
}

static NOINLINE void by_test(Receiver* r) {
  post_all(r);
  for (int i = 0; i < r->all->size; ++i)
    for (int flag = 0; !flag;) {
      MPI_Test(&r->requests[i], &flag, &r->status[0]);
      if (flag) take(r, i, &r->status[0]);
    }
}

static NOINLINE void by_iprobe(Receiver* r) {
  for (int left = r->all->size; left > 0;) {
    int flag;
    MPI_Status found;
    MPI_Iprobe(MPI_ANY_SOURCE, r->tag, r->all->handle, &flag, &found);
    if (!flag) continue;
    MPI_Recv(r->in, kRoom, MPI_DOUBLE, found.MPI_SOURCE, r->tag, r->all->handle,
             &r->status[0]);
    take(r, 0, &r->status[0]);
    --left;
  }
}

static NOINLINE void by_improbe(Receiver* r) {
  for (int left = r->all->size; left > 0;) {
    int flag;
    MPI_Message found;
    MPI_Improbe(MPI_ANY_SOURCE, r->tag, r->all->handle, &flag, &found, MPI_STATUS_IGNORE);
    if (!flag) continue;
    MPI_Mrecv(r->in, kRoom, MPI_DOUBLE, &found, &r->status[0]);
    take(r, 0, &r->status[0]);
    --left;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long limit = argument(argc, argv, 1, 10, 0);
  const size_t size = (size_t)all.size;
  double* out = calloc(size * kRoom, sizeof(double));
  MPI_Request* sends = calloc(size, sizeof *sends);
  Receiver r = {&all,
                calloc(size * kRoom, sizeof(double)),
                calloc(size, sizeof(MPI_Request)),
                calloc(size, sizeof(int)),
                calloc(size, sizeof(MPI_Status)),
                0,
                0};
  void (*const ways[kWays])(Receiver*) = {by_waitany, by_testsome, by_test, by_iprobe,
                                          by_improbe};

  long iterations = 0;
  for (long k = 0; k < limit; ++k) {
    r.tag = kFirstTag + (int)(k % kWays);
    for (int i = 0; i < all.size; ++i) {
      double* message = out + (long)i * kRoom;
      message[1] = (double)((all.rank + 1) * (k + 1) + i);
      const int length = message_made(&all, message, kValues, i, r.tag);
      MPI_Isend(message, length, MPI_DOUBLE, i, r.tag, all.handle, &sends[i]);
    }
    ways[k % kWays](&r);
    MPI_Waitall(all.size, sends, MPI_STATUSES_IGNORE);
    MPI_Barrier(all.handle);
    ++iterations;
  }

  print_result(&all, iterations, r.sum);
  free(out), free(sends), free(r.in), free(r.requests), free(r.done), free(r.status);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
