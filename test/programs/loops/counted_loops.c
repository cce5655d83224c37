// clang-format off
// Loops of all shapes, each with the line on which it begins.
#include <setjmp.h>
#include <stdlib.h>

#include "counted.h"

#define LOOP __attribute__((noinline)) static void
#define HERE __LINE__

LOOP nest_of_one(int n) {
  long trips = 0;
  for (int i = 0; i < n; i++) {
    trips++;
    work(i);
  }
  left(HERE - 4, trips);
}

LOOP nest_of_three(int n) {
  long first = 0;
  for (int i = 0; i < n; i++) {
    first++;
    long second = 0;
    for (int j = 0; j < i; j++) {
      second++;
      long third = 0;
      for (int k = j; k < i; k++) {
        third++;
        work(k);
      }
      left(HERE - 4, third);
    }
    left(HERE - 9, second);
  }
  left(HERE - 14, first);
}

LOOP nest_of_five(int n) {
  long a = 0;
  for (int i = 0; i < n; i++) {
    a++;
    long b = 0;
    for (int j = 0; j < n; j++) {
      b++;
      long c = 0;
      for (int k = 0; k < n; k++) {
        c++;
        long d = 0;
        for (int l = 0; l < hidden(2); l++) {
          d++;
          long e = 0;
          for (int m = 0; m < k; m++) {
            e++;
            work(m);
          }
          left(HERE - 4, e);
        }
        left(HERE - 9, d);
      }
      left(HERE - 14, c);
    }
    left(HERE - 19, b);
  }
  left(HERE - 24, a);
}

// Its first trips are of no iteration, before it is known to be a loop.
LOOP zero_first(int n) {
  long trips = 0;
  for (int i = 0; i < n; i++) {
    trips++;
    work(i);
  }
  left(HERE - 4, trips);
}

LOOP with_break(int n, int stop) {
  long trips = 0;
  for (int i = 0; i < n; i++) {
    trips++;
    work(i);
    if (hidden(i) == stop)
      break;
    work(-i);
  }
  left(HERE - 7, trips);
}

static int with_return_inside(int n, int stop, long* trips) {
  for (int i = 0; i < n; i++) {
    (*trips)++;
    work(i);
    if (hidden(i) == stop)
      return i;
  }
  return -1;
}

LOOP with_return(int n, int stop) {
  long trips = 0;
  work(with_return_inside(n, stop, &trips));
  left(HERE - 12, trips);
}

LOOP with_continue(int n) {
  long trips = 0;
  for (int i = 0; i < n; i++) {
    trips++;
    if (hidden(i) % 3 == 0)
      continue;
    work(i);
    if (hidden(i) % 5 == 0)
      continue;
    work(2 * i);
  }
  left(HERE - 9, trips);
}

LOOP while_test(int n) {
  long trips = 0;
  while (hidden(n) > 0) {
    trips++;
    n -= 2;
    work(n);
  }
  left(HERE - 5, trips);
}

LOOP two_tests(const int* values, int n) {
  long trips = 0;
  int i = 0;
  while (i < n && values[i] != 0) {
    trips++;
    work(values[i]);
    i++;
  }
  left(HERE - 5, trips);
}

LOOP do_while(int n) {
  long trips = 0;
  do { trips++; work(n);
    n--;
  } while (hidden(n) > 0);
  left(HERE - 3, trips);
}

LOOP by_goto(int n) {
  long trips = 0;
again: trips++; work(n);
  if (hidden(n--) > 0)
    goto again;
  left(HERE - 3, trips);
}

LOOP endless_with_breaks(int n) {
  long trips = 0;
  for (;;) { trips++;
    work(n);
    if (hidden(n) == 3)
      break;
    work(2 * n);
    if (hidden(n) <= 0)
      break;
    n--;
  }
  left(HERE - 9, trips);
}

LOOP switch_inside(int n) {
  long trips = 0;
  for (int i = 0; i < n; i++) {
    trips++;
    switch (hidden(i) % 9) {
      case 0: work(1); break;
      case 1: work(10); break;
      case 2: work(2);  // falls through
      case 3: work(3); break;
      case 4: work(40); break;
      case 5: continue;
      case 6: work(6); break;
      case 7: work(70); break;
      default: work(9);
    }
    work(i);
  }
  left(HERE - 15, trips);
}

