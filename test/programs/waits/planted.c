/* A program with one planted cause of waiting, or two, that knows what it costs.
 *
 *     planted CAUSE ITERATIONS US [fixed]
 *
 * An iteration is US microseconds of computation on each rank, then an Allreduce. CAUSE says what is wrong:
 *     rank     rank 1 rebuilds a list in each iteration, which takes one and a half times as long as its computation
 *     clock    the same, and ranks read MPI_Wtime until their work is done
 *     since    from the middle of the run on
 *     every    in every tenth iteration, and takes fifteen times as long
 *     growing  more and more
 *     rare     in each one, but ranks meet in every tenth only
 *     chain    rank 0 does it, and the others get their data one from the other
 *     io       rank 1 writes to a file, in a region of time as long as that
 *     file     rank 1 writes to a file by large calls, as long as that
 *     faults   rank 1 touches new memory, as long as that
 *     small    nothing but many Allreduces
 *     barrier  many small steps, which take ranks in turn longer, each with a barrier after it; nobody has more in all
 *     turns    two halves with a barrier between them, of which even ranks have more in the one, odd ranks in the other
 *     pairs    as rank, but even ranks and odd ranks have an operation of their own before that of all
 *     order    even ranks compute parts and send each to the next rank, which receives the last one first, and then computes
 *     link     what rank 1 sends to its neighbour takes long
 *     core     ranks compute on one core
 *     thread   thread 1 has more work in a parallel region
 *     lock     threads of a parallel region do most of their work in a critical section
 *     mutex    POSIX threads, as many as OpenMP would have: one rebuilds a list with a lock held that the others need
 *     serial   what is done before the parallel region threads could share; fixed, it takes as long as if they did
 *     phases   no loop: rank 0 has more work in the second of eight iterations, rank 1 in the sixth
 *     rank+serial, io+growing   both; growing is on rank 2 then
 *     none, ring, bcast, nonblocking, varying, regions   nothing is: computation alone, with other communication, longer at times but
 *              on all ranks, with parallel regions
 * Fixed: without it. Compiled with -DWITH_MPI, or without for what has none. MPI_Send is slow only where it is a tool's, which
 * calls PMPI_Send.
 *
 * Rank 0 prints one line of JSON: from readings of its own clock around what is not MPI, seconds of all threads that are
 * lost to the cause (of two, to each, in a list), what the loop would gain without it, and what it took.
 * disturbed: a busy machine has added more than a tenth of the computation; with none, or MPI has taken, more than a fiftieth. */
#define _GNU_SOURCE
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "known.h"

enum { kMax = 20000, kMostThreads = 16, kMostRanks = 16 };
enum { kParts = 20, kPartTag = 100, kSmallCalls = 50 };

static const char* cause = "none";
static int rank = 0, ranks = 1, is_fixed;
static double unit; /* seconds */
static double iteration_mpi, all_mpi;
static double work[kMax];  /* of this rank, outside of MPI */
static double asked[kMax]; /* the same, as it should be */
static double threads_work[kMax][kMostThreads];
static double threads_end[kMax][kMostThreads];
static double threads_begin[kMax][kMostThreads];
static double region_begin[kMax];
static double serial[kMax];

static int is(const char* name) { return strcmp(cause, name) == 0; }

/* Sleeps, but for the end: cores are few. */
NOINLINE static void wait_for(double seconds) {
#ifdef WITH_MPI
  if (is("clock")) {
    const double until = MPI_Wtime() + seconds;
    while (MPI_Wtime() < until) continue;
    return;
  }
#endif
  const double end = now() + seconds;
  for (double left; (left = end - now()) > 0;)
    if (left > 400e-6) sleep_for(left - 300e-6);
}

/* On a core. */
NOINLINE static void spin_for(double seconds) {
  struct timespec at;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  const double end = (double)at.tv_sec + 1e-9 * (double)at.tv_nsec + seconds;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  while ((double)at.tv_sec + 1e-9 * (double)at.tv_nsec < end);
}

