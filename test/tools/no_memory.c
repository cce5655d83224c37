/* Preloaded into a traced program, makes some of the tracer's allocations fail: calls of malloc
 * and its relatives, and of mmap, from code of librefrain*.so (including libstdc++ and libotf2).
 * The program's own succeed.
 *
 *   NO_MEMORY_EVERY    one of how many fails, at random
 *   NO_MEMORY_SEED     which ones
 *   NO_MEMORY_FROM     how many succeed before that
 *   NO_MEMORY_MOST     how many fail at most
 *   NO_MEMORY_MAP      only mappings of that many bytes are looked at
 *   NO_MEMORY_REPORT   file: a byte for each process that ended in order and in which some failed */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static uintptr_t first, last; /* where the tracer's code is */
static uint64_t every, seed, from, most, map;
static atomic_ullong calls, failed;

static int look(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size, (void)data;
  if (strstr(info->dlpi_name, "/librefrain") == NULL) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    first = info->dlpi_addr + part->p_vaddr;
    last = first + part->p_memsz;
  }
  return 1;
}

static uint64_t number(const char* name) {
  const char* text = getenv(name);
  return text ? strtoull(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void begin(void) {
  seed = number("NO_MEMORY_SEED");
  from = number("NO_MEMORY_FROM");
  most = number("NO_MEMORY_MOST");
  map = number("NO_MEMORY_MAP");
  every = number("NO_MEMORY_EVERY");
  dl_iterate_phdr(look, NULL);
}

__attribute__((destructor)) static void end(void) {
  const char* name = getenv("NO_MEMORY_REPORT");
  if (!name || atomic_load(&failed) == 0) return;
  const int file = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0) return;
  if (write(file, "x", 1) != 1) abort();
  close(file);
}

static int fails_now(const void* caller) {
  const uintptr_t at = (uintptr_t)caller;
  if (at < first || at >= last || every == 0) return 0;
  const uint64_t n = atomic_fetch_add(&calls, 1);
  uint64_t hash = (n + seed * 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  hash = (hash ^ hash >> 31) * 0x94D049BB133111EBu;
  if (n < from || (hash >> 33) % every != 0) return 0;
  if (atomic_fetch_add(&failed, 1) >= most) return 0;
  errno = ENOMEM;
  return 1;
}

static int fails(const void* caller) { return map == 0 && fails_now(caller); }

#define CALLER __builtin_return_address(0)

void* malloc(size_t size) { return fails(CALLER) ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) {
  return fails(CALLER) ? NULL : __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  return size != 0 && fails(CALLER) ? NULL : __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  return fails(CALLER) ? NULL : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return fails(CALLER) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void** to, size_t alignment, size_t size) {
  const int before = errno;
  void* memory = fails(CALLER) ? NULL : __libc_memalign(alignment, size);
  errno = before;
  if (memory != NULL) *to = memory;
  return memory != NULL ? 0 : ENOMEM;
}
void* mmap(void* where, size_t bytes, int protection, int flags, int file, off_t offset) {
  if ((map == 0 || map == bytes) && fails_now(CALLER)) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, where, bytes, protection, flags, file, offset);
}
