/* Cases of waits_mpi.c with collectives, and what makes their end late. */
#ifndef REFRAIN_TEST_PROGRAMS_WAITS_MPI_COLLECTIVES_H_
#define REFRAIN_TEST_PROGRAMS_WAITS_MPI_COLLECTIVES_H_

#include <signal.h>

#include "mpi_case.h"

/* --- Collectives ------------------------------------------------------------------------ */

static double sleep_of(const char* late, int i, int n, int root) {
  if (strcmp(late, "first") == 0) return i == 0 ? delay : 0;
  if (strcmp(late, "last") == 0) return i == n - 1 ? delay : 0;
  if (strcmp(late, "root") == 0) return i == root ? delay : 0;
  if (strcmp(late, "others") == 0) return i == root ? 0 : delay * (1 + i) / n;
  if (strcmp(late, "rising") == 0) return delay * (i + 1) / n;
  if (strcmp(late, "falling") == 0) return delay * (n - i) / n;
  return 0;
}

static int is_one_of(const char* op, const char* list) {
  const size_t n = strlen(op);
  for (const char* at = list; (at = strstr(at, op)); at += n)
    if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return 1;
  return 0;
}

static int is_from_root(const char* op) { return is_one_of(op, "bcast scatter scatterv"); }
static int is_to_root(const char* op) { return is_one_of(op, "reduce gather gatherv"); }
static int is_scan(const char* op) { return is_one_of(op, "scan exscan"); }

static void collective(const char* op, int place, MPI_Comm comm, int root, MPI_Op sum) {
  int n;
  MPI_Comm_size(comm, &n);
  int in[kMaxRanks] = {1}, out[kMaxRanks], counts[kMaxRanks], starts[kMaxRanks];
  for (int i = 0; i < n; ++i) counts[i] = 1, starts[i] = i;
  const MPI_Datatype t = MPI_INT;
  if (strcmp(op, "barrier") == 0) TIMED(place, MPI_Barrier(comm));
  if (strcmp(op, "allreduce") == 0) TIMED(place, MPI_Allreduce(in, out, 1, t, sum, comm));
  if (strcmp(op, "alltoall") == 0) TIMED(place, MPI_Alltoall(in, 1, t, out, 1, t, comm));
  if (strcmp(op, "alltoallv") == 0)
    TIMED(place, MPI_Alltoallv(in, counts, starts, t, out, counts, starts, t, comm));
  if (strcmp(op, "alltoallw") == 0) {
    MPI_Datatype types[kMaxRanks];
    int bytes[kMaxRanks];
    for (int i = 0; i < n; ++i) types[i] = t, bytes[i] = i * (int)sizeof(int);
    TIMED(place, MPI_Alltoallw(in, counts, bytes, types, out, counts, bytes, types, comm));
  }
  if (strcmp(op, "neighbor") == 0) {
    int lines[4 * kMaxRanks] = {1}, got[4 * kMaxRanks];
    TIMED(place, MPI_Neighbor_alltoall(lines, 1, t, got, 1, t, comm));
  }
  if (strcmp(op, "allgather") == 0) TIMED(place, MPI_Allgather(in, 1, t, out, 1, t, comm));
  if (strcmp(op, "allgatherv") == 0)
    TIMED(place, MPI_Allgatherv(in, 1, t, out, counts, starts, t, comm));
  if (strcmp(op, "reduce_scatter") == 0)
    TIMED(place, MPI_Reduce_scatter(in, out, counts, t, sum, comm));
  if (strcmp(op, "reduce_scatter_block") == 0)
    TIMED(place, MPI_Reduce_scatter_block(in, out, 1, t, sum, comm));
  if (strcmp(op, "bcast") == 0) TIMED(place, MPI_Bcast(in, 1, t, root, comm));
  if (strcmp(op, "scatter") == 0)
    TIMED(place, MPI_Scatter(in, 1, t, out, 1, t, root, comm));
  if (strcmp(op, "scatterv") == 0)
    TIMED(place, MPI_Scatterv(in, counts, starts, t, out, 1, t, root, comm));
  if (strcmp(op, "reduce") == 0) TIMED(place, MPI_Reduce(in, out, 1, t, sum, root, comm));
  if (strcmp(op, "gather") == 0) TIMED(place, MPI_Gather(in, 1, t, out, 1, t, root, comm));
  if (strcmp(op, "gatherv") == 0)
    TIMED(place, MPI_Gatherv(in, 1, t, out, counts, starts, t, root, comm));
  if (strcmp(op, "scan") == 0) TIMED(place, MPI_Scan(in, out, 1, t, sum, comm));
  if (strcmp(op, "exscan") == 0) TIMED(place, MPI_Exscan(in, out, 1, t, sum, comm));
}

