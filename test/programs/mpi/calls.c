/* One call of many kinds, for the events that each gives. Prints its result. A library of MPI-3 has plain messages
 * instead of those that came with MPI-4.
 *
 *     calls [kill]     with a word: every rank ends by SIGKILL before MPI_Finalize */
#include <mpi.h>
#if defined(OPEN_MPI) && MPI_VERSION < 4
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static MPI_Comm world = MPI_COMM_WORLD;
static int rank, size, next, previous;
static double out[64], in[64];

/* Messages to the next rank: 2. */
static void requests(void) {
  MPI_Request request[5];
  MPI_Status status[5];
  MPI_Isend(out, 10, MPI_DOUBLE, next, 1, world, &request[0]);
  MPI_Isend(out, 11, MPI_DOUBLE, next, 1, world, &request[1]);
  MPI_Irecv(in, 64, MPI_DOUBLE, previous, 1, world, &request[2]);
  MPI_Irecv(in, 64, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request[3]);
  MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 3, world, &request[4]);
  MPI_Waitall(5, request, status);
  MPI_Irecv(in, 1, MPI_INT, previous, 77, world, &request[0]);
  MPI_Cancel(&request[0]);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
}

/* Messages: 4, two of them of partitions. */
static void persistent(void) {
  MPI_Request request[2];
  MPI_Send_init(out, 3, MPI_INT, next, 2, world, &request[0]);
  MPI_Recv_init(in, 3, MPI_INT, previous, 2, world, &request[1]);
  for (int i = 0; i < 2; ++i) {
    int index;
    MPI_Startall(2, request);
    MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
    MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request[0]);
  MPI_Request_free(&request[1]);
#if MPI_VERSION >= 4
  MPI_Psend_init(out, 4, 1, MPI_DOUBLE, next, 9, world, MPI_INFO_NULL, &request[0]);
  MPI_Precv_init(in, 4, 1, MPI_DOUBLE, previous, 9, world, MPI_INFO_NULL, &request[1]);
  for (int i = 0; i < 2; ++i) {
    MPI_Status status[2];
    MPI_Startall(2, request);
    for (int part = 0; part < 4; ++part) MPI_Pready(part, request[0]);
    MPI_Waitall(2, request, status);
  }
  MPI_Request_free(&request[0]);
  MPI_Request_free(&request[1]);
#else
  for (int i = 0; i < 2; ++i)
    MPI_Sendrecv(out, 4, MPI_DOUBLE, next, 9, in, 4, MPI_DOUBLE, previous, 9, world,
                 MPI_STATUS_IGNORE);
#endif
  MPI_Allreduce_init(out, in, 1, MPI_DOUBLE, MPI_SUM, world, MPI_INFO_NULL, &request[0]);
  for (int i = 0; i < 2; ++i) {
    MPI_Start(&request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request[0]);
}

/* Messages: 4. */
static void other_messages(void) {
  MPI_Datatype strided;
  MPI_Message message;
  MPI_Request request;
  int done = 0;
  MPI_Type_vector(4, 1, 3, MPI_FLOAT, &strided);
  MPI_Type_commit(&strided);
  MPI_Sendrecv(out, 1, strided, next, 5, in, 4, MPI_FLOAT, previous, 5, world,
               MPI_STATUS_IGNORE);
  MPI_Type_free(&strided);
  MPI_Isend(out, 7, MPI_CHAR, next, 6, world, &request);
  MPI_Mprobe(previous, 6, world, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(in, 7, MPI_CHAR, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
  MPI_Isendrecv(out, 2, MPI_INT, next, 8, in, 2, MPI_INT, previous, 8, world, &request);
  while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  MPI_Send_c(out, 1, MPI_INT, next, 10, world);
  MPI_Recv_c(in, 1, MPI_INT, previous, 10, world, MPI_STATUS_IGNORE);
#else
  MPI_Isend(out, 2, MPI_INT, next, 8, world, &request);
  MPI_Recv(in, 2, MPI_INT, previous, 8, world, MPI_STATUS_IGNORE);
  while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  MPI_Send(out, 1, MPI_INT, next, 10, world);
  MPI_Recv(in, 1, MPI_INT, previous, 10, world, MPI_STATUS_IGNORE);
#endif
}

static void communicators(void) {
  MPI_Comm copy, half, grid, later, between, merged;
  MPI_Request request;
  const int sizes[2] = {size, 1}, periodic[2] = {1, 0};
  int ranks[64];
  MPI_Comm_dup(world, &copy);
  MPI_Comm_set_name(copy, "copy of the world");
  MPI_Ibarrier(copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Bcast(out, 5, MPI_DOUBLE, 0, copy);
  MPI_Comm_free(&copy);
  MPI_Cart_create(world, 2, sizes, periodic, 0, &grid);
  MPI_Neighbor_allgather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, grid);
  MPI_Comm_free(&grid);
  MPI_Comm_idup(world, &later, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(later);
  MPI_Comm_free(&later);
  MPI_Comm_split(world, rank % 2, 0, &half);
  MPI_Allreduce(MPI_IN_PLACE, out, 2, MPI_DOUBLE, MPI_SUM, half);
  if (size > 1) {
    MPI_Intercomm_create(half, 0, world, 1 - rank % 2, 99, &between);
    MPI_Allgather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, between);
    MPI_Intercomm_merge(between, rank % 2, &merged);
    MPI_Barrier(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&between);
  }
  MPI_Comm_free(&half);
}

static void windows_and_files(void) {
  double* memory;
  char name[64];
  MPI_Win window;
  MPI_File file;
  MPI_Win_allocate(80, 8, MPI_INFO_NULL, world, &memory, &window);
  MPI_Win_fence(0, window);
  MPI_Put(out, 2, MPI_DOUBLE, next, 0, 2, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  snprintf(name, sizeof name, "/tmp/refrain-calls.%ld", (long)getpid());
  MPI_File_open(MPI_COMM_SELF, name,
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                &file);
  MPI_File_write(file, out, 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  for (int i = 0; i < 64; ++i) out[i] = rank;
  requests();
  persistent();
  other_messages();
  communicators();
  windows_and_files();
  MPI_Barrier(world);
  if (argc > 1) kill(getpid(), SIGKILL);
  if (rank == 0) printf("ranks=%d sum=%g\n", size, out[0]);
  MPI_Finalize();
  return 0;
}
