/* MPI calls that wait for a known time: each rank sleeps before calls, as the case says.
 *
 * Arguments: CASE [milliseconds = 60]
 *
 *   p2p:SEND:RECEIVE:LATE[:COMM]    even ranks send to odd ones
 *     SEND     send ssend bsend isend issend start large     (isend, issend, start: then Wait)
 *     RECEIVE  recv any wait start waitall waitany waitsome test probe mrecv posted
 *              (posted: Irecv, a sleep, Wait); partitioned:partitioned
 *     LATE     sender receiver nobody
 *     COMM     world sub (ranks in reverse) inter
 *   many:HOW      two messages, the first late, the second later: waitall waitany waitsome; or two
 *                 synchronous sends that receives come late for: issends
 *   sendrecv      the odd rank of a pair is late
 *   order:HOW     the message that was sent first is received last: same (source), different; right:
 *                 in the order in which they were sent
 *   coll:OP:LATE[:sub]
 *     OP       barrier allreduce alltoall alltoallv alltoallw allgather allgatherv reduce_scatter reduce_scatter_block
 *              neighbor (on a line) bcast scatter scatterv reduce gather gatherv scan exscan
 *     LATE     first last root others rising falling nobody
 *     sub      communicators of the even and of the odd ranks
 *     inter    between the even and the odd ranks: barrier allreduce bcast reduce
 *   icoll:OP:LATE   begun, then completed by MPI_Wait: barrier allreduce bcast reduce scan persistent
 *   completion:OP   a rank sleeps inside of barrier or allreduce, the others leave
 *   init:LATE, finalize:LATE
 *   rma:HOW       create free fence late_post early_wait lock progress none */
#include "mpi_messages.h"
#include "mpi_windows.h"

static void run_nothing(void) {}

typedef struct {
  const char* name;
  int least, even, words;
  void (*run)(void);
  void (*expect)(void);
} Family;

static const Family kFamilies[] = {
    {"p2p", 2, 1, 4, run_p2p, expect_p2p},
    {"many", 2, 1, 2, run_many, expect_many},
    {"sendrecv", 2, 1, 1, run_sendrecv, expect_sendrecv},
    {"order", 3, 0, 2, run_order, expect_order},
    {"coll", 2, 0, 3, run_coll, expect_coll},
    {"icoll", 2, 0, 3, run_icoll, expect_icoll},
    {"completion", 2, 0, 2, run_completion, expect_completion_case},
    {"init", 1, 0, 2, run_nothing, run_nothing},
    {"finalize", 1, 0, 2, run_nothing, run_nothing},
    {"rma", 2, 1, 2, run_rma, expect_rma},
};

static const Family* family_of(void) {
  for (size_t i = 0; i < sizeof kFamilies / sizeof *kFamilies; ++i)
    if (says(0, kFamilies[i].name) && words >= kFamilies[i].words) return &kFamilies[i];
  return NULL;
}

/* Before MPI_Init a rank is known by what the launcher says. */
static int rank_by_launcher(const char* name) {
  const char* value = getenv(name);
  return value ? atoi(value) : 0;
}

int main(int argc, char** argv) {
  char text[256] = "";
  if (argc > 1) snprintf(text, sizeof text, "%s", argv[1]);
  const char* name = argc > 1 ? argv[1] : "";
  for (char* at = strtok(text, ":"); at && words < 6; at = strtok(NULL, ":"))
    word[words++] = at;
  const Family* family = family_of();
  if (!family) {
    fprintf(stderr, "%s: no case \"%s\": they are at the head of waits_mpi.c\n", argv[0],
            name);
    return 2;
  }
  delay = (double)argument(argc, argv, 2, 60, 1) * 1e-3;
  if (says(0, "init"))
    sleep_for(
        sleep_of(word[1], rank_by_launcher("PMI_RANK"), rank_by_launcher("PMI_SIZE"), 0));
  begin(&argc, &argv, MPI_THREAD_SINGLE);
  if (size < family->least || (family->even && size % 2 != 0)) {
    if (rank == 0) fprintf(stderr, "%s: this case wants other numbers of ranks\n", argv[0]);
    MPI_Finalize();
    return 2;
  }
  family->run();
  if (says(0, "finalize")) sleep_for(sleep_of(word[1], rank, size, 0));
  if (end()) {
    family->expect();
    expect_ends();
    if (says(0, "finalize") && says(1, "last"))
      means("mpi_finalize_wait", delay * (size - 1));
    print_expected(name, size, 1, 4 * size);
  }
  return 0;
}