NOINLINE static void compute(double seconds) {
  wait_for(seconds);
  __asm__ volatile("");
}

NOINLINE static void rebuild_list(double seconds) {
  wait_for(seconds);
  __asm__ volatile("");
}

NOINLINE static void checkpoint(double seconds) {
  FILE* file = tmpfile();
  if (file == NULL) abort();
  const double end = now() + seconds;
  while (now() < end) fwrite("checkpoint", 1, 10, file);
  fclose(file);
}

/* checkpoint.dat, of which no name is left. */
static int open_file(void) {
  char path[4096];
  const char* const folder = getenv("TMPDIR");
  snprintf(path, sizeof path - 16, "%s/planted-XXXXXX", folder != NULL ? folder : "/tmp");
  if (mkdtemp(path) == NULL) abort();
  char* const end = path + strlen(path);
  strcpy(end, "/checkpoint.dat");
  const int file = open(path, O_CREAT | O_WRONLY, 0600);
  if (file < 0 || unlink(path) != 0) abort();
  *end = 0;
  if (rmdir(path) != 0) abort();
  return file;
}

NOINLINE static void write_file(double seconds) {
  enum { kBytes = 8 << 20 };
  static char data[kBytes];
  static int file = -1;
  const double end = now() + seconds;
  if (file < 0) file = open_file();
  while (now() < end)
    if (pwrite(file, data, kBytes, 0) != kBytes) abort();
}

NOINLINE static void new_memory(double seconds) {
  enum { kBytes = 1 << 18, kPage = 4096 };
  const double end = now() + seconds;
  while (now() < end) {
    volatile char* at =
        mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) abort();
    for (int i = 0; i < kBytes && now() < end; i += kPage) at[i] = 1;
    munmap((void*)at, kBytes);
  }
}

#ifdef WITH_MPI
static double mpi_begin;
static double slow_send; /* seconds, of PMPI_Send */
static void begin_mpi(void) { mpi_begin = now(); }
static void end_mpi(void) { iteration_mpi += now() - mpi_begin; }

