// What the linker puts in the place of functions of POSIX in the library's own code, and in that which is linked into it (tracer/BUILD,
// --wrap). A program may have functions of these names itself, for something else (ISO C lets it), and
// the loader would give us the program's.
//
// Thread-safety and errors: as those of POSIX; none is a cancellation point. Cost: as theirs.

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/slow_path.h"

extern "C" {

int __wrap_stat(const char* path, struct stat* to) {
  return fstatat(AT_FDCWD, path, to, 0);
}
int __wrap_lstat(const char* path, struct stat* to) {
  return fstatat(AT_FDCWD, path, to, AT_SYMLINK_NOFOLLOW);
}
int __wrap_access(const char* path, int mode) { return faccessat(AT_FDCWD, path, mode, 0); }
int __wrap_link(const char* from, const char* to) {
  return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int __wrap_symlink(const char* to, const char* path) {
  return symlinkat(to, AT_FDCWD, path);
}
ssize_t __wrap_readlink(const char* path, char* to, size_t bytes) {
  return readlinkat(AT_FDCWD, path, to, bytes);
}
int __wrap_unlink(const char* path) { return unlinkat(AT_FDCWD, path, 0); }
int __wrap_rmdir(const char* path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int __wrap_remove(const char* path) {
  if (unlinkat(AT_FDCWD, path, 0) == 0) return 0;
  return errno == EISDIR || errno == EPERM ? unlinkat(AT_FDCWD, path, AT_REMOVEDIR) : -1;
}
int __wrap_rename(const char* from, const char* to) {
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}
int __wrap_mkdir(const char* path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
int __wrap_chmod(const char* path, mode_t mode) {
  return fchmodat(AT_FDCWD, path, mode, 0);
}

ssize_t __wrap_read(int file, void* to, size_t bytes) {
  return syscall(SYS_read, file, to, bytes);
}
ssize_t __wrap_write(int file, const void* from, size_t bytes) {
  return syscall(SYS_write, file, from, bytes);
}
int __wrap_close(int file) { return static_cast<int>(syscall(SYS_close, file)); }
int __wrap_open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0;
  va_end(more);
  return openat(AT_FDCWD, path, flags, mode);
}

int __wrap_kill(pid_t process, int signal) {
  return static_cast<int>(syscall(SYS_kill, process, signal));
}
int __wrap_poll(pollfd* files, nfds_t count, int ms) {
  const timespec limit{ms / 1000, ms % 1000 * 1'000'000L};
  return ppoll(files, count, ms < 0 ? nullptr : &limit, nullptr);
}
time_t __wrap_time(time_t* to) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (to != nullptr) *to = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"

// What the linker puts in the place of malloc and its kin in the library's own code, libotf2's
// above all (tracer/BUILD, --wrap): see memory_reserve.h. They may be the program's, whose functions may be
// instrumented: what they call is our own code.

namespace {

// What is larger than a piece fails.
template <typename Allocate>
void* retried(std::size_t bytes, const Allocate& allocate) noexcept {
  const refrain::recorder::OwnCode own_code;
  void* memory = allocate();
  while (memory == nullptr && bytes != 0 && bytes <= refrain::recorder::kMemoryPiece &&
         refrain::recorder::give_back_memory())
    memory = allocate();
  return memory;
}

}  // namespace

extern "C" {

void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t count, std::size_t bytes);
void* __real_realloc(void* memory, std::size_t bytes);
void __real_free(void* memory);

void* __wrap_malloc(std::size_t bytes) {
  return retried(bytes, [=] { return __real_malloc(bytes); });
}

void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) return nullptr;
  return retried(all, [=] { return __real_calloc(count, bytes); });
}

void* __wrap_realloc(void* memory, std::size_t bytes) {
  return retried(bytes, [=] { return __real_realloc(memory, bytes); });
}

void __wrap_free(void* memory) {
  const refrain::recorder::OwnCode own_code;
  __real_free(memory);
}

}  // extern "C"

// gethostid() for libotf2, which distinguishes traces by it, the time and the process' number. The C
// library's looks up the address of the host's name: some twenty system calls at best, seconds where a
// name server does not answer, in a program that never asked for one. Ours comes from the name alone.
//
// Place in the flow: ARCHITECTURE.md, stage 3; the library is linked with --wrap=gethostid.
// Thread-safety: all.

extern "C" __attribute__((visibility("hidden"))) long __wrap_gethostid() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof name - 1);
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char* c = name; *c != '\0'; ++c)
    hash = (hash ^ static_cast<unsigned char>(*c)) * 16777619u;
  return static_cast<std::int32_t>(hash);
}
