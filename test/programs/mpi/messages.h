/* Messages that carry their number, and a log of them, with which tests compare a trace.
 *
 * A channel is (source, destination, communicator, tag). Its sender counts its messages
 * from 0; the first 8 bytes of a message are its number, and its length depends on it, too:
 * messages of a channel have kLengths lengths in turn, so that wrongly paired ends differ in
 * length.
 *
 * With MESSAGE_LOG=prefix in the environment each rank writes <prefix>.<rank>, in the order
 * of its program:
 *     C <communicator> <world ranks of its members ...>
 *     S|R <source> <destination> <communicator> <tag> <bytes> <number>
 * ranks being those of MPI_COMM_WORLD. S: about to be sent; R: has been received.
 *
 * This header itself calls MPI by PMPI_, so that no tracer sees it, except MPI_Comm_set_name. */
#ifndef REFRAIN_TEST_PROGRAMS_MPI_MESSAGES_H_
#define REFRAIN_TEST_PROGRAMS_MPI_MESSAGES_H_

#include <mpi.h>

#include "../common.h"

enum { kLengths = 61, kMaxChannels = 4096 };

/* A buffer for a message of `values` values has to have room for this many doubles. */
#define MESSAGE_ROOM(values) (1 + (values) + kLengths - 1)

typedef struct {
  MPI_Comm handle;
  const char* name;
  int rank, size;
  int* world; /* world rank of each member */
} Group;

typedef struct {
  const Group* group;
  int destination, tag;
  uint64_t next;
} Channel;

static FILE* message_log;
static Channel message_channels[kMaxChannels];
static int message_channel_count;

/* Call it once, after MPI_Init. */
static inline void messages_begin(void) {
  const char* prefix = getenv("MESSAGE_LOG");
  if (!prefix || !*prefix) return;
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", prefix, rank);
  message_log = fopen(path, "w");
  if (message_log) setvbuf(message_log, NULL, _IOLBF, 1 << 16); /* a kill loses nothing */
  if (!message_log) {
    fprintf(stderr, "cannot write %s\n", path);
    exit(2);
  }
}

static inline void messages_end(void) {
  if (message_log) fclose(message_log);
  message_log = NULL;
}

/* Gives a communicator its name, unique among those with the same members. */
static inline Group group_of(MPI_Comm comm, const char* name) {
  Group group = {comm, name, 0, 0, NULL};
  PMPI_Comm_rank(comm, &group.rank);
  PMPI_Comm_size(comm, &group.size);
  group.world = malloc((size_t)group.size * sizeof(int));
  int* ranks = malloc((size_t)group.size * sizeof(int));
  if (!group.world || !ranks) abort();
  for (int i = 0; i < group.size; ++i) ranks[i] = i;
  MPI_Group here, all;
  PMPI_Comm_group(comm, &here);
  PMPI_Comm_group(MPI_COMM_WORLD, &all);
  PMPI_Group_translate_ranks(here, group.size, ranks, all, group.world);
  PMPI_Group_free(&here);
  PMPI_Group_free(&all);
  free(ranks);
  if (comm != MPI_COMM_WORLD) MPI_Comm_set_name(comm, name);
  if (message_log) {
    fprintf(message_log, "C %s", name);
    for (int i = 0; i < group.size; ++i) fprintf(message_log, " %d", group.world[i]);
    fprintf(message_log, "\n");
  }
  return group;
}

static inline Group group_of_all(void) {
  return group_of(MPI_COMM_WORLD, "MPI_COMM_WORLD");
}

static inline void group_free(Group* group) {
  free(group->world);
  group->world = NULL;
}

static inline Channel* message_channel(const Group* group, int destination, int tag) {
  for (int i = 0; i < message_channel_count; ++i) {
    Channel* c = &message_channels[i];
    if (c->group == group && c->destination == destination && c->tag == tag) return c;
  }
  if (message_channel_count == kMaxChannels) abort();
  Channel* c = &message_channels[message_channel_count++];
  *c = (Channel){group, destination, tag, 0};
  return c;
}

static inline void log_message(char what, const Group* group, int source, int destination,
                               int tag, long bytes, uint64_t number) {
  if (!message_log) return;
  fprintf(message_log, "%c %d %d %s %d %ld %llu\n", what, group->world[source],
          group->world[destination], group->name, tag, bytes, (unsigned long long)number);
}

/* Numbers a message that is about to be sent with `length` doubles in all. */
static inline void message_number(const Group* group, double* message, int length,
                                  int destination, int tag) {
  if (destination == MPI_PROC_NULL) return;
  Channel* channel = message_channel(group, destination, tag);
  const uint64_t number = channel->next++;
  memcpy(message, &number, sizeof number);
  log_message('S', group, group->rank, destination, tag, (long)sizeof(double) * length,
              number);
}

/* The same, and chooses the length: message[0] is the number, the values follow, the rest has
 * no meaning. Returns the number of doubles to be sent. */
static inline int message_made(const Group* group, double* message, int values,
                               int destination, int tag) {
  if (destination == MPI_PROC_NULL) return 1 + values;
  const Channel* channel = message_channel(group, destination, tag);
  const int length = 1 + values + (int)(channel->next % kLengths);
  message_number(group, message, length, destination, tag);
  return length;
}

/* A message has arrived. */
static inline void message_got(const Group* group, const double* message,
                               const MPI_Status* status) {
  if (status->MPI_SOURCE == MPI_PROC_NULL) return;
  int bytes;
  uint64_t number;
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  memcpy(&number, message, sizeof number);
  log_message('R', group, status->MPI_SOURCE, group->rank, status->MPI_TAG, bytes, number);
}

/* The neighbour at `distance` on a line; MPI_PROC_NULL beyond its ends. */
static inline int neighbour(const Group* group, int distance) {
  const int rank = group->rank + distance;
  return rank < 0 || rank >= group->size ? MPI_PROC_NULL : rank;
}

/* The sum of a value over all ranks; rank 0 prints it. */
static inline void print_result(const Group* all, long iterations, uint64_t checksum) {
  uint64_t total = 0;
  MPI_Reduce(&checksum, &total, 1, MPI_UINT64_T, MPI_SUM, 0, all->handle);
  if (all->rank == 0)
    printf("ranks=%d iterations=%ld checksum=%016llx\n", all->size, iterations,
           (unsigned long long)total);
}

#endif /* REFRAIN_TEST_PROGRAMS_MPI_MESSAGES_H_ */
