// Cost of walking a stack (tracer/sampler/stack_walk.h), a walk and a frame:
//     bazel run --config=opt //test/measure:walk_report -- [WALKS]
// The stack has 30 functions of their own. "cold": before each walk the caches of the processor are
// filled with other things, as they are where samples are rare.
#include <execinfo.h>
#include <ucontext.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tracer/sampler/stack_walk.h"

namespace {

using namespace refrain::sampler;
using Clock = std::chrono::steady_clock;

constexpr unsigned kMax = 256;

struct Report {
  StackBounds bounds;
  unsigned walks = 0;
  std::vector<char> other = std::vector<char>(64 << 20);
};
Report g_report;
volatile char g_sink = 0;

void fill_caches() {
  for (std::size_t i = 0; i < g_report.other.size(); i += 64) g_report.other[i] += 1;
  g_sink = g_report.other[4096];
}

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// `walk` returns the number of frames.
template <class Walk>
void measure(const char* name, bool cold, unsigned walks, Walk walk) {
  std::vector<double> each;
  unsigned frames = 0;
  for (unsigned i = 0; i != walks; ++i) {
    if (cold) fill_caches();
    const auto begin = Clock::now();
    frames = walk();
    each.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  }
  const double middle = median(each);
  std::printf("%-44s %7u %10.0f %10.1f\n", name, frames, middle, middle / frames);
}

__attribute__((noinline)) int at_end(int number) {
  ucontext_t context;
  if (getcontext(&context) != 0) std::abort();
  std::uint64_t frames[kMax];
  void* addresses[kMax];
  const auto walk = [&](StackBounds bounds) {
    return walk_stack(context, bounds, frames, kMax).count;
  };
  std::printf("%-44s %7s %10s %10s\n", "", "frames", "ns a walk", "ns a frame");
  const auto first = Clock::now();
  const unsigned count = walk(g_report.bounds);
  const double first_ns =
      std::chrono::duration<double, std::nano>(Clock::now() - first).count();
  std::printf("%-44s %7u %10.0f %10.1f\n", "the first", count, first_ns, first_ns / count);
  const unsigned walks = g_report.walks;
  measure("rules known", false, walks, [&] { return walk(g_report.bounds); });
  measure("rules known, cold", true, walks / 100, [&] { return walk(g_report.bounds); });
  measure("bounds unknown (system calls)", false, walks, [&] { return walk({}); });
  measure("bounds unknown (system calls), cold", true, walks / 100,
          [&] { return walk({}); });
  const auto others = [&] {
    return static_cast<unsigned>(backtrace(addresses, static_cast<int>(kMax)));
  };
  others();
  measure("backtrace() of the C library", false, walks, others);
  measure("backtrace() of the C library, cold", true, walks / 100, others);
  return number;
}

template <int kDepth>
__attribute__((noinline)) int call(int number) {
  int numbers[kDepth % 5 + 1] = {number};
  asm volatile("" : : "r"(numbers) : "memory");
  if constexpr (kDepth == 0)
    return at_end(number) + numbers[0];
  else
    return call<kDepth - 1>(number + kDepth) + numbers[0];
}

}  // namespace

int main(int argc, char** argv) {
  g_report.walks =
      argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 10000;
  if (g_report.walks < 100) {
    std::fprintf(stderr, "usage: walk_report [WALKS]  (at least 100)\n");
    return 2;
  }
  g_report.bounds = bounds_of_this_thread();
  return call<27>(0) == 0;
}
