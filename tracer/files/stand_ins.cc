// librefrain_files.so: stands before the C library's calls on files, and reports them to librefrain.so (files_api.h).
//
// Place in the flow: ARCHITECTURE.md, stage 2. `refrain run --files` preloads it after librefrain.so; without that each call goes on
// unchanged. It includes no header that declares what it stands for, and needs no C++ library.
// Thread-safety and errors: as those of the calls. A thread that is cancelled in one leaves it without a trace.
// Cost: see files_api.h.
#include <stdarg.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "base/next_function.h"
#include "tracer/files/files_api.h"

struct _IO_FILE;
struct iovec;
extern "C" {
extern _IO_FILE* stdout;
int fileno(_IO_FILE*) noexcept;
__attribute__((weak)) const refrain::files::Api* refrain_files_api();
}

namespace {

using refrain::base::NextFunction;
using refrain::files::Api;
using refrain::files::kNoOffset;
using refrain::spool::FileOperation;
using Stream = _IO_FILE;
using Signed = std::ptrdiff_t;  // ssize_t
using Offset = std::int64_t;    // off_t and off64_t

// Of fcntl.h, on Linux.
constexpr int kAccess = 3, kWriteOnly = 1, kReadWrite = 2;
constexpr int kCreate = 0100, kExclusive = 0200, kTruncate = 01000;
constexpr int kAppend = 02000, kNonBlocking = 04000, kDataSync = 010000;
constexpr int kSync = 04000000 | kDataSync, kCloseOnExec = 02000000;
constexpr int kTemporary = 020000000;
constexpr int kDuplicate = 0, kDuplicateCloexec = 1030;
static_assert(sizeof(long) == sizeof(Offset));

const Api* api() noexcept {
  static std::atomic<const Api*> found{nullptr};
  const Api* known = found.load(std::memory_order_relaxed);
  if (known == nullptr && &refrain_files_api != nullptr) {
    known = refrain_files_api();
    found.store(known, std::memory_order_relaxed);
  }
  return known;
}

// Of a stream without a descriptor -1.
int descriptor_of(Stream* stream) noexcept {
  const int kept = errno;
  const int descriptor = stream == nullptr ? -1 : fileno(stream);
  errno = kept;
  return descriptor;
}

class Call {
 public:
  Call(FileOperation operation, int descriptor)
      : on_(api() != nullptr && api()->begin(&call_, operation, descriptor)) {}
  Call(FileOperation operation, Stream* stream) : Call(operation, descriptor_of(stream)) {}

  template <typename Result>
  Result end(Result result, std::size_t asked = 0, Offset offset = kNoOffset) {
    if (on_) api()->end(&call_, static_cast<std::int64_t>(result), asked, offset);
    return result;
  }
  // Of a stream, whose calls say otherwise what they have done.
  void end_with(std::int64_t bytes) {
    if (on_) api()->end(&call_, bytes, 0, kNoOffset);
  }
  bool on() const noexcept { return on_; }

 private:
  refrain::files::Call call_;
  bool on_;
};

constexpr std::uint16_t flags_of(int flags) noexcept {
  namespace spool = refrain::spool;
  unsigned out = 0;
  if ((flags & kAccess) != kWriteOnly) out |= spool::kFileReadable;
  if ((flags & kAccess) == kWriteOnly || (flags & kAccess) == kReadWrite)
    out |= spool::kFileWritable;
  struct Flag {
    int open;
    unsigned own;
  };
  for (const Flag& flag : {Flag{kCreate, spool::kFileCreate},
                           {kExclusive, spool::kFileExclusive},
                           {kTruncate, spool::kFileTruncate},
                           {kAppend, spool::kFileAppend},
                           {kSync, spool::kFileSync},
                           {kDataSync, spool::kFileDataSync},
                           {kNonBlocking, spool::kFileNonBlocking},
                           {kCloseOnExec, spool::kFileCloseOnExec}})
    if ((flags & flag.open) == flag.open) out |= flag.own;
  return static_cast<std::uint16_t>(out);
}

// Of the mode of fopen().
int flags_of_mode(const char* mode) noexcept {
  int flags = *mode == 'w'   ? kWriteOnly | kCreate | kTruncate
              : *mode == 'a' ? kWriteOnly | kCreate | kAppend
                             : 0;
  for (const char* c = mode; *c != '\0' && *c != ','; ++c) {
    if (*c == '+') flags = (flags & ~kAccess) | kReadWrite;
    if (*c == 'x') flags |= kExclusive;
    if (*c == 'e') flags |= kCloseOnExec;
  }
  return flags;
}

class OpenCall {
 public:
  explicit OpenCall(FileOperation operation)
      : on_(api() != nullptr && api()->begin_open(&call_, operation)) {}