/* Even and odd ranks; rank 0 is the root. */
static void run_coll_between(void) {
  MPI_Comm side, comm;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &comm);
  align();
  sleep_for(sleep_of(word[2], rank, size, 0));
  collective(word[1], kA, comm,
             rank == 0       ? MPI_ROOT
             : rank % 2 == 0 ? MPI_PROC_NULL
                             : 0,
             MPI_SUM);
  align();
  MPI_Comm_free(&comm);
  MPI_Comm_free(&side);
}

static void expect_coll_between(void) {
  const char* op = word[1];
  const int barrier = strcmp(op, "barrier") == 0;
  for (int half = 0; half < 2; ++half) {
    int own[kMaxRanks], others[kMaxRanks], n = 0, m = 0;
    for (int r = half; r < size; r += 2) own[n++] = r;
    for (int r = 1 - half; r < size; r += 2) others[m++] = r;
    const double latest = latest_enter(others, m, kA);
    double earliest = call_of(own[0], kA).leave;
    for (int i = 1; i < n; ++i) earliest = smaller(earliest, call_of(own[i], kA).leave);
    for (int i = 0; i < n; ++i) {
      const Call call = call_of(own[i], kA);
      if (is_from_root(op)) {
        if (half == 1) expect("mpi_latebroadcast", wait_in(call, call_of(0, kA).enter));
      } else if (is_to_root(op)) {
        if (own[i] == 0) expect("mpi_earlyreduce", wait_in(call, latest));
      } else {
        expect(barrier ? "mpi_barrier_wait" : "mpi_wait_nxn", wait_in(call, latest));
        expect(barrier ? "mpi_barrier_completion" : "mpi_nxn_completion",
               larger(0, call.leave - larger(earliest, smaller(latest, call.leave))));
      }
    }
  }
}

/* kA: begins; kB: completes. */
static void run_icoll(void) {
  int in[kMaxRanks] = {1}, out[kMaxRanks];
  const char* op = word[1];
  const int root = 1 % size;
  MPI_Request request;
  const MPI_Comm comm = MPI_COMM_WORLD;
  align();
  sleep_for(sleep_of(word[2], rank, size, root));
  if (strcmp(op, "barrier") == 0) TIMED(kA, MPI_Ibarrier(comm, &request));
  if (strcmp(op, "allreduce") == 0)
    TIMED(kA, MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, comm, &request));
  if (strcmp(op, "bcast") == 0) TIMED(kA, MPI_Ibcast(in, 1, MPI_INT, root, comm, &request));
  if (strcmp(op, "reduce") == 0)
    TIMED(kA, MPI_Ireduce(in, out, 1, MPI_INT, MPI_SUM, root, comm, &request));
  if (strcmp(op, "scan") == 0)
    TIMED(kA, MPI_Iscan(in, out, 1, MPI_INT, MPI_SUM, comm, &request));
  if (strcmp(op, "persistent") == 0) {
    MPI_Barrier_init(comm, MPI_INFO_NULL, &request);
    TIMED(kA, MPI_Start(&request));
  }
  sleep_for(0.2 * delay); /* work while the operation goes on */
  TIMED(kB, MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (strcmp(op, "persistent") == 0) MPI_Request_free(&request);
  align();
}

static void expect_icoll(void) {
  const char* op = word[1];
  const int root = 1 % size;
  double below = 0;
  for (int r = 0; r < size; ++r) {
    double until = latest_enter(all_ranks(), size, kA);
    if (is_from_root(op)) until = r == root ? 0 : call_of(root, kA).enter;
    if (is_to_root(op) && r != root) until = 0;
    if (is_scan(op)) until = below;
    below = larger(below, call_of(r, kA).enter);
    expect("mpi_nonblocking_collective_wait", wait_in(call_of(r, kB), until));
  }
  if (says(2, "last") && !is_from_root(op) && !is_to_root(op) && !is_scan(op))
    means("mpi_nonblocking_collective_wait", 0.8 * delay * (size - 1));
}

static void run_coll(void) {
  if (says(3, "inter")) {
    run_coll_between();
    return;
  }
  MPI_Comm comm = MPI_COMM_WORLD;
  int i = rank, n = size;
  if (says(3, "sub")) {
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    i = rank / 2, n = (size + 1 - rank % 2) / 2;
  }
  if (strcmp(word[1], "neighbor") == 0) {
    const int open_line = 0;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open_line, 0, &comm);
  }
  const int root = 1 % n;
  align();
  sleep_for(sleep_of(word[2], i, n, root));
  collective(word[1], kA, comm, root, MPI_SUM);
  align();
  if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
}

