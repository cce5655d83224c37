/* Clock readings of all ranks of a machine in memory that they share: MPI_Finalize is a call like
 * the others, and the last rank that has left it prints what is expected. Calls of this header are
 * made by PMPI_, so no tracer sees them. */
#ifndef REFRAIN_TEST_PROGRAMS_WAITS_BOARD_H_
#define REFRAIN_TEST_PROGRAMS_WAITS_BOARD_H_

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include "known.h"

enum { kMaxRanks = 16, kMaxCalls = 1024, kSums = 8, kInit = 0, kFinalize = 1, kFirst = 2 };

typedef struct {
  Call calls[kMaxRanks][kMaxCalls];
  int number[kMaxRanks][kMaxCalls]; /* a call's own: what it completed */
  int used[kMaxRanks];              /* calls of the rank */
  double sums[kMaxRanks][kSums];    /* what a rank knows alone */
  int ended;
} Board;

static Board* board;
static int rank, size;

/* Puts the readings around a statement into a place of this rank. After a sleep a thread has a new
 * slice of time: the scheduler does not take the core away between reading and call. The readings are
 * written afterwards: no page fault between them either. */
#define TIMED(place, statement)                         \
  do {                                                  \
    sleep_for(0.0002);                                  \
    const double enter_ = now();                        \
    statement;                                          \
    const double leave_ = now();                        \
    board->calls[rank][place] = (Call){enter_, leave_}; \
  } while (0)

/* The ranks stand together, without the tracer's knowledge. */
static inline void align(void) { PMPI_Barrier(MPI_COMM_WORLD); }

static inline Call call_of(int of, int place) { return board->calls[of][place]; }

static inline double latest_enter(const int* ranks, int n, int place) {
  double latest = 0;
  for (int i = 0; i < n; ++i) latest = larger(latest, call_of(ranks[i], place).enter);
  return latest;
}

static inline void expect_wait_at(const char* metric, const int* ranks, int n, int place) {
  const double latest = latest_enter(ranks, n, place);
  for (int i = 0; i < n; ++i) expect(metric, wait_in(call_of(ranks[i], place), latest));
}

static inline void expect_completion(const char* metric, const int* ranks, int n,
                                     int place) {
  double earliest = call_of(ranks[0], place).leave;
  for (int i = 1; i < n; ++i) earliest = smaller(earliest, call_of(ranks[i], place).leave);
  const double latest = latest_enter(ranks, n, place);
  for (int i = 0; i < n; ++i) {
    const Call call = call_of(ranks[i], place);
    expect(metric, larger(0, call.leave - larger(earliest, smaller(latest, call.leave))));
  }
}

/* `send`: the call that sends; `receive`: the one in which the message is received. */
static inline double late_sender(Call send, Call receive) {
  return wait_in(receive, send.enter);
}

/* `send`: the call in which the send completes; `receive`: the one that posts the receive. */
static inline double late_receiver(Call send, Call receive) {
  return send.leave > receive.enter ? wait_in(send, receive.enter) : 0;
}

static inline const int* all_ranks(void) {
  static int ranks[kMaxRanks];
  for (int i = 0; i < kMaxRanks; ++i) ranks[i] = i;
  return ranks;
}

/* MPI_Init; the board. */
static inline void begin(int* argc, char*** argv, int provide) {
  int provided = 0;
  sleep_for(0.0002);
  const double enter = now();
  if (provide == MPI_THREAD_SINGLE) MPI_Init(argc, argv);
  if (provide != MPI_THREAD_SINGLE) MPI_Init_thread(argc, argv, provide, &provided);
  const double leave = now();
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMaxRanks) {
    fprintf(stderr, "%s: more than %d ranks\n", (*argv)[0], kMaxRanks);
    PMPI_Abort(MPI_COMM_WORLD, 2);
  }
  char path[] = "/tmp/waits-board-XXXXXX";
  int file = -1;
  if (rank == 0) {
    file = mkstemp(path);
    if (file < 0 || ftruncate(file, sizeof *board) != 0) PMPI_Abort(MPI_COMM_WORLD, 2);
  }
  PMPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) file = open(path, O_RDWR);
  void* memory =
      file < 0 ? MAP_FAILED
               : mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    fprintf(stderr, "%s: ranks of one machine only\n", (*argv)[0]);
    PMPI_Abort(MPI_COMM_WORLD, 2);
  }
  close(file);
  board = memory;
  memset(board->calls[rank], 0, sizeof board->calls[rank]);
  board->calls[rank][kInit] = (Call){enter, leave};
  align();
  if (rank == 0) unlink(path);
}

/* MPI_Finalize; whether this rank was the last one to leave it. */
static inline int end(void) {
  TIMED(kFinalize, MPI_Finalize());
  return __atomic_add_fetch(&board->ended, 1, __ATOMIC_ACQ_REL) == size;
}

/* What init and finalize are expected to show. */
static inline void expect_ends(void) {
  expect_completion("mpi_init_completion", all_ranks(), size, kInit);
  expect_wait_at("mpi_finalize_wait", all_ranks(), size, kFinalize);
}

#endif /* REFRAIN_TEST_PROGRAMS_WAITS_BOARD_H_ */
