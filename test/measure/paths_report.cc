// Cost of finding a call's path (tracer/runtime/paths.h), in turns:
//     bazel run --config=opt //test/measure:paths_report -- [ROUNDS]
// Sixteen callees follow each other, as calls of a loop do. "varying": functions with frames of 8, or 1000 sizes.
#include <alloca.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "tracer/runtime/paths.h"

namespace {

using namespace refrain;
using Clock = std::chrono::steady_clock;
using runtime::CallSite;
using runtime::Paths;

constexpr unsigned kCalls = 1000;  // of a round: short, for others may take the processor
constexpr unsigned kCallees = 16;
unsigned g_rounds = 2001;
volatile unsigned g_sink = 0;

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

template <class Function>
double time_of(Function function, unsigned calls = kCalls) {
  const auto begin = Clock::now();
  function();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / calls;
}

#define HERE                                                   \
  CallSite {                                                   \
    __builtin_return_address(0), __builtin_dwarf_cfa(),        \
        *static_cast<void* const*>(__builtin_frame_address(0)) \
  }

std::unique_ptr<Paths> g_paths = std::make_unique<Paths>();

__attribute__((noinline)) void measure_hot() {
  const CallSite site = HERE;
  std::vector<double> paths;
  unsigned path = 0;
  for (unsigned round = 0; round != g_rounds; ++round) {
    paths.push_back(time_of([&] {
      for (unsigned i = 0; i != kCalls; ++i) path = g_paths->find(site, i % kCallees);
      g_sink = path;
    }));
  }
  const double hot = median(paths);
  std::printf("%-44s %7zu %10.1f\n", "hot", g_paths->frames(path).size(), hot);
}

__attribute__((noinline)) void measure_new() {
  const CallSite site = HERE;
  std::vector<double> with_rules, without;
  unsigned path = 0;
  for (unsigned round = 0; round != std::min(g_rounds, 101u); ++round) {
    Paths paths;
    paths.find({site.stack, site.stack, site.frame}, 1);  // finds the thread's stack
    without.push_back(time_of([&] { path = paths.find(site, 1); }, 1));
    for (std::uint64_t i = 2; i != 102; ++i)
      with_rules.push_back(time_of([&] { path = paths.find(site, i); }, 1));
    g_sink = path + static_cast<unsigned>(paths.frames(path).size());
  }
  std::printf("%-44s %7zu %10.0f\n", "new, with new rules",
              g_paths->frames(g_paths->find(site, 1)).size(), median(without));
  std::printf("%-44s %7zu %10.0f\n", "new, rules known",
              g_paths->frames(g_paths->find(site, 1)).size(), median(with_rules));
}

bool g_find = false;
unsigned g_path = 0;

__attribute__((noinline)) void call() {
  const CallSite site = HERE;
  if (g_find) g_path = g_paths->find(site, 1);
}
__attribute__((noinline)) void plain() {
  call();
  asm volatile("");
}
template <void (*kInner)()>
__attribute__((noinline)) void varying(std::size_t bytes) {
  void* const room = alloca(bytes);
  asm volatile("" : : "r"(room) : "memory");
  kInner();
  asm volatile("");
}

void measure_varying(const char* name, void (*function)(std::size_t), unsigned sizes) {
  std::vector<double> with, without;
  const std::uint64_t walks = g_paths->walks();
  for (unsigned round = 0; round != g_rounds; ++round)
    for (const bool find : {false, true}) {
      g_find = find;
      (find ? with : without).push_back(time_of([&] {
        for (unsigned i = 0; i != kCalls; ++i) function(16 + 16 * (i * 7 % sizes));
      }));
    }
  std::printf("%-32s %5u sizes %7zu %10.1f   %.2f walks a call\n", name, sizes,
              g_paths->frames(g_path).size(), median(with) - median(without),
              static_cast<double>(g_paths->walks() - walks) / kCalls / g_rounds);
}

__attribute__((noinline)) void measure_all_varying() {
  for (const unsigned sizes : {8u, 1000u}) {
    measure_varying("varying, direct", varying<call>, sizes);
    measure_varying("varying, in the middle", varying<plain>, sizes);
  }
}

// Not to be seen through.
using Then = void (*)();
template <unsigned kLeft>
__attribute__((noinline)) int deeper(int number, Then then) {
  int numbers[kLeft % 5 + 1] = {number};
  asm volatile("" : : "r"(numbers) : "memory");
  if constexpr (kLeft == 0)
    then();
  else
    number += deeper<kLeft - 1>(number + 1, then);
  asm volatile("" : : "r"(numbers) : "memory");
  return number + numbers[0];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) g_rounds = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  if (g_rounds < 3) {
    std::fprintf(stderr, "usage: paths_report [ROUNDS]  (at least 3)\n");
    return 2;
  }
  std::printf("%-44s %7s %10s\n", "", "frames", "ns a call");
  // Next to these: main() and three of the C library.
  int sum = deeper<5>(1, measure_hot);
  sum += deeper<13>(1, measure_hot);
  sum += deeper<25>(1, measure_hot);
  sum += deeper<25>(1, measure_new);
  sum += deeper<25>(1, measure_all_varying);
  return sum == 0;
}