  int end(int descriptor, int flags) {
    if (on_ && descriptor >= 0) api()->end_open(&call_, descriptor, flags_of(flags));
    return descriptor;
  }
  Stream* end(Stream* stream, const char* mode) {
    if (stream != nullptr) end(descriptor_of(stream), flags_of_mode(mode));
    return stream;
  }

 private:
  refrain::files::Call call_;
  bool on_;
};

void forget(unsigned first, unsigned last) {
  if (api() != nullptr) api()->forget(first, last);
}
void forget(int descriptor) {
  if (descriptor >= 0)
    forget(static_cast<unsigned>(descriptor), static_cast<unsigned>(descriptor));
}
void share(int descriptor) {
  if (api() != nullptr && descriptor >= 0) api()->share(descriptor);
}
int copied(int from, int to) {
  if (to < 0 || to == from) return to;
  forget(to);
  share(from);
  share(to);
  return to;
}
void seek(int descriptor, Offset result) {
  const int kept = errno;
  if (api() != nullptr) api()->seek(descriptor, result);
  errno = kept;
}
void seek(Stream* stream) { seek(descriptor_of(stream), kNoOffset); }

bool has_mode(int flags) {
  return (flags & kCreate) != 0 || (flags & kTemporary) == kTemporary;
}

}  // namespace

// Defines NAME, and what comes after it: NEXT. That is looked for when the library is loaded: later the loader's lock may be another
// thread's, which waits for this one in a constructor.
#define REFRAIN_STAND_IN(result, name, ...)                                \
  namespace {                                                              \
  constinit NextFunction<result(__VA_ARGS__)> g_next_##name(#name);        \
  __attribute__((constructor)) void find_##name() { g_next_##name.get(); } \
  }                                                                        \
  extern "C" __attribute__((visibility("default")))                        \
  result stand_in_##name(__VA_ARGS__) __asm__(#name);                      \
  result stand_in_##name

#define REFRAIN_NEXT(name)               \
  const auto next = g_next_##name.get(); \
  if (next == nullptr) return errno = ENOSYS, -1

// The same for one with arguments that are not declared.
#define REFRAIN_STAND_IN_MORE(result, name, ...)                           \
  namespace {                                                              \
  constinit NextFunction<result(__VA_ARGS__, ...)> g_next_##name(#name);   \
  __attribute__((constructor)) void find_##name() { g_next_##name.get(); } \
  }                                                                        \
  extern "C" __attribute__((visibility("default")))                        \
  result stand_in_##name(__VA_ARGS__, ...) __asm__(#name);                 \
  result stand_in_##name

// --- Descriptors begin and end ---

#define REFRAIN_OPEN(name)                                              \
  REFRAIN_STAND_IN_MORE(int, name, const char*, int)                    \
  (const char* path, int flags, ...) {                                  \
    REFRAIN_NEXT(name);                                                 \
    va_list more;                                                       \
    va_start(more, flags);                                              \
    const unsigned mode = has_mode(flags) ? va_arg(more, unsigned) : 0; \
    va_end(more);                                                       \
    OpenCall call(FileOperation::kOpen);                                \
    return call.end(next(path, flags, mode), flags);                    \
  }
REFRAIN_OPEN(open)
REFRAIN_OPEN(open64)

#define REFRAIN_OPENAT(name)                                            \
  REFRAIN_STAND_IN_MORE(int, name, int, const char*, int)               \
  (int folder, const char* path, int flags, ...) {                      \
    REFRAIN_NEXT(name);                                                 \
    va_list more;                                                       \
    va_start(more, flags);                                              \
    const unsigned mode = has_mode(flags) ? va_arg(more, unsigned) : 0; \
    va_end(more);                                                       \
    OpenCall call(FileOperation::kOpen);                                \
    return call.end(next(folder, path, flags, mode), flags);            \
  }
REFRAIN_OPENAT(openat)
REFRAIN_OPENAT(openat64)

#define REFRAIN_OPEN_2(name)                    \
  REFRAIN_STAND_IN(int, name, const char*, int) \
  (const char* path, int flags) {               \
    REFRAIN_NEXT(name);                         \
    OpenCall call(FileOperation::kOpen);        \
    return call.end(next(path, flags), flags);  \
  }
