// What the linker puts in the place of functions of POSIX in the library's own code, and in that which is linked into it (tracer/BUILD,
// --wrap). A program may have functions of these names itself, for something else (ISO C lets it), and
// the loader would give us the program's.
//
// Thread-safety and errors: as those of POSIX; none is a cancellation point. Cost: as theirs.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

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
