/* Has an allocator of its own, and is compiled with -finstrument-functions, that as well.
 *
 * Argument: [calls = 100] of `work` */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char pool[64 << 20] __attribute__((aligned(16)));
static size_t used;

void* malloc(size_t bytes) {
  bytes = (bytes + 15) / 16 * 16;
  const size_t at = __atomic_fetch_add(&used, bytes + 16, __ATOMIC_RELAXED);
  if (at + bytes + 16 > sizeof pool) return NULL;
  *(size_t*)(pool + at) = bytes;
  return pool + at + 16;
}

void free(void* memory) { (void)memory; }

void* calloc(size_t count, size_t bytes) {
  char* const memory = malloc(count * bytes);
  if (memory == NULL) return NULL;
  for (size_t i = 0; i < count * bytes; ++i) ((volatile char*)memory)[i] = 0;
  return memory;
}

void* realloc(void* memory, size_t bytes) {
  void* const larger = malloc(bytes);
  if (memory == NULL || larger == NULL) return larger;
  const size_t before = ((size_t*)memory)[-2];
  return memcpy(larger, memory, before < bytes ? before : bytes);
}

static int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}

int main(int argc, char** argv) {
  const int calls = argc > 1 ? atoi(argv[1]) : 100;
  int sum = 0;
  for (int i = 0; i < calls; ++i) sum += work(i);
  printf("sum=%d\n", sum);
  return 0;
}
