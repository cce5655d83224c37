/* A master gives out tasks one by one; workers request the next by sending the result of
 * the last. The master takes messages from any source, of any tag, so which worker does
 * which task is nondeterministic; the sum of the results is not. A rank alone does all tasks itself.
 *
 * Arguments: [tasks = 40] [work a task = 200] */
#include "messages.h"

enum { kTask = 41, kStop = 42, kReady = 43, kResult = 44 };

static uint64_t work(long task, long units) {
  return busy(scramble((uint64_t)task), units) >> 8;
}

static NOINLINE void hand_out(const Group* all, double* message, int worker, long task,
                              long tasks) {
  const int tag = task < tasks ? kTask : kStop;
  message[1] = (double)task;
  const int length = message_made(all, message, 1, worker, tag);
  MPI_Send(message, length, MPI_DOUBLE, worker, tag, all->handle);
}

/* Returns the sum of the results. */
static uint64_t lead(const Group* all, long tasks) {
  double message[MESSAGE_ROOM(2)];
  uint64_t sum = 0;
  long next = 0;
  for (int working = all->size - 1; working > 0;) {
    MPI_Status status;
    MPI_Recv(message, MESSAGE_ROOM(2), MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, all->handle,
             &status);
    message_got(all, message, &status);
    if (status.MPI_TAG == kResult) {
      uint64_t result;
      memcpy(&result, &message[1], sizeof result);
      sum += result;
    }
    if (next >= tasks) --working;
    hand_out(all, message, status.MPI_SOURCE, next, tasks);
    if (next < tasks) ++next;
  }
  return sum;
}

static long serve(const Group* all, long units) {
  double message[MESSAGE_ROOM(2)];
  long done = 0;
  for (int tag = kReady;; tag = kResult) {
    const int length = message_made(all, message, 2, 0, tag);
    MPI_Send(message, length, MPI_DOUBLE, 0, tag, all->handle);
    MPI_Status status;
    MPI_Recv(message, MESSAGE_ROOM(1), MPI_DOUBLE, 0, MPI_ANY_TAG, all->handle, &status);
    message_got(all, message, &status);
    if (status.MPI_TAG == kStop) return done;
    const uint64_t result = work((long)message[1], units);
    memcpy(&message[1], &result, sizeof result);
    ++done;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long tasks = argument(argc, argv, 1, 40, 0);
  const long units = argument(argc, argv, 2, 200, 0);
  uint64_t sum = 0;
  long done = 0;
  if (all.size == 1)
    for (; done < tasks; ++done) sum += work(done, units);
  else if (all.rank == 0)
    sum = lead(&all, tasks);
  else
    done = serve(&all, units);
  long total = 0;
  MPI_Allreduce(&done, &total, 1, MPI_LONG, MPI_SUM, all.handle);
  print_result(&all, total, sum);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return total != tasks;
}
