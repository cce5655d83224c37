/* Programs that know how long they wait: clock readings around calls, the severities that follow
 * from them by definition, printed as one line of JSON.
 *
 *     {"case": "p2p:send:recv:sender", "ranks": 2, "threads": 1, "disturbed": false,
 *      "expected": {"mpi_latesender": 0.0601, ...}, "unchecked": ["mpi_latereceiver"],
 *      "small": 0.0005}
 *
 * expected: inclusive seconds over all call paths and locations; what a case does not name is
 * zero. unchecked: what the definition leaves open here. disturbed: the readings are far from what
 * the case means to show, because the machine was busy. small: seconds that clock readings of the
 * program and time stamps of a tracer may differ by in all, next to the relative tolerance.
 *
 * Sleeps overshoot: the readings count, not what was asked for. */
#ifndef REFRAIN_TEST_PROGRAMS_WAITS_KNOWN_H_
#define REFRAIN_TEST_PROGRAMS_WAITS_KNOWN_H_

#include <errno.h>

#include "../common.h"

static inline double now(void) { return (double)now_ns() * 1e-9; }

/* Sleeps, also through signals: ranks outnumber the cores. */
static inline void sleep_for(double seconds) {
  if (seconds <= 0) return;
  struct timespec left = {(time_t)seconds,
                          (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
}

typedef struct {
  double enter, leave; /* seconds */
} Call;

static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline double larger(double a, double b) { return a > b ? a : b; }

/* From the call's enter to `until`, as far as the call lasted. */
static inline double wait_in(Call call, double until) {
  return larger(0, smaller(until, call.leave) - call.enter);
}

enum { kMaxExpected = 48 };

typedef struct {
  const char* metric;
  double seconds;
  double meant; /* by the case; negative: not said */
  int unchecked;
} Expected;

static Expected expected[kMaxExpected];
static int expected_count;
static int disturbed; /* the program may set it itself */

static inline Expected* expected_of(const char* metric) {
  for (int i = 0; i < expected_count; ++i)
    if (strcmp(expected[i].metric, metric) == 0) return &expected[i];
  if (expected_count == kMaxExpected) abort();
  expected[expected_count] = (Expected){metric, 0, -1, 0};
  return &expected[expected_count++];
}

static inline void expect(const char* metric, double seconds) {
  expected_of(metric)->seconds += seconds;
}

static inline void means(const char* metric, double seconds) {
  expected_of(metric)->meant = seconds;
}

static inline void leave_open(const char* metric) { expected_of(metric)->unchecked = 1; }

/* `readings`: how many clock readings the sums are made of. A reading and the tracer's stamp are some
 * hundred nanoseconds apart, some ten microseconds at a call's first time; 71 us was the most of 507
 * sums on a busy machine. */
static inline void print_expected(const char* name, int ranks, int threads, int readings) {
  for (int i = 0; i < expected_count; ++i) {
    const Expected* e = &expected[i];
    if (e->meant >= 0 &&
        (e->seconds > 1.3 * e->meant + 0.01 || e->seconds < 0.8 * e->meant))
      disturbed = 1;
  }
  printf(
      "{\"case\": \"%s\", \"ranks\": %d, \"threads\": %d, \"disturbed\": %s, \"expected\": {",
      name, ranks, threads, disturbed ? "true" : "false");
  for (int i = 0; i < expected_count; ++i)
    printf("%s\"%s\": %.9f", i ? ", " : "", expected[i].metric, expected[i].seconds);
  printf("}, \"unchecked\": [");
  const char* comma = "";
  for (int i = 0; i < expected_count; ++i)
    if (expected[i].unchecked) printf("%s\"%s\"", comma, expected[i].metric), comma = ", ";
  printf("], \"small\": %.6f}\n", 0.0001 + 1e-5 * readings);
  fflush(stdout);
}

#endif /* REFRAIN_TEST_PROGRAMS_WAITS_KNOWN_H_ */
