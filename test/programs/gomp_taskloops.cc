// Taskloops of gcc's: which iterations are executed how often, a reduction, and private copies that have a constructor or an alignment of
// their own. Signed and unsigned counters, up and down, through 0, and without iterations.
#include <omp.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr long kOffset = 100;

struct alignas(32) Weights {
  double values[4];
};

struct Seen {
  std::vector<int> times = std::vector<int>(2 * kOffset);
  std::string text = std::string(40, 'x');
  Weights weights{{1, 2, 3, 4}};

  void print(const char* name, long sum, long last) const {
    std::printf("%s: sum %ld, last %ld:", name, sum, last);
    for (long i = 0; i < 2 * kOffset; ++i)
      if (times[i] != 0) std::printf(" %ld (%d)", i - kOffset, times[i]);
    std::printf("\n");
  }
};

template <typename Number>
void up(const char* name, Number from, Number to, Number step) {
  Seen seen;
  std::string text = seen.text;
  Weights weights = seen.weights;
  long sum = 0;
  Number last = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskloop reduction(+ : sum) firstprivate(text, weights) lastprivate(last) num_tasks(5)
  for (Number i = from; i < to; i += step) {
    sum += static_cast<long>(i) * static_cast<long>(text.size()) +
           static_cast<long>(weights.values[2]);
    last = i;
#pragma omp atomic
    ++seen.times[static_cast<long>(i) + kOffset];
    text[0] = 'y';
  }
  seen.print(name, sum, static_cast<long>(last));
}

template <typename Number>
void down(const char* name, Number from, Number to, Number step) {
  Seen seen;
  std::string text = seen.text;
  Weights weights = seen.weights;
  long sum = 0;
  Number last = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskloop reduction(+ : sum) firstprivate(text, weights) lastprivate(last) grainsize(3)
  for (Number i = from; i > to; i -= step) {
    sum += static_cast<long>(i) * static_cast<long>(text.size()) +
           static_cast<long>(weights.values[2]);
    last = i;
#pragma omp atomic
    ++seen.times[static_cast<long>(i) + kOffset];
    text[0] = 'y';
  }
  seen.print(name, sum, static_cast<long>(last));
}

}  // namespace

int main() {
  using Unsigned = unsigned long long;
  up<long>("up", 0, 20, 1);
  up<long>("up by 3", 1, 20, 3);
  up<long>("up through 0", -10, 10, 1);
  up<long>("up through 0 by 3", -10, 12, 3);
  up<int>("int, up through 0 by 3", -10, 12, 3);
  up<long>("up below 0", -20, -3, 2);
  up<long>("up, none", 5, 3, 2);
  up<long>("up, none at all", 5, 5, 1);
  down<long>("down", 20, 0, 1);
  down<long>("down by 3", 20, 1, 3);
  down<long>("down through 0", 10, -10, 1);
  down<long>("down through 0 by 3", 10, -11, 3);
  down<int>("int, down through 0 by 3", 12, -10, 3);
  down<long>("down, none", 3, 5, 3);
  up<Unsigned>("unsigned, up", 3, 20, 1);
  up<Unsigned>("unsigned, up by 3", 3, 20, 3);
  up<Unsigned>("unsigned, none", 20, 3, 3);
  down<Unsigned>("unsigned, down", 20, 1, 1);
  down<Unsigned>("unsigned, down by 3", 20, 4, 3);
  down<Unsigned>("unsigned, down, none", 4, 4, 3);
}