REFRAIN_OPEN_2(__open_2)
REFRAIN_OPEN_2(__open64_2)

#define REFRAIN_OPENAT_2(name)                         \
  REFRAIN_STAND_IN(int, name, int, const char*, int)   \
  (int folder, const char* path, int flags) {          \
    REFRAIN_NEXT(name);                                \
    OpenCall call(FileOperation::kOpen);               \
    return call.end(next(folder, path, flags), flags); \
  }
REFRAIN_OPENAT_2(__openat_2)
REFRAIN_OPENAT_2(__openat64_2)

#define REFRAIN_CREAT(name)                                              \
  REFRAIN_STAND_IN(int, name, const char*, unsigned)                     \
  (const char* path, unsigned mode) {                                    \
    REFRAIN_NEXT(name);                                                  \
    OpenCall call(FileOperation::kOpen);                                 \
    return call.end(next(path, mode), kWriteOnly | kCreate | kTruncate); \
  }
REFRAIN_CREAT(creat)
REFRAIN_CREAT(creat64)

// Forgotten before, for another thread may get the number at once.
REFRAIN_STAND_IN(int, close, int)
(int descriptor) {
  REFRAIN_NEXT(close);
  Call call(FileOperation::kClose, descriptor);
  forget(descriptor);
  return call.end(next(descriptor));
}

REFRAIN_STAND_IN(int, close_range, unsigned, unsigned, int)
(unsigned first, unsigned last, int flags) {
  REFRAIN_NEXT(close_range);
  constexpr int kAtExec = 4;
  if ((flags & kAtExec) == 0) forget(first, last);
  return next(first, last, flags);
}

REFRAIN_STAND_IN(void, closefrom, int)
(int first) {
  forget(first < 0 ? 0 : static_cast<unsigned>(first), ~0U);
  if (const auto next = g_next_closefrom.get(); next != nullptr) next(first);
}

REFRAIN_STAND_IN(int, dup, int)
(int descriptor) {
  REFRAIN_NEXT(dup);
  return copied(descriptor, next(descriptor));
}

REFRAIN_STAND_IN(int, dup2, int, int)
(int from, int to) {
  REFRAIN_NEXT(dup2);
  return copied(from, next(from, to));
}

REFRAIN_STAND_IN(int, dup3, int, int, int)
(int from, int to, int flags) {
  REFRAIN_NEXT(dup3);
  return copied(from, next(from, to, flags));
}

// As the C library does, which takes whatever is there for the argument.
#define REFRAIN_FCNTL(name)                                                   \
  REFRAIN_STAND_IN_MORE(int, name, int, int)                                  \
  (int descriptor, int command, ...) {                                        \
    REFRAIN_NEXT(name);                                                       \
    va_list more;                                                             \
    va_start(more, command);                                                  \
    void* const argument = va_arg(more, void*);                               \
    va_end(more);                                                             \
    const int result = next(descriptor, command, argument);                   \
    if (command != kDuplicate && command != kDuplicateCloexec) return result; \
    return copied(descriptor, result);                                        \
  }
REFRAIN_FCNTL(fcntl)
REFRAIN_FCNTL(fcntl64)

// --- Reading and writing ---

#define REFRAIN_MOVE(name, operation, buffer)              \
  REFRAIN_STAND_IN(Signed, name, int, buffer, std::size_t) \
  (int descriptor, buffer data, std::size_t bytes) {       \
    REFRAIN_NEXT(name);                                    \
    Call call(FileOperation::operation, descriptor);       \
    return call.end(next(descriptor, data, bytes), bytes); \
  }
REFRAIN_MOVE(read, kRead, void*)
REFRAIN_MOVE(write, kWrite, const void*)

#define REFRAIN_MOVE_AT(name, operation, buffer)                           \
  REFRAIN_STAND_IN(Signed, name, int, buffer, std::size_t, Offset)         \
  (int descriptor, buffer data, std::size_t bytes, Offset offset) {        \
    REFRAIN_NEXT(name);                                                    \
    Call call(FileOperation::operation, descriptor);                       \
    return call.end(next(descriptor, data, bytes, offset), bytes, offset); \
  }
REFRAIN_MOVE_AT(pread, kPread, void*)
REFRAIN_MOVE_AT(pread64, kPread, void*)
REFRAIN_MOVE_AT(pwrite, kPwrite, const void*)
REFRAIN_MOVE_AT(pwrite64, kPwrite, const void*)

