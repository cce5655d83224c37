// Parallel regions and their loops in loops, some of them left by exceptions; prints the iterations of each, "FUNCTION ITERATIONS" a line.
//
// Arguments: none.
#include <cstdio>

namespace {

volatile int one = 1;
volatile double sink = 0;

// A region with a loop of its threads.
[[gnu::noinline]] void relax() {
  double sum = 0;
#pragma omp parallel
  {
#pragma omp for reduction(+ : sum)
    for (int i = 0; i < 64; ++i) sum += i;
  }
  sink = sum;
}

[[gnu::noinline]] void check(int i) {
#pragma omp parallel
  {
#pragma omp single
    sink = sink + 1;
  }
  if (i % 2 != 0) throw i;
  relax();
}

[[gnu::noinline]] void caught() {
  for (int i = 0; i < 8 * one; ++i) {
    try {
      check(i);
    } catch (int thrown) {
      sink = thrown;
    }
  }
}

[[gnu::noinline]] void inner() {
  for (int i = 0; i < 4 * one; ++i) relax();
  sink = 1;
}

[[gnu::noinline]] void outer() {
  for (int i = 0; i < 5 * one; ++i) {
#pragma omp parallel for
    for (int k = 0; k < 16; ++k) sink = k;
    inner();
  }
  sink = 2;
}

// One call into gcc's runtime makes the region and what is in it.
[[gnu::noinline]] void combined() {
  for (int i = 0; i < 9 * one; ++i) {
#pragma omp parallel for schedule(dynamic)
    for (int k = 0; k < 16; ++k) sink = k;
  }
  sink = 3;
}

[[gnu::noinline]] void combined_sections() {
  for (int i = 0; i < 11 * one; ++i) {
#pragma omp parallel sections
    {
#pragma omp section
      sink = 1;
#pragma omp section
      sink = 2;
    }
  }
  sink = 4;
}

[[gnu::noinline]] void barriers() {
  for (int i = 0; i < 7 * one; ++i) {
#pragma omp parallel
    {
#pragma omp for schedule(guided)
      for (int k = 0; k < 16; ++k) sink = k;
#pragma omp barrier
#pragma omp for
      for (int k = 0; k < 16; ++k) sink = k;
    }
  }
  sink = 5;
}

}  // namespace

int main() {
  caught();
  outer();
  combined();
  combined_sections();
  barriers();
  std::printf(
      "caught 8\nouter 5\ninner 20\ncombined 9\ncombined_sections 11\nbarriers 7\n");
  return 0;
}
