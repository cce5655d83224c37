/* Cases of waits_mpi.c with messages between two or three ranks. */
#ifndef REFRAIN_TEST_PROGRAMS_WAITS_MPI_MESSAGES_H_
#define REFRAIN_TEST_PROGRAMS_WAITS_MPI_MESSAGES_H_

#include "mpi_case.h"

static char large[kLarge];

/* --- Two ranks, one message ------------------------------------------------------------- */

static MPI_Comm pair_comm;
static int partner;

static void make_pairs(void) {
  pair_comm = MPI_COMM_WORLD;
  partner = rank ^ 1;
  if (says(4, "sub")) {
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &pair_comm);
    partner = rank % 2; /* the odd rank is 0 */
  } else if (says(4, "inter")) {
    MPI_Comm side;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &pair_comm);
    partner = rank / 2;
    MPI_Comm_free(&side);
  }
}

/* kA: the call that sends. kB: the one in which the send completes. */
static void send_one(void) {
  int value = 1;
  MPI_Request request;
  const char* how = word[1];
  if (strcmp(how, "bsend") == 0) {
    static char room[1024 + MPI_BSEND_OVERHEAD];
    MPI_Buffer_attach(room, sizeof room);
    TIMED(kA, MPI_Bsend(&value, 1, MPI_INT, partner, 7, pair_comm));
    void* detached;
    int bytes;
    MPI_Buffer_detach(&detached, &bytes);
  } else if (strcmp(how, "isend") == 0 || strcmp(how, "issend") == 0) {
    if (strcmp(how, "isend") == 0)
      TIMED(kA, MPI_Isend(&value, 1, MPI_INT, partner, 7, pair_comm, &request));
    else
      TIMED(kA, MPI_Issend(&value, 1, MPI_INT, partner, 7, pair_comm, &request));
    TIMED(kB, MPI_Wait(&request, MPI_STATUS_IGNORE));
    return;
  } else if (strcmp(how, "start") == 0) {
    MPI_Send_init(&value, 1, MPI_INT, partner, 7, pair_comm, &request);
    TIMED(kA, MPI_Start(&request));
    TIMED(kB, MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Request_free(&request);
    return;
  } else if (strcmp(how, "partitioned") == 0) {
    MPI_Psend_init(&value, 1, 1, MPI_INT, partner, 7, pair_comm, MPI_INFO_NULL, &request);
    TIMED(kA, MPI_Start(&request));
    MPI_Pready(0, request);
    TIMED(kB, MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Request_free(&request);
    return;
  } else if (strcmp(how, "ssend") == 0) {
    TIMED(kA, MPI_Ssend(&value, 1, MPI_INT, partner, 7, pair_comm));
  } else if (strcmp(how, "large") == 0) {
    TIMED(kA, MPI_Send(large, kLarge, MPI_CHAR, partner, 7, pair_comm));
  } else {
    TIMED(kA, MPI_Send(&value, 1, MPI_INT, partner, 7, pair_comm));
  }
  board->calls[rank][kB] = board->calls[rank][kA];
}

/* kA: the call in which the message is received. kB: the one that posts the receive. */
static void receive_one(void) {
  MPI_Request request;
  MPI_Status status;
  const char* how = word[2];
  const int source = strcmp(how, "any") == 0 ? MPI_ANY_SOURCE : partner;
  int flag = 0, index, indices[1];
  if (strcmp(how, "recv") == 0 || strcmp(how, "any") == 0) {
    TIMED(kA, MPI_Recv(large, kLarge, MPI_CHAR, source, 7, pair_comm, MPI_STATUS_IGNORE));
    board->calls[rank][kB] = board->calls[rank][kA];
    return;
  }
  if (strcmp(how, "probe") == 0) {
    MPI_Probe(source, 7, pair_comm, &status);
    TIMED(kA, MPI_Recv(large, kLarge, MPI_CHAR, source, 7, pair_comm, &status));
    board->calls[rank][kB] = board->calls[rank][kA];
    return;
  }
  if (strcmp(how, "mrecv") == 0) {
    MPI_Message message;
    MPI_Mprobe(source, 7, pair_comm, &message, &status);
    TIMED(kA, MPI_Mrecv(large, kLarge, MPI_CHAR, &message, &status));
    board->calls[rank][kB] = board->calls[rank][kA];
    return;
  }
  if (strcmp(how, "start") == 0 || strcmp(how, "partitioned") == 0) {
    if (strcmp(how, "partitioned") == 0)
      MPI_Precv_init(large, 1, 1, MPI_INT, source, 7, pair_comm, MPI_INFO_NULL, &request);
    else
      MPI_Recv_init(large, kLarge, MPI_CHAR, source, 7, pair_comm, &request);
    TIMED(kB, MPI_Start(&request));
    TIMED(kA, MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Request_free(&request);
    return;
  }
  TIMED(kB, MPI_Irecv(large, kLarge, MPI_CHAR, source, 7, pair_comm, &request));
  if (strcmp(how, "posted") == 0) sleep_for(delay);
  if (strcmp(how, "waitall") == 0)
    TIMED(kA, MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
  else if (strcmp(how, "waitany") == 0)
    TIMED(kA, MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
  else if (strcmp(how, "waitsome") == 0)
    TIMED(kA, MPI_Waitsome(1, &request, &flag, indices, MPI_STATUSES_IGNORE));
  else if (strcmp(how, "test") == 0)
    for (; !flag; sleep_for(0.001)) TIMED(kA, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  else
    TIMED(kA, MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void run_p2p(void) {
  make_pairs();
  align();
  const int sends = rank % 2 == 0;
  if (says(3, sends ? "sender" : "receiver")) sleep_for(delay);
  if (sends) send_one();
  if (!sends) receive_one();
  align();
  if (pair_comm != MPI_COMM_WORLD) MPI_Comm_free(&pair_comm);
}

static int sends_wait(void) {
  return says(1, "ssend") || says(1, "large") || says(1, "issend");
}

static void expect_p2p(void) {
  for (int r = 0; r < size; r += 2) {
    if (!says(2, "test"))
      expect("mpi_latesender", late_sender(call_of(r, kA), call_of(r + 1, kA)));
    if (!says(1, "bsend"))
      expect("mpi_latereceiver", late_receiver(call_of(r, kB), call_of(r + 1, kB)));
  }
  const double all = delay * size / 2;
  const int early =
      says(3, "sender") && !says(2, "test") && !says(2, "probe") && !says(2, "mrecv");
  if (early && !says(2, "posted")) means("mpi_latesender", all);
  if (says(3, "receiver") && sends_wait()) means("mpi_latereceiver", all);
  if (says(3, "receiver") && says(1, "large")) leave_open("mpi_latesender");
  /* A late send of this size is in the receive, too: the rest of the transfer. */
}

/* --- Two messages ----------------------------------------------------------------------- */

static void run_many(void) {
  int values[2] = {1, 2};
  MPI_Request requests[2];
  const int issends = says(1, "issends");
  align();
  if (rank % 2 == 0 && issends) {
    for (int i = 0; i < 2; ++i)
      MPI_Issend(&values[i], 1, MPI_INT, rank + 1, i, MPI_COMM_WORLD, &requests[i]);
    TIMED(kA, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  } else if (rank % 2 == 0) {
    for (int i = 0; i < 2; ++i) {
      sleep_for(delay);
      TIMED(kA + i, MPI_Send(&values[i], 1, MPI_INT, rank + 1, i, MPI_COMM_WORLD));
    }
  } else if (issends) {
    for (int i = 0; i < 2; ++i) {
      sleep_for(delay);
      TIMED(kA + i, MPI_Recv(&values[i], 1, MPI_INT, rank - 1, i, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE));
    }
  } else {
    for (int i = 0; i < 2; ++i)
      MPI_Irecv(&values[i], 1, MPI_INT, rank - 1, i, MPI_COMM_WORLD, &requests[i]);
    int place = kA, left = 2;
    for (; left > 0; ++place) {
      int number = 2, indices[2] = {0, 1};
      if (says(1, "waitall"))
        TIMED(place, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      else if (says(1, "waitsome"))
        TIMED(place, MPI_Waitsome(2, requests, &number, indices, MPI_STATUSES_IGNORE));
      else {
        number = 1;
        TIMED(place, MPI_Waitany(2, requests, indices, MPI_STATUS_IGNORE));
      }
      int mask = 0;
      for (int i = 0; i < number; ++i) mask |= 1 << indices[i];
      board->number[rank][place] = mask;
      left -= number;
    }
    board->used[rank] = place;
  }
  align();
}

static void expect_many(void) {
  for (int r = 0; r < size; r += 2) {
    if (says(1, "issends")) {
      double longest = 0;
      for (int i = 0; i < 2; ++i)
        longest = larger(longest, late_receiver(call_of(r, kA), call_of(r + 1, kA + i)));
      expect("mpi_latereceiver", longest);
      continue;
    }
    for (int place = kA; place < board->used[r + 1]; ++place) {
      double longest = 0;
      for (int i = 0; i < 2; ++i)
        if (board->number[r + 1][place] & 1 << i)
          longest = larger(longest, late_sender(call_of(r, kA + i), call_of(r + 1, place)));
      expect("mpi_latesender", longest);
    }
  }
  means(says(1, "issends") ? "mpi_latereceiver" : "mpi_latesender", delay * size);
}

static void run_sendrecv(void) {
  int out = rank, in;
  align();
  if (rank % 2) sleep_for(delay);
  TIMED(kA, MPI_Sendrecv(&out, 1, MPI_INT, rank ^ 1, 7, &in, 1, MPI_INT, rank ^ 1, 7,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  align();
}

static void expect_sendrecv(void) {
  for (int r = 0; r < size; ++r)
    expect("mpi_latesender", late_sender(call_of(r ^ 1, kA), call_of(r, kA)));
  means("mpi_latesender", delay * size / 2);
  leave_open(
      "mpi_latereceiver"); /* whether it waits as sender or as receiver is not to be seen */
}

/* Ranks 0 to 2: two messages for rank 2, a receive that waits for the one sent later. */
static void run_order(void) {
  int value = 1;
  const int same = says(1, "same");
  const int first_by = 0, later_by = same ? 0 : 1;
  align();
  if (rank == first_by) TIMED(kA, MPI_Send(&value, 1, MPI_INT, 2, 1, MPI_COMM_WORLD));
  if (rank == later_by) {
    sleep_for(1.5 * delay);
    TIMED(kB, MPI_Send(&value, 1, MPI_INT, 2, 2, MPI_COMM_WORLD));
  }
  if (rank == 2) {
    sleep_for(0.5 * delay);
    if (says(1, "right"))
      TIMED(kA,
            MPI_Recv(&value, 1, MPI_INT, first_by, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    TIMED(kB, MPI_Recv(&value, 1, MPI_INT, later_by, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (!says(1, "right"))
      TIMED(kA,
            MPI_Recv(&value, 1, MPI_INT, first_by, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  align();
}

static void expect_order(void) {
  const int same = says(1, "same");
  const double wait = late_sender(call_of(same ? 0 : 1, kB), call_of(2, kB));
  expect("mpi_latesender", wait + late_sender(call_of(0, kA), call_of(2, kA)));
  means("mpi_latesender", delay);
  if (says(1, "right")) return;
  expect("mpi_latesender_wo", wait);
  expect(same ? "mpi_lswo_same" : "mpi_lswo_different", wait);
}

#endif /* REFRAIN_TEST_PROGRAMS_WAITS_MPI_MESSAGES_H_ */
