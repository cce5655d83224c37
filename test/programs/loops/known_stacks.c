// Stacks whose functions and loops are known: prints its own code ("module ...", as a journal has it) and, where it
// stands in certain loops, the addresses of its callers from the innermost on ("NAME ADDRESS ...").
// Loops have their names in a comment at their line.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static volatile int rounds = 2;

__attribute__((noinline)) static void stack(const char* name) {
  printf("%s", name);
  for (void** frame = __builtin_frame_address(0); frame != NULL && frame[1] != NULL;) {
    printf(" %lx", (unsigned long)(uintptr_t)frame[1]);
    void** const next = (void**)frame[0];
    if (next <= frame) break;
    frame = next;
  }
  printf("\n");
}

__attribute__((noinline)) static void work(void) {
  int left = rounds;
  do {
    stack("work");  // loop: do
  } while (--left > 0);
}

static inline __attribute__((always_inline)) void helper(void) {
  for (int i = 0; i < rounds; ++i)  // loop: helper
    stack("inlined");
}

__attribute__((noinline)) static int descend(int depth) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {  // loop: descend
    if (depth == 0)
      stack("deep");
    else
      sum += descend(depth - 1);
  }
  return sum + rounds;
}

static void print_module(void) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  char text[4096], path[2048];
  unsigned long start, end, offset, code = (unsigned long)(uintptr_t)&work;
  while (maps != NULL && fgets(text, sizeof text, maps) != NULL)
    if (sscanf(text, "%lx-%lx %*s %lx %*s %*s %2047s", &start, &end, &offset, path) == 4 &&
        code >= start && code < end)
      printf("module %lx %lx %lx - %s\n", start, end, offset, path);
  if (maps != NULL) fclose(maps);
}

int main(void) {
  print_module();
  for (int i = 0; i < rounds; ++i) {    // loop: outer
    for (int j = 0; j < rounds; ++j) {  // loop: inner
      work();
      stack("nest");
    }
    helper();
  }
  stack("main");
  return descend(2) == 0;
}