// What gcc makes of them with -D_FORTIFY_SOURCE: `room` is the buffer's.
REFRAIN_STAND_IN(Signed, __read_chk, int, void*, std::size_t, std::size_t)
(int descriptor, void* data, std::size_t bytes, std::size_t room) {
  REFRAIN_NEXT(__read_chk);
  Call call(FileOperation::kRead, descriptor);
  return call.end(next(descriptor, data, bytes, room), bytes);
}

#define REFRAIN_PREAD_CHK(name)                                                      \
  REFRAIN_STAND_IN(Signed, name, int, void*, std::size_t, Offset, std::size_t)       \
  (int descriptor, void* data, std::size_t bytes, Offset offset, std::size_t room) { \
    REFRAIN_NEXT(name);                                                              \
    Call call(FileOperation::kPread, descriptor);                                    \
    return call.end(next(descriptor, data, bytes, offset, room), bytes, offset);     \
  }
REFRAIN_PREAD_CHK(__pread_chk)
REFRAIN_PREAD_CHK(__pread64_chk)

// How much is asked for is in memory of the program, which may be wrong: what was moved stands for it.
namespace {
std::size_t moved(Signed result) {
  return result < 0 ? 0 : static_cast<std::size_t>(result);
}
}  // namespace

#define REFRAIN_MOVE_PARTS(name, operation)               \
  REFRAIN_STAND_IN(Signed, name, int, const iovec*, int)  \
  (int descriptor, const iovec* parts, int count) {       \
    REFRAIN_NEXT(name);                                   \
    Call call(FileOperation::operation, descriptor);      \
    const Signed result = next(descriptor, parts, count); \
    return call.end(result, moved(result));               \
  }
REFRAIN_MOVE_PARTS(readv, kReadv)
REFRAIN_MOVE_PARTS(writev, kWritev)

#define REFRAIN_MOVE_PARTS_AT(name, operation)                     \
  REFRAIN_STAND_IN(Signed, name, int, const iovec*, int, Offset)   \
  (int descriptor, const iovec* parts, int count, Offset offset) { \
    REFRAIN_NEXT(name);                                            \
    Call call(FileOperation::operation, descriptor);               \
    const Signed result = next(descriptor, parts, count, offset);  \
    return call.end(result, moved(result), offset);                \
  }
REFRAIN_MOVE_PARTS_AT(preadv, kReadv)
REFRAIN_MOVE_PARTS_AT(preadv64, kReadv)
REFRAIN_MOVE_PARTS_AT(pwritev, kWritev)
REFRAIN_MOVE_PARTS_AT(pwritev64, kWritev)

#define REFRAIN_SYNC(name, operation)                \
  REFRAIN_STAND_IN(int, name, int)                   \
  (int descriptor) {                                 \
    REFRAIN_NEXT(name);                              \
    Call call(FileOperation::operation, descriptor); \
    return call.end(next(descriptor));               \
  }
REFRAIN_SYNC(fsync, kFsync)
REFRAIN_SYNC(fdatasync, kFdatasync)

#define REFRAIN_LSEEK(name)                                 \
  REFRAIN_STAND_IN(Offset, name, int, Offset, int)          \
  (int descriptor, Offset offset, int whence) {             \
    REFRAIN_NEXT(name);                                     \
    const Offset result = next(descriptor, offset, whence); \
    seek(descriptor, result);                               \
    return result;                                          \
  }
REFRAIN_LSEEK(lseek)
REFRAIN_LSEEK(lseek64)

// --- C streams ---

#undef REFRAIN_NEXT
#define REFRAIN_NEXT(name, failure)      \
  const auto next = g_next_##name.get(); \
  if (next == nullptr) return errno = ENOSYS, failure

#define REFRAIN_FOPEN(name)                                 \
  REFRAIN_STAND_IN(Stream*, name, const char*, const char*) \
  (const char* path, const char* mode) {                    \
    REFRAIN_NEXT(name, nullptr);                            \
    OpenCall call(FileOperation::kFopen);                   \
    return call.end(next(path, mode), mode);                \
  }
REFRAIN_FOPEN(fopen)
REFRAIN_FOPEN(fopen64)

