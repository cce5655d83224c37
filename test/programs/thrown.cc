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

}  // namespace

int main() {
  caught();
  outer();
  std::printf("caught 8\nouter 5\ninner 20\n");
  return 0;
}