/* What a tool's MPI_Send calls. */
int PMPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm) {
  if (slow_send > 0) wait_for(slow_send);
  MPI_Request request;
  const int error = PMPI_Isend(data, count, type, to, tag, comm, &request);
  return error != MPI_SUCCESS ? error : PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void sum(void) {
  begin_mpi();
  double mine = 1, all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  end_mpi();
}

static void pass_on(void) {
  begin_mpi();
  char data[8] = {0};
  if (rank > 0) MPI_Recv(data, 8, MPI_CHAR, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank + 1 < ranks) MPI_Send(data, 8, MPI_CHAR, rank + 1, 0, MPI_COMM_WORLD);
  end_mpi();
}

static void to_neighbour(void) {
  begin_mpi();
  char data[8] = {0};
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  if (is("nonblocking")) {
    MPI_Request both[2];
    char other[8];
    MPI_Irecv(other, 8, MPI_CHAR, before, 0, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(data, 8, MPI_CHAR, next, 0, MPI_COMM_WORLD, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  } else if (is("ring")) {
    char other[8];
    MPI_Sendrecv(data, 8, MPI_CHAR, next, 0, other, 8, MPI_CHAR, before, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  } else {
    slow_send = rank == 1 && !is_fixed ? 1.5 * unit : 0;
    MPI_Send(data, 8, MPI_CHAR, next, 0, MPI_COMM_WORLD);
    MPI_Recv(data, 8, MPI_CHAR, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    slow_send = 0;
  }
  end_mpi();
}

/* Nobody waits for it. */
static void to_itself(void) {
  begin_mpi();
  char data[8] = {0}, other[8];
  MPI_Sendrecv(data, 8, MPI_CHAR, 0, 1, other, 8, MPI_CHAR, 0, 1, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  end_mpi();
}

static void broadcast(void) {
  begin_mpi();
  double data = 1;
  MPI_Bcast(&data, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  end_mpi();
}

static void meet(void) {
  if (is_fixed) return;
  begin_mpi();
  MPI_Barrier(MPI_COMM_WORLD);
  end_mpi();
}

/* As much for each rank in the end. */
static void steps(void) {
  const int number = kParts / ranks * ranks;
  for (int step = 0; step < number; ++step) {
    compute((step % ranks == rank ? ranks : 0.25) * unit / number);
    meet();
  }
}

/* Of ranks that are even, or odd. */
static MPI_Comm half;
static void sum_of_half(void) {
  double part = 1, all;
  begin_mpi();
  MPI_Allreduce(&part, &all, 1, MPI_DOUBLE, MPI_SUM, half); /* of half */
  end_mpi();
}

static void halves(void) {
  compute((rank % 2 == 0 ? 1.5 : 0.5) * unit);
  meet();
  compute((rank % 2 == 0 ? 0.5 : 1.5) * unit);
}

static void parts(void) {
  const int sends = rank % 2 == 0, partner = sends ? rank + 1 : rank - 1;
  char data[8] = {0};
  for (int part = 0; part < kParts; ++part) {
    if (sends) compute(unit / kParts);
    if (partner == ranks) continue;
    begin_mpi();
    if (sends)
      MPI_Send(data, 8, MPI_CHAR, partner, kPartTag + part, MPI_COMM_WORLD);
    else
      MPI_Recv(data, 8, MPI_CHAR, partner, kPartTag + (is_fixed ? part : kParts - 1 - part),
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    end_mpi();
    if (!sends) compute(unit / kParts);
  }
}
#else
static void sum(void) {}
static void pass_on(void) {}
static void to_neighbour(void) {}
static void broadcast(void) {}
static void to_itself(void) {}
static void steps(void) {}
static void halves(void) {}
static void sum_of_half(void) {}
static void parts(void) {}
#endif

/* What this rank does more than the others. */
static double planted(int i, int n) {
  if (is_fixed) return 0;
  if (is("chain")) return rank == 0 ? 1.5 * unit : 0;
  if (is("phases")) return (i == 1 && rank == 0 ? 40 : i == 5 && rank == 1 ? 30 : 0) * unit;
  if (is("io+growing") && rank == 2) return 3 * unit * i / n;
  if (rank != 1) return 0;
  if (is("rank") || is("clock") || is("rare") || is("pairs") || is("io") || is("file") ||
      is("faults") || is("rank+serial") || is("io+growing"))
    return 1.5 * unit;
  if (is("since")) return i >= n / 2 ? 1.5 * unit : 0;
  if (is("every")) return i % 10 == 9 ? 15 * unit : 0;
  if (is("growing")) return 3 * unit * i / n;
  return 0;
}

static void more_work(double seconds) {
  if (is("io") || (is("io+growing") && rank == 1))
    checkpoint(seconds);
  else if (is("file"))
    write_file(seconds);
  else if (is("faults"))
    new_memory(seconds);
  else
    rebuild_list(seconds);
}

static int has_serial(void) { return is("serial") || is("rank+serial"); }
static int has_region(void) { /* of OpenMP */
  return has_serial() || is("thread") || is("lock") || is("regions");
}

NOINLINE static void region(int i) {
  region_begin[i] = now();
#pragma omp parallel
  {
    const double begin = now();
    const int thread = omp_get_thread_num();
    wait_for(is("lock") ? unit / 2 : unit);
    if (is("thread") && thread == 1 && !is_fixed) wait_for(1.5 * unit);
    double waited = 0;
    if (is("lock")) {
      const double before = now();
      if (is_fixed) {
        wait_for(unit);
      } else {
#pragma omp critical(list)
        {
          waited = now() - before;
          wait_for(unit);
        }
      }
    }
    threads_begin[i][thread] = begin;
    threads_end[i][thread] = now();
    threads_work[i][thread] = threads_end[i][thread] - begin - waited;
  }
}

/* POSIX threads of one iteration. The first one takes the lock at once; fixed, only when the list is there. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long list_version;

static void done_by_thread(intptr_t thread, int i, double begin, double waited) {
  threads_begin[i][thread] = begin;
  threads_end[i][thread] = now();
  threads_work[i][thread] = threads_end[i][thread] - begin - waited;
}

static int current; /* iteration */

NOINLINE static void* renew_list(void* thread) {
  const double begin = now();
  if (is_fixed) wait_for(1.5 * unit);
  pthread_mutex_lock(&list_lock); /* to renew it */
  if (!is_fixed) wait_for(1.5 * unit);
  ++list_version;
  pthread_mutex_unlock(&list_lock);
  wait_for(unit / 2);
  done_by_thread((intptr_t)thread, current, begin, 0);
  return NULL;
}

NOINLINE static void* use_list(void* thread) {
  const double begin = now();
  wait_for(unit / 2);
  const double before = now();
  pthread_mutex_lock(&list_lock); /* to use it */
  const double waited = now() - before;
  ++list_version;
  pthread_mutex_unlock(&list_lock);
  wait_for(1.5 * unit);
  done_by_thread((intptr_t)thread, current, begin, waited);
  return NULL;
}

NOINLINE static void posix_threads(int i) {
  pthread_t all[kMostThreads];
  const int threads = omp_get_max_threads();
  region_begin[i] = now();
  current = i;
  for (intptr_t t = 0; t < threads; ++t)
    if (pthread_create(&all[t], NULL, t == 0 ? renew_list : use_list, (void*)t) != 0)
      abort();
  for (int t = 0; t < threads; ++t) pthread_join(all[t], NULL);
}

NOINLINE static void iterate(int i, int n) {
  const double begin = now();
  iteration_mpi = 0;
  const double more = planted(i, n);
  double own = is("varying") ? unit * (0.5 + (i * 7 % 10) / 10.0) : unit;
  if (is("lock") || is("mutex") || is("regions")) own = 0;
  const double part = is("serial") && is_fixed ? 1.0 / omp_get_max_threads() : 1;
  asked[i] = own + more;
  if (is("barrier")) {
    own = (1 + 0.25 * (ranks - 1) / ranks) * unit;
    asked[i] = own;
    steps();
  } else if (is("turns")) {
    asked[i] = 2 * unit;
    halves();
  } else if (is("order")) {
    parts();
  } else if (is("core")) {
    spin_for(unit);
  } else {
    compute(own * part);
  }
  if (more > 0) {
    const double before = now();
    more_work(more);
    if (is("file")) asked[i] += now() - before - more; /* a call ends when it does */
  }
  if (is("chain")) pass_on();
  if (is("link") || is("ring") || is("nonblocking")) to_neighbour();
  if (is("bcast")) broadcast();
  if (has_serial()) rebuild_list(1.5 * unit * part);
  serial[i] = now() - begin;
  if (has_region()) region(i);
  if (is("mutex")) posix_threads(i);
  int calls = is("small") && !is_fixed ? kSmallCalls : 1;
  if (is("rare")) {
    to_itself();
    calls = i % 10 == 9;
  }
  if (is("pairs")) sum_of_half();
  for (; calls > 0; --calls) sum();
  work[i] = now() - begin - iteration_mpi;
  all_mpi += iteration_mpi;
}

typedef struct {
  double lost, gain, disturbance;
} Costs;

static void phases(void) {
  enum { kPhases = 8 };
  iterate(0, kPhases);
  iterate(1, kPhases);
  iterate(2, kPhases);
  iterate(3, kPhases);
  iterate(4, kPhases);
  iterate(5, kPhases);
  iterate(6, kPhases);
  iterate(7, kPhases);
}

/* all: work of all ranks, each n, of which these from `first` to `end` count; and what was asked for. */
static Costs costs_of_ranks(const double* all, const double* wanted, int n, int first,
                            int end, int causer) {
  Costs costs = {0, 0, 0};
  for (int i = first; i < end; ++i) {
    double most = 0, others = 0;
    for (int r = 0; r < ranks; ++r) {
      most = larger(most, all[r * n + i]);
      if (r != causer) others = larger(others, all[r * n + i]);
      costs.disturbance += larger(0, all[r * n + i] - wanted[r * n + i]);
    }
    for (int r = 0; r < ranks; ++r) costs.lost += most - all[r * n + i];
    costs.gain += most - others;
  }
  return costs;
}

/* Of this rank. */
static Costs costs_of_threads(int n) {
  Costs costs = {0, 0, 0};
  const int threads = omp_get_max_threads();
  const double each = is("lock") ? 1.5 * unit : unit;
  for (int i = 0; i < n; ++i) {
    double end = 0;
    for (int t = 0; t < threads; ++t) {
      end = larger(end, threads_end[i][t]);
      costs.disturbance +=
          threads_work[i][t] - (is("thread") && t == 1 && !is_fixed ? 2.5 * unit : each);
    }
    if (has_serial()) {
      const double all = serial[i] - planted(i, n);
      costs.lost += all * (threads - 1);
      costs.gain += all * (threads - 1) / threads;
    } else {
      double last_of_others = 0, late = 0; /* ends; begins */
      for (int t = 0; t < threads; ++t) {
        costs.lost += end - threads_end[i][t];
        if (t != 1) last_of_others = larger(last_of_others, threads_end[i][t]);
        late += threads_begin[i][t] - region_begin[i];
      }
      if (is("lock")) {
        for (int t = 0; t < threads; ++t)
          costs.lost += threads_end[i][t] - threads_begin[i][t] - threads_work[i][t];
      } else {
        costs.gain += end - last_of_others;
      }
      if (is("regions")) costs.disturbance += late;
    }
    if (has_serial())
      costs.disturbance +=
          serial[i] - planted(i, n) - 2.5 * unit / (is("serial") && is_fixed ? threads : 1);
  }
  if (is("lock")) costs.gain = costs.lost / threads;
  return costs;
}

/* The same of POSIX threads, of which all but one wait. */
static Costs costs_of_mutex(int n) {
  Costs costs = {0, 0, 0};
  const int threads = omp_get_max_threads();
  for (int i = 0; i < n; ++i)
    for (int t = 0; t < threads; ++t) {
      costs.lost += threads_end[i][t] - threads_begin[i][t] - threads_work[i][t];
      costs.disturbance += threads_work[i][t] - 2 * unit;
    }
  costs.gain = costs.lost / larger(1, threads - 1);
  return costs;
}

/* Seconds of an iteration that all ranks wait in MPI for what no rank has more to do. */
static double planted_waits(void) {
  if (is("barrier") && !is_fixed)
    return ranks * (ranks - 1 - 0.25 * (ranks - 1) / ranks) * unit;
  if (is("turns")) return is_fixed ? 0 : ranks * unit;
  if (is("order")) return (is_fixed ? 1.0 / kParts : 1) * ranks * unit;
  return is("link") && !is_fixed ? ranks * 1.5 * unit : 0;
}

static void print_costs(const char* name, const Costs* each, int number, int gain) {
  printf("\"%s\": ", name);
  for (int i = 0; i < number; ++i)
    printf("%s%.6f",
           i > 0        ? ", "
           : number > 1 ? "["
                        : "",
           gain ? each[i].gain : each[i].lost);
  printf("%s, ", number > 1 ? "]" : "");
}

int main(int argc, char** argv) {
  if (argc > 1) cause = argv[1];
  if (is("core")) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    if (argc <= 4) sched_setaffinity(0, sizeof one, &one);
  }
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (is("pairs")) MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
#endif
  const int n = (int)argument(argc, argv, 2, 100, 1);
  unit = (double)argument(argc, argv, 3, 1000, 1) * 1e-6;
  is_fixed = argc > 4;
  if (n > kMax || ranks > kMostRanks || omp_get_max_threads() > kMostThreads) return 2;
#ifdef WITH_MPI
  PMPI_Barrier(MPI_COMM_WORLD); /* nobody waits for who begins later */
#endif
  const double begin = now();
  if (is("phases"))
    phases();
  else
    for (int i = 0; i < n; ++i) iterate(i, n);
  const double took = now() - begin;
  Costs costs[2] = {{0, 0, 0}, {0, 0, 0}};
  int number = 1;
  double mpi = all_mpi;
  double* all = work;
  double* wanted = asked;
#ifdef WITH_MPI
  all = malloc(sizeof *all * (size_t)(n * ranks));
  wanted = malloc(sizeof *wanted * (size_t)(n * ranks));
  PMPI_Gather(work, n, MPI_DOUBLE, all, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  PMPI_Gather(asked, n, MPI_DOUBLE, wanted, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  PMPI_Reduce(&all_mpi, &mpi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
#endif
  const int half = is("phases") ? n / 2 : n;
  costs[0] = costs_of_ranks(all, wanted, n, 0, half, is("chain") || half < n ? 0 : 1);
  const int has_threads = has_region() || is("mutex");
  if (has_threads) {
    costs[number - 1 + is("rank+serial")] =
        is("mutex") ? costs_of_mutex(n) : costs_of_threads(n);
    if (is("rank+serial")) { /* threads wait for rank 1, on both ranks */
      const int threads = omp_get_max_threads();
      costs[0].lost = costs[0].lost * threads + costs[0].gain * (threads - 1);
      ++number;
    }
#ifdef WITH_MPI
    Costs* const of_threads = &costs[number - 1];
    Costs sums = *of_threads;
    PMPI_Reduce(&of_threads->lost, &sums.lost, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Reduce(&of_threads->disturbance, &sums.disturbance, 1, MPI_DOUBLE, MPI_SUM, 0,
                MPI_COMM_WORLD);
    *of_threads = sums;
#endif
    costs[0].disturbance = costs[number - 1].disturbance;
  } else if (is("io+growing")) {
    costs[number++] = costs_of_ranks(all, wanted, n, 0, n, 2);
  } else if (is("phases")) {
    costs[number++] = costs_of_ranks(all, wanted, n, half, n, 1);
    costs[0].disturbance += costs[1].disturbance;
  } else if (is("small") || is("barrier") || is("turns") || is("order") || is("link")) {
    costs[0].lost = mpi; /* nobody has more work */
    costs[0].gain = mpi / ranks;
  }
  const int nothing = is("none") || is("ring") || is("bcast") || is("nonblocking") ||
                      is("varying") || is("regions");
  /* More in MPI than waits for what is planted, and calls take. */
  const double waits = planted_waits() > 0 ? planted_waits() * n
                       : is("phases")      ? costs[0].lost + costs[1].lost
                                           : costs[0].lost;
  if (nothing)
    costs[0].disturbance += mpi;
  else if (!has_threads && !is("small") && !is("core"))
    costs[0].disturbance += larger(0, mpi - waits * 1.3);
  const double limit = (nothing ? 0.02 : 0.1) * n * unit *
                       (has_threads && !nothing ? omp_get_max_threads() : 1) * ranks;
  const int is_disturbed = !is("core") && costs[0].disturbance > limit;
  if (rank == 0) {
    printf("{\"cause\": \"%s\", ", cause);
    print_costs("lost", costs, number, 0);
    print_costs("gain", costs, number, 1);
    printf("\"seconds\": %.6f, \"disturbed\": %s}\n", took,
           is_disturbed ? "true" : "false");
  }
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}