#define REFRAIN_FREOPEN(name)                                        \
  REFRAIN_STAND_IN(Stream*, name, const char*, const char*, Stream*) \
  (const char* path, const char* mode, Stream* stream) {             \
    REFRAIN_NEXT(name, nullptr);                                     \
    forget(descriptor_of(stream));                                   \
    OpenCall call(FileOperation::kFopen);                            \
    return call.end(next(path, mode, stream), mode);                 \
  }
REFRAIN_FREOPEN(freopen)
REFRAIN_FREOPEN(freopen64)

REFRAIN_STAND_IN(Stream*, fdopen, int, const char*)
(int descriptor, const char* mode) {
  REFRAIN_NEXT(fdopen, nullptr);
  share(descriptor);
  return next(descriptor, mode);
}

REFRAIN_STAND_IN(int, fclose, Stream*)
(Stream* stream) {
  REFRAIN_NEXT(fclose, -1);
  Call call(FileOperation::kFclose, stream);
  forget(descriptor_of(stream));
  return call.end(next(stream));
}

#define REFRAIN_FMOVE(name, operation, buffer)                                   \
  REFRAIN_STAND_IN(std::size_t, name, buffer, std::size_t, std::size_t, Stream*) \
  (buffer data, std::size_t size, std::size_t count, Stream * stream) {          \
    REFRAIN_NEXT(name, 0);                                                       \
    Call call(FileOperation::operation, stream);                                 \
    const std::size_t result = next(data, size, count, stream);                  \
    call.end_with(static_cast<std::int64_t>(result * size));                     \
    return result;                                                               \
  }
REFRAIN_FMOVE(fread, kFread, void*)
REFRAIN_FMOVE(fread_unlocked, kFread, void*)
REFRAIN_FMOVE(fwrite, kFwrite, const void*)
REFRAIN_FMOVE(fwrite_unlocked, kFwrite, const void*)

#define REFRAIN_FREAD_CHK(name)                                                         \
  REFRAIN_STAND_IN(std::size_t, name, void*, std::size_t, std::size_t, std::size_t,     \
                   Stream*)                                                             \
  (void* data, std::size_t room, std::size_t size, std::size_t count, Stream* stream) { \
    REFRAIN_NEXT(name, 0);                                                              \
    Call call(FileOperation::kFread, stream);                                           \
    const std::size_t result = next(data, room, size, count, stream);                   \
    call.end_with(static_cast<std::int64_t>(result * size));                            \
    return result;                                                                      \
  }
REFRAIN_FREAD_CHK(__fread_chk)
REFRAIN_FREAD_CHK(__fread_unlocked_chk)

#define REFRAIN_FFLUSH(name)                   \
  REFRAIN_STAND_IN(int, name, Stream*)         \
  (Stream * stream) {                          \
    REFRAIN_NEXT(name, -1);                    \
    Call call(FileOperation::kFflush, stream); \
    return call.end(next(stream));             \
  }
REFRAIN_FFLUSH(fflush)
REFRAIN_FFLUSH(fflush_unlocked)

#define REFRAIN_FGETS(name)                                                            \
  REFRAIN_STAND_IN(char*, name, char*, int, Stream*)                                   \
  (char* text, int room, Stream* stream) {                                             \
    REFRAIN_NEXT(name, nullptr);                                                       \
    Call call(FileOperation::kFgets, stream);                                          \
    char* const result = next(text, room, stream);                                     \
    if (call.on())                                                                     \
      call.end_with(result == nullptr ? 0 : static_cast<Offset>(std::strlen(result))); \
    return result;                                                                     \
  }
REFRAIN_FGETS(fgets)
REFRAIN_FGETS(fgets_unlocked)

REFRAIN_STAND_IN(char*, __fgets_chk, char*, std::size_t, int, Stream*)
(char* text, std::size_t size, int room, Stream* stream) {
  REFRAIN_NEXT(__fgets_chk, nullptr);
  Call call(FileOperation::kFgets, stream);
  char* const result = next(text, size, room, stream);
  if (call.on())
    call.end_with(result == nullptr ? 0 : static_cast<Offset>(std::strlen(result)));
  return result;
}

REFRAIN_STAND_IN(Signed, getline, char**, std::size_t*, Stream*)
(char** text, std::size_t* room, Stream* stream) {
  REFRAIN_NEXT(getline, -1);
  Call call(FileOperation::kFgets, stream);
  const Signed result = next(text, room, stream);
  call.end_with(result < 0 ? 0 : result);
  return result;
}

