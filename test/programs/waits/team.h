/* Clock readings of a team of threads, and what they wait for at barriers, locks and tasks.
 * Needs OpenMP. */
#ifndef REFRAIN_TEST_PROGRAMS_WAITS_TEAM_H_
#define REFRAIN_TEST_PROGRAMS_WAITS_TEAM_H_

#include <omp.h>

#include "known.h"

enum { kMaxThreads = 16, kPlaces = 16 };

/* A thread's readings, a cache line and more apart from the others'. */
typedef struct {
  Call calls[kPlaces];
  double released[kPlaces]; /* of a lock that the call took */
} Thread;

static Thread team[kMaxThreads];

static inline Thread* me(void) { return &team[omp_get_thread_num()]; }

/* The thread is about to enter the barrier of this place; its leave is not known. */
static inline void at_barrier(int place) { me()->calls[place] = (Call){now(), 1e300}; }

static inline double latest_thread(int threads, int place) {
  double latest = 0;
  for (int i = 0; i < threads; ++i) latest = larger(latest, team[i].calls[place].enter);
  return latest;
}

/* At the barrier of this place: until the latest one enters. */
static inline double barrier_wait(int threads, int place) {
  const double latest = latest_thread(threads, place);
  double sum = 0;
  for (int i = 0; i < threads; ++i) sum += wait_in(team[i].calls[place], latest);
  return sum;
}

/* For a lock: from a call's enter until another thread released it last before the call got it. */
static inline double contention(int threads, int place) {
  double sum = 0;
  for (int i = 0; i < threads; ++i) {
    const Call mine = team[i].calls[place];
    double released = mine.enter;
    for (int j = 0; j < threads; ++j)
      if (team[j].released[place] <= mine.leave)
        released = larger(released, team[j].released[place]);
    sum += released - mine.enter;
  }
  return sum;
}

#endif /* REFRAIN_TEST_PROGRAMS_WAITS_TEAM_H_ */
