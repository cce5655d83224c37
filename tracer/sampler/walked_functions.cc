#include "tracer/sampler/walked_functions.h"

#include <cstdlib>

// WALKED_AS: the name of the table. All functions differ a little, so that none is replaced by another.

namespace refrain::sampler::testing {
namespace {

volatile int g_one = 1;

__attribute__((noinline)) void use(void* memory) {
  asm volatile("" : : "r"(memory) : "memory");
}

int recursion(int depth, AtEnd at_end);
int variable_length(int depth, AtEnd at_end);
int aligned_locals(int depth, AtEnd at_end);
int many_registers(int depth, AtEnd at_end);
int many_arguments(int depth, AtEnd at_end);

__attribute__((noinline)) int recursion(int depth, AtEnd at_end) {
  return (depth == 0 ? at_end(g_one) : recursion(depth - 1, at_end)) + g_one;
}

__attribute__((noinline)) int variable_length(int depth, AtEnd at_end) {
  const int count = depth * 7 + g_one;
  int numbers[count];
  char* more =
      static_cast<char*>(__builtin_alloca(static_cast<unsigned>(depth * 100 + 16)));
  numbers[count - 1] = depth;
  more[depth] = static_cast<char>(depth);
  use(numbers);
  use(more);
  const int got = depth == 0 ? at_end(2) : variable_length(depth - 1, at_end);
  return got + numbers[count - 1] + more[depth];
}

__attribute__((noinline)) int aligned_locals(int depth, AtEnd at_end) {
  alignas(64) int numbers[32];
  char* more = static_cast<char*>(__builtin_alloca(static_cast<unsigned>(depth * 24 + 16)));
  numbers[depth % 32] = depth;
  more[depth] = 1;
  use(numbers);
  use(more);
  const int got = depth == 0 ? at_end(3) : aligned_locals(depth - 1, at_end);
  return got + numbers[depth % 32] + more[depth];
}

__attribute__((noinline)) int many_registers(int depth, AtEnd at_end) {
  const int a = g_one, b = g_one + a, c = g_one + b, d = g_one + c, e = g_one + d,
            f = g_one + e;
  const int got = depth == 0 ? at_end(4) : many_registers(depth - 1, at_end);
  return got + g_one * (a ^ b) + g_one * (c ^ d) + g_one * (e ^ f) + a + b + c + d + e + f;
}

__attribute__((noinline)) int with_arguments(int a, int b, int c, int d, int e, int f,
                                             int g, int h, AtEnd at_end, int depth) {
  use(&h);
  const int got = depth == 0 ? at_end(5) : many_arguments(depth - 1, at_end);
  return got + a + b + c + d + e + f + g + h;
}
__attribute__((noinline)) int many_arguments(int depth, AtEnd at_end) {
  return with_arguments(1, 2, 3, 4, 5, 6, 7, depth, at_end, depth) + g_one;
}

thread_local AtEnd t_at_end = nullptr;
thread_local int t_depth = 0;
int sorting(int depth, AtEnd at_end);

int compare(const void* left, const void* right) {
  if (t_at_end != nullptr) {
    const AtEnd at_end = t_at_end;
    t_at_end = nullptr;
    if (t_depth == 0)
      at_end(6);
    else
      sorting(t_depth - 1, at_end);
  }
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

__attribute__((noinline)) int sorting(int depth, AtEnd at_end) {
  int numbers[5] = {3, 2, 5, 1, depth};
  t_at_end = at_end;
  t_depth = depth;
  std::qsort(numbers, 5, sizeof numbers[0], compare);
  return numbers[1];
}

}  // namespace

extern const WalkedFunctions WALKED_AS;
const WalkedFunctions WALKED_AS = {WALKED_NAME,    recursion,      variable_length,
                                   aligned_locals, many_registers, many_arguments,
                                   sorting};

}  // namespace refrain::sampler::testing
