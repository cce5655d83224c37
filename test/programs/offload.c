/* Target constructs of every kind, on one or two devices: data that stays, data of one kernel,
 * updates, constructs with nowait, and the routines for memory of devices.
 *
 * Arguments: [rounds = 3] [elements = 1000]
 * It counts what it asks for by itself: constructs, kernels, and bytes to and from devices. */
#include <omp.h>

#include "common.h"

struct counts {
  long constructs, kernels, to, from;
};
static struct counts asked;

static void count(long kernels, long to, long from) {
  asked.constructs += 1;
  asked.kernels += kernels;
  asked.to += to * (long)sizeof(double);
  asked.from += from * (long)sizeof(double);
}

static NOINLINE void enter(const double* kept, long n) {
  count(0, n, 0);
#pragma omp target enter data map(to : kept [0:n])
}

static NOINLINE void leave(double* kept, long n) {
  count(0, 0, n);
#pragma omp target exit data map(from : kept [0:n])
}

static NOINLINE void add(const double* kept, double* moved, long n) {
  count(1, n, n);
#pragma omp target teams distribute parallel for num_threads(2) map(tofrom : moved [0:n])
  for (long i = 0; i < n; ++i) moved[i] += kept[i];
}

static NOINLINE void update(double* kept, long n) {
  count(0, n / 2, 0);
#pragma omp target update to(kept [0:n / 2])
  count(0, 0, n / 4);
#pragma omp target update from(kept [0:n / 4])
}

/* In a task, which may run on a thread of the runtime's own. */
static NOINLINE void later(double* moved, long n, int device) {
  count(1, n, n);
#pragma omp target nowait device(device) map(tofrom : moved [0:n])
  for (long i = 0; i < n; ++i) moved[i] *= 2;
#pragma omp taskwait
}

static NOINLINE void by_hand(double* moved, long n, int device) {
  const int host = omp_get_initial_device();
  const size_t bytes = (size_t)n * sizeof(double);
  void* there = omp_target_alloc(bytes, device);
  if (there == NULL) exit(3);
  asked.to += (long)bytes;
  asked.from += (long)bytes;
  if (omp_target_memcpy(there, moved, bytes, 0, 0, device, host) != 0) exit(3);
  if (omp_target_memcpy(moved, there, bytes, 0, 0, host, device) != 0) exit(3);
  omp_target_free(there, device);
}

int main(int argc, char** argv) {
  const long rounds = argument(argc, argv, 1, 3, 1);
  const long n = argument(argc, argv, 2, 1000, 4);
  const int devices = omp_get_num_devices();
  if (devices == 0) {
    fprintf(stderr, "%s: no device\n", argv[0]);
    return 3;
  }
  double* const kept = malloc((size_t)n * sizeof(double));
  double* const moved = malloc((size_t)n * sizeof(double));
  for (long i = 0; i < n; ++i) kept[i] = moved[i] = (double)(i % 10);
  enter(kept, n);
  for (long round = 0; round < rounds; ++round) {
    add(kept, moved, n);
    update(kept, n);
    later(moved, n, devices - 1 < 1 ? devices - 1 : 1);
    by_hand(moved, n, 0);
    for (long i = 0; i < n; ++i) moved[i] -= (double)(long)(moved[i] / 1000) * 1000;
  }
  leave(kept, n);
  uint64_t sum = 0;
  for (long i = 0; i < n; ++i) sum = checksum_double(sum, moved[i] + kept[i]);
  printf("checksum=%016llx constructs=%ld kernels=%ld to=%ld from=%ld devices=%d\n",
         (unsigned long long)sum, asked.constructs, asked.kernels, asked.to, asked.from,
         devices);
  free(kept);
  free(moved);
  return 0;
}
