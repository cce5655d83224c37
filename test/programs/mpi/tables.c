/* Fills the memory of a summary: calls from thousands of places of the source, each of which is a node of
 * the call tree and of the event flow graph, and a loop of thousands of iterations.
 *
 * Arguments: [order = 0: first the calls, then the loop; 1: the loop first] [iterations = 20000] */
#include "messages.h"

#define CALL                             \
  {                                      \
    MPI_Request none = MPI_REQUEST_NULL; \
    MPI_Wait(&none, MPI_STATUS_IGNORE);  \
    ++calls;                             \
  }
#define CALLS_10 CALL CALL CALL CALL CALL CALL CALL CALL CALL CALL
#define CALLS_100 \
  CALLS_10 CALLS_10 CALLS_10 CALLS_10 CALLS_10 CALLS_10 CALLS_10 CALLS_10 CALLS_10 CALLS_10
#define CALLS_1000                                                                \
  CALLS_100 CALLS_100 CALLS_100 CALLS_100 CALLS_100 CALLS_100 CALLS_100 CALLS_100 \
      CALLS_100 CALLS_100

static NOINLINE long call_from_everywhere(void) {
  long calls = 0;
  CALLS_1000 CALLS_1000 CALLS_1000 CALLS_1000 CALLS_1000 CALLS_1000 CALLS_1000 return calls;
}

static NOINLINE uint64_t iterate(const Group* all, long iterations) {
  uint64_t sum = 0;
  for (long k = 0; k < iterations; ++k) {
    int64_t mine = all->rank + k, total = 0;
    MPI_Allreduce(&mine, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    sum = checksum_add(sum, (uint64_t)total);
  }
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long loop_first = argument(argc, argv, 1, 0, 0);
  const long iterations = argument(argc, argv, 2, 20000, 1);
  uint64_t sum = 0;
  long calls = 0;
  if (loop_first) sum = iterate(&all, iterations);
  calls = call_from_everywhere();
  if (!loop_first) sum = iterate(&all, iterations);
  print_result(&all, iterations, sum + (uint64_t)calls);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