static void expect_coll_of(const int* ranks, int n) {
  const char* op = word[1];
  if (n < 2) return;
  const Call root = call_of(ranks[1 % n], kA);
  if (is_from_root(op)) {
    for (int i = 0; i < n; ++i)
      if (i != 1 % n)
        expect("mpi_latebroadcast", wait_in(call_of(ranks[i], kA), root.enter));
  } else if (is_to_root(op)) {
    double latest = 0;
    for (int i = 0; i < n; ++i)
      if (i != 1 % n) latest = larger(latest, call_of(ranks[i], kA).enter);
    expect("mpi_earlyreduce", wait_in(root, latest));
  } else if (is_scan(op)) {
    double latest = 0;
    for (int i = 0; i < n; ++i) {
      if (i > 0) expect("mpi_earlyscan", wait_in(call_of(ranks[i], kA), latest));
      latest = larger(latest, call_of(ranks[i], kA).enter);
    }
  } else {
    const int barrier = strcmp(op, "barrier") == 0;
    expect_wait_at(barrier ? "mpi_barrier_wait" : "mpi_wait_nxn", ranks, n, kA);
    expect_completion(barrier ? "mpi_barrier_completion" : "mpi_nxn_completion", ranks, n,
                      kA);
  }
}

static void expect_coll(void) {
  for (int r = 0; strcmp(word[1], "neighbor") == 0 && r < size; ++r) {
    double latest = 0;
    if (r > 0) latest = call_of(r - 1, kA).enter;
    if (r + 1 < size) latest = larger(latest, call_of(r + 1, kA).enter);
    expect("mpi_neighbor_wait", wait_in(call_of(r, kA), latest));
    if (r + 1 == size) return;
  }
  if (says(3, "inter")) {
    expect_coll_between();
    return;
  }
  if (!says(3, "sub")) {
    expect_coll_of(all_ranks(), size);
  } else {
    for (int half = 0; half < 2; ++half) {
      int ranks[kMaxRanks], n = 0;
      for (int r = half; r < size; r += 2) ranks[n++] = r;
      expect_coll_of(ranks, n);
    }
    return;
  }
  const char* op = word[1];
  const int one_late = says(2, "first") || says(2, "last") || (says(2, "root") && size > 1);
  if (one_late && !is_from_root(op) && !is_to_root(op) && !is_scan(op))
    means(strcmp(op, "barrier") == 0 ? "mpi_barrier_wait" : "mpi_wait_nxn",
          delay * (size - 1));
  if (says(2, "root") && is_from_root(op)) means("mpi_latebroadcast", delay * (size - 1));
  if (says(2, "first") && is_scan(op)) means("mpi_earlyscan", delay * (size - 1));
}

/* --- Completion: a rank that sleeps within a collective ----------------------------------- */

static void sleep_in_handler(int signal_number) {
  (void)signal_number;
  sleep_for(1.5 * delay);
}

static void sleep_in_sum(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((int*)inout)[i] += ((int*)in)[i];
  if (rank == 0) sleep_for(delay);
}

/* Barrier: the last rank comes first, and a signal makes it sleep beyond the others' end. */
static void run_completion(void) {
  MPI_Op sum = MPI_SUM;
  const int barrier = says(1, "barrier");
  if (!barrier) MPI_Op_create(sleep_in_sum, 1, &sum);
  signal(SIGUSR1, sleep_in_handler);
  timer_t timer;
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  align();
  const int first = barrier ? size - 1 : 0;
  if (barrier && rank == first) {
    struct itimerspec at = {{0, 0}, {0, (long)(0.5 * delay * 1e9)}};
    timer_settime(timer, 0, &at, NULL);
  }
  if (rank != first) sleep_for(delay);
  collective(word[1], kA, MPI_COMM_WORLD, 0, sum);
  align();
  timer_delete(timer);
  if (!barrier) MPI_Op_free(&sum);
}

static void expect_completion_case(void) {
  const int barrier = says(1, "barrier");
  expect_wait_at(barrier ? "mpi_barrier_wait" : "mpi_wait_nxn", all_ranks(), size, kA);
  expect_completion(barrier ? "mpi_barrier_completion" : "mpi_nxn_completion", all_ranks(),
                    size, kA);
  if (size == 2) means(barrier ? "mpi_barrier_completion" : "mpi_nxn_completion", delay);
}

#endif /* REFRAIN_TEST_PROGRAMS_WAITS_MPI_COLLECTIVES_H_ */