#define REFRAIN_GETDELIM(name)                                       \
  REFRAIN_STAND_IN(Signed, name, char**, std::size_t*, int, Stream*) \
  (char** text, std::size_t* room, int end, Stream* stream) {        \
    REFRAIN_NEXT(name, -1);                                          \
    Call call(FileOperation::kFgets, stream);                        \
    const Signed result = next(text, room, end, stream);             \
    call.end_with(result < 0 ? 0 : result);                          \
    return result;                                                   \
  }
REFRAIN_GETDELIM(getdelim)
REFRAIN_GETDELIM(__getdelim)

#define REFRAIN_FPUTS(name)                                                    \
  REFRAIN_STAND_IN(int, name, const char*, Stream*)                            \
  (const char* text, Stream* stream) {                                         \
    REFRAIN_NEXT(name, -1);                                                    \
    Call call(FileOperation::kFputs, stream);                                  \
    const int result = next(text, stream);                                     \
    if (call.on())                                                             \
      call.end_with(result < 0 ? -1 : static_cast<Offset>(std::strlen(text))); \
    return result;                                                             \
  }
REFRAIN_FPUTS(fputs)
REFRAIN_FPUTS(fputs_unlocked)

REFRAIN_STAND_IN(int, puts, const char*)
(const char* text) {
  REFRAIN_NEXT(puts, -1);
  Call call(FileOperation::kFputs, stdout);
  const int result = next(text);
  if (call.on())
    call.end_with(result < 0 ? -1 : static_cast<Offset>(std::strlen(text)) + 1);
  return result;
}

REFRAIN_STAND_IN(int, vfprintf, Stream*, const char*, va_list)
(Stream* stream, const char* format, va_list values) {
  REFRAIN_NEXT(vfprintf, -1);
  Call call(FileOperation::kFprintf, stream);
  return call.end(next(stream, format, values));
}

REFRAIN_STAND_IN(int, vprintf, const char*, va_list)
(const char* format, va_list values) { return stand_in_vfprintf(stdout, format, values); }

REFRAIN_STAND_IN_MORE(int, fprintf, Stream*, const char*)
(Stream* stream, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int result = stand_in_vfprintf(stream, format, values);
  va_end(values);
  return result;
}

REFRAIN_STAND_IN_MORE(int, printf, const char*)
(const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int result = stand_in_vfprintf(stdout, format, values);
  va_end(values);
  return result;
}

REFRAIN_STAND_IN(int, __vfprintf_chk, Stream*, int, const char*, va_list)
(Stream* stream, int flag, const char* format, va_list values) {
  REFRAIN_NEXT(__vfprintf_chk, -1);
  Call call(FileOperation::kFprintf, stream);
  return call.end(next(stream, flag, format, values));
}

REFRAIN_STAND_IN(int, __vprintf_chk, int, const char*, va_list)
(int flag, const char* format, va_list values) {
  return stand_in___vfprintf_chk(stdout, flag, format, values);
}

REFRAIN_STAND_IN_MORE(int, __fprintf_chk, Stream*, int, const char*)
(Stream* stream, int flag, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int result = stand_in___vfprintf_chk(stream, flag, format, values);
  va_end(values);
  return result;
}

REFRAIN_STAND_IN_MORE(int, __printf_chk, int, const char*)
(int flag, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int result = stand_in___vfprintf_chk(stdout, flag, format, values);
  va_end(values);
  return result;
}

#define REFRAIN_FSEEK(name)                         \
  REFRAIN_STAND_IN(int, name, Stream*, Offset, int) \
  (Stream * stream, Offset offset, int whence) {    \
    REFRAIN_NEXT(name, -1);                         \
    seek(stream);                                   \
    return next(stream, offset, whence);            \
  }
REFRAIN_FSEEK(fseek)
REFRAIN_FSEEK(fseeko)
REFRAIN_FSEEK(fseeko64)

REFRAIN_STAND_IN(void, rewind, Stream*)
(Stream* stream) {
  seek(stream);
  if (const auto next = g_next_rewind.get(); next != nullptr) next(stream);
}

namespace {

// Before there are threads and handlers.
__attribute__((constructor)) void at_load() {
  const int kept = errno;
  api();
  g_next_open.get(), g_next_open64.get(), g_next_close.get(), g_next_read.get(),
      g_next_write.get(), g_next_pread64.get(), g_next_pwrite64.get(), g_next_fsync.get(),
      g_next_lseek.get(), g_next_dup2.get(), g_next_fcntl.get();
  errno = kept;
}

}  // namespace
