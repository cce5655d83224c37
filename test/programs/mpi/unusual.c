/* What few programs do with MPI, on 2 ranks.
 *
 * Argument: what. All do 50 barriers, before or after it.
 *   attributes        MPI_COMM_WORLD has an attribute that refuses to be copied, and an error handler
 *   communicators     as many copies of MPI_COMM_WORLD as there can be, 3000 at most; none is freed
 *   no-finalize       returns from main without MPI_Finalize
 *   truncated         rank 0 sends 8 bytes and 4 bytes, four times; rank 1 receives 4 bytes each time, by MPI_Recv, MPI_Wait,
 *                     both again from any source: all receives but the second of each pair fail
 *   freed             rank 0 sends three times; of the receives of rank 1 the request of the first is freed
 *   groups            two threads make a communicator each by MPI_Comm_create_group, in another order on each rank, with
 *                     the tags 1 and 2; 10 messages from rank 0 over the first, 5 over the second
 *   any-source        a second thread receives from any source, 100000 times: whether memory has grown for that */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int copies, deletes, errors;

static int copy(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out;
  ++copies;
  *flag = 0;
  return MPI_ERR_OTHER;
}

static int delete (MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  ++deletes;
  return MPI_SUCCESS;
}

static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++errors;
}

static void barriers(void) {
  for (int i = 0; i < 50; ++i) MPI_Barrier(MPI_COMM_WORLD);
}

static void attributes(void) {
  int key;
  MPI_Errhandler handler;
  MPI_Comm_create_keyval(copy, delete, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &copies);
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Errhandler_free(&handler);
}

static int communicators(void) {
  MPI_Comm comm;
  int made = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  while (made < 3000 && MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS) ++made;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  return made;
}

static int receive(int nonblocking, int source) {
  int value[2];
  MPI_Request request;
  if (!nonblocking)
    return MPI_Recv(value, 1, MPI_INT, source, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int result = MPI_Irecv(value, 1, MPI_INT, source, 4, MPI_COMM_WORLD, &request);
  return result != MPI_SUCCESS ? result : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void truncated(int rank) {
  int value[2] = {1, 2}, failed = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < 4; ++i) {
    if (rank == 0) {
      MPI_Send(value, 2, MPI_INT, 1, 4, MPI_COMM_WORLD);
      MPI_Send(value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    } else {
      const int source = i < 2 ? 0 : MPI_ANY_SOURCE;
      failed = 10 * failed + (receive(i % 2, source) != MPI_SUCCESS);
      failed = 10 * failed + (receive(i % 2, source) != MPI_SUCCESS);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) printf("failed=%d\n", failed);
}

static void freed(int rank) {
  static int value[3] = {1, 2, 3};
  MPI_Request request[3];
  MPI_Status status[2];
  if (rank == 1)
    for (int i = 0; i < 3; ++i)
      MPI_Irecv(&value[i], 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request[i]);
  if (rank == 1) MPI_Request_free(&request[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Waitall(2, &request[1], status);
  if (rank == 0)
    for (int i = 0; i < 3; ++i) MPI_Send(&value[i], 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
}

static int rank_of_all;
static MPI_Comm made_by[2];

static void* make(void* data) {
  const int which = *(int*)data;
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 1 + which, &made_by[which]);
  MPI_Group_free(&group);
  return NULL;
}

/* Each rank begins with another, and the second thread waits for the first one's call to have begun. */
static void groups(int rank) {
  int value = 0, which[2] = {rank, 1 - rank};
  pthread_t thread[2];
  for (int i = 0; i < 2; ++i) {
    pthread_create(&thread[i], NULL, make, &which[i]);
    if (rank == i) usleep(50000);
  }
  for (int i = 0; i < 2; ++i) pthread_join(thread[i], NULL);
  for (int i = 0; i < 15; ++i) {
    const MPI_Comm comm = made_by[i < 10 ? 0 : 1];
    if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 4, comm);
    if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 4, comm, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 2; ++i) MPI_Comm_free(&made_by[i]);
}

static long resident_kib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

static void* any_source(void* data) {
  long* const grown = data;
  const int self = rank_of_all;
  for (long i = 0; i < 101000; ++i) {
    int value[2], sent = 1;
    MPI_Request request[4];
    MPI_Status status[4];
    if (i == 1000) *grown = resident_kib();
    MPI_Irecv(&value[0], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Irecv(&value[1], 1, MPI_INT, self, 0, MPI_COMM_WORLD, &request[1]);
    MPI_Isend(&sent, 1, MPI_INT, self, 0, MPI_COMM_WORLD, &request[2]);
    MPI_Isend(&sent, 1, MPI_INT, self, 0, MPI_COMM_WORLD, &request[3]);
    MPI_Waitall(4, request, status);
  }
  *grown = resident_kib() - *grown;
  return NULL;
}

static void receive_from_any(int rank) {
  long grown = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, any_source, &grown);
  pthread_join(thread, NULL);
  if (rank == 0) printf("memory has %s\n", grown > 5000 ? "grown" : "not grown");
}

int main(int argc, char** argv) {
  int rank, made = 0, level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* what = argc > 1 ? argv[1] : "";
  rank_of_all = rank;
  if (!strcmp(what, "attributes")) attributes();
  if (!strcmp(what, "truncated")) truncated(rank);
  if (!strcmp(what, "freed")) freed(rank);
  if (!strcmp(what, "groups")) groups(rank);
  if (!strcmp(what, "any-source")) receive_from_any(rank);
  if (!strcmp(what, "communicators")) made = communicators();
  barriers();
  if (rank == 0) printf("communicators=%d copies=%d errors=%d\n", made, copies, errors);
  fflush(stdout);
  if (!strcmp(what, "no-finalize")) return 0;
  MPI_Finalize();
  if (rank == 0) printf("copies=%d deletes=%d errors=%d\n", copies, deletes, errors);
  return 0;
}