// A path through the body that first runs when the loop is well known.
LOOP late_path(int n, int late) {
  long trips = 0;
  for (int i = 0; i < n; i++) {
    trips++;
    work(i);
    if (hidden(i) >= late) {
      work(-1);
      if (hidden(i) % 2 == 0)
        work(-2);
      work(-3);
    }
  }
  left(HERE - 10, trips);
}

LOOP late_inner_loop(int n, int late) {
  long trips = 0;
  for (int i = 0; i < n; i++) {
    trips++;
    if (hidden(i) >= late) {
      work(i);
      long inner = 0;
      for (int j = 0; j < i; j++) {
        inner++;
        work(j);
      }
      left(HERE - 4, inner);
      work(-1);
    }
  }
  left(HERE - 13, trips);
}

__attribute__((noinline)) static void called_by_loop(int n) {
  long trips = 0;
  for (int i = 0; i < n; i++) {
    trips++;
    work(i);
  }
  left(HERE - 4, trips);
}

LOOP over_calls(int n) {
  long trips = 0;
  for (int i = 0; i < n; i++) {
    trips++;
    called_by_loop(i % 4);
    nest_of_one(hidden(2));
  }
  left(HERE - 5, trips);
}

LOOP recursion(int depth, int width) {
  long trips = 0;
  for (int i = 0; i < width; i++) {
    trips++;
    if (hidden(depth) > 0)
      recursion(depth - 1, width - i);
    work(i);
  }
  left(HERE - 6, trips);
}

static void other_half(int depth);
LOOP mutual_recursion(int depth) {
  long trips = 0;
  for (int i = 0; i < hidden(2); i++) {
    trips++;
    if (hidden(depth) > 0)
      other_half(depth - 1);
  }
  left(HERE - 5, trips);
}
__attribute__((noinline)) static void other_half(int depth) {
  long trips = 0;
  for (int i = 0; i < depth; i++) {
    trips++;
    mutual_recursion(depth - 1);
  }
  left(HERE - 4, trips);
}

static jmp_buf place;
__attribute__((noinline)) static void jumps_out(int n, int at) {
  volatile long trips = 0;
  for (int i = 0; i < n; i++) {
    trips++;
    work(i);
    if (hidden(i) == at) {
      left(HERE - 4, trips);
      longjmp(place, 1);
    }
  }
  left(HERE - 8, trips);
}

LOOP over_longjmp(int n) {
  volatile long trips = 0;
  for (volatile int i = 0; i < n; i++) {
    trips++;
    if (setjmp(place) == 0)
      jumps_out(10, i);
    work(i);
  }
  left(HERE - 6, trips);
}

// Entered at two places.
LOOP irreducible(int n, int middle) {
  long trips = 0;
  if (hidden(middle))
    goto inside;
top:
  trips++;
  work(n);
inside:
  work(2 * n);
  if (hidden(n--) > 0)
    goto top;
  (void)trips;
}

static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

LOOP called_back(int n) {
  int values[64];
  long trips = 0;
  for (int i = 0; i < n; i++) {
    trips++;
    values[i] = hidden(i * 37 % 64);
  }
  left(HERE - 4, trips);
  qsort(values, (size_t)n, sizeof(int), compare);
}

int main(void) {
  static const int kValues[] = {3, 1, 4, 1, 5, 0, 9, 2, 0};
  zero_first(0);
  zero_first(0);
  zero_first(hidden(0));
  for (int i = 0; i < 12; i++) {
    nest_of_one(i);
    zero_first(i % 3);
    with_break(10, i);
    with_return(9, i);
    with_continue(i);
    while_test(i);
    two_tests(kValues + i % 8, 9 - i % 8);
    do_while(i);
    by_goto(i);
    endless_with_breaks(i);
    switch_inside(3 * i);
    late_path(20, 18 - i);
    late_inner_loop(8, 7 - i);
    irreducible(i, i % 2);
  }
  nest_of_one(100);
  nest_of_one(1000);
  nest_of_three(9);
  nest_of_five(4);
  over_calls(13);
  recursion(4, 3);
  mutual_recursion(6);
  over_longjmp(14);
  called_back(64);
  print_counts();
  return 0;
}
