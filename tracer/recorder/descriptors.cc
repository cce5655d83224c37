#include "tracer/recorder/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <mutex>

namespace refrain::recorder {
namespace {

constexpr int kLowDescriptors = 3;
// No number is larger than it need be: the kernel's table has room for all up to the largest, and copies it at a fork.
constexpr rlim_t kHighest = 4096;
constexpr rlim_t kMore = 1024;
constexpr rlim_t kShare = 16;

constinit HandlerSafeMutex g_descriptor_lock;
// All under the lock.
constinit unsigned g_low_users = 0;
constinit std::array<bool, kLowDescriptors> g_low_taken{};
constinit std::array<FileIdentity, kLowDescriptors> g_low_files{};
constinit std::bitset<kHighest> g_kept_below{};  // the limit

// A descriptor that is good for nothing: EBADF, as if it were closed.
void take_low() noexcept {
  for (int low = 0; low < kLowDescriptors; ++low) {
    if (fcntl(low, F_GETFD) >= 0) continue;
    const int made = open("/", O_PATH | O_CLOEXEC);
    if (made == low && identify(made, g_low_files[low])) {
      g_low_taken[low] = true;
    } else if (made >= 0) {
      close(made);
    }
  }
}

void give_low() noexcept {
  for (int low = 0; low < kLowDescriptors; ++low) {
    FileIdentity now;
    if (g_low_taken[low] && identify(low, now) && now == g_low_files[low] &&
        (fcntl(low, F_GETFL) & O_PATH) != 0)
      close(low);
    g_low_taken[low] = false;
  }
}

// Raises the soft limit to `wanted`, or as far as it goes; 0: it is not lower.
rlim_t raise_limit(rlim_t wanted, rlim_t& before) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  before = limit.rlim_cur;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  if (limit.rlim_cur <= before || setrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return limit.rlim_cur;
}

void restore_limit(rlim_t raised, rlim_t before) noexcept {
  rlimit limit{};
  // Another value is the program's, from another thread.
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur != raised) return;
  limit.rlim_cur = before;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// As fcntl(F_DUPFD_CLOEXEC), above the limit.
int duplicate_above(int descriptor, rlim_t limit) noexcept {
  rlim_t before = 0;
  const rlim_t raised = raise_limit(limit + kMore, before);
  if (raised == 0) return -1;
  const int made = fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(limit));
  restore_limit(raised, before);
  return made;
}

}  // namespace

NoLowDescriptors::NoLowDescriptors() noexcept {
  const std::lock_guard lock(g_descriptor_lock);
  ++g_low_users;
  take_low();
}

NoLowDescriptors::~NoLowDescriptors() {
  const KeepErrno keep_errno;
  const std::lock_guard lock(g_descriptor_lock);
  if (g_low_users == 0) return;
  --g_low_users;
  if (g_low_users == 0) give_low();
}

MoreDescriptors::MoreDescriptors() noexcept {
  const std::lock_guard lock(g_descriptor_lock);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  raised_ = raise_limit(limit.rlim_cur + kMore, limit.rlim_cur);
  before_ = limit.rlim_cur;
}

MoreDescriptors::~MoreDescriptors() {
  const KeepErrno keep_errno;
  const std::lock_guard lock(g_descriptor_lock);
  if (raised_ != 0) restore_limit(raised_, before_);
}

int open_apart(int folder, const char* path, int flags, mode_t mode) noexcept {
  const NoLowDescriptors no_low_descriptors;
  const int opened = openat(folder, path, flags | O_CLOEXEC, mode);
  if (opened >= 0 || errno != EMFILE) return opened;
  const MoreDescriptors more_descriptors;
  return openat(folder, path, flags | O_CLOEXEC, mode);
}

int keep_descriptor(int descriptor) noexcept {
  if (descriptor < 0) return -1;
  const std::lock_guard lock(g_descriptor_lock);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = limit.rlim_max = kHighest;
  const rlim_t top = std::min(limit.rlim_cur, kHighest);
  int kept = limit.rlim_cur <= kHighest
                 ? duplicate_above(descriptor, top)
                 : fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(kHighest));
  const rlim_t share = std::max<rlim_t>(top / kShare, 2);
  if (kept < 0 && g_kept_below.count() < share) {
    kept =
        fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(top > share ? top - share : 0));
    if (kept >= 0) g_kept_below.set(static_cast<std::size_t>(kept));
  }
  close(descriptor);
  return kept;
}

void drop_descriptor(int descriptor, const FileIdentity& file) noexcept {
  if (descriptor < 0) return;
  const std::lock_guard lock(g_descriptor_lock);
  FileIdentity now;
  if (identify(descriptor, now) && now == file) close(descriptor);
  if (static_cast<rlim_t>(descriptor) < kHighest)
    g_kept_below.reset(static_cast<std::size_t>(descriptor));
}

bool identify(int descriptor, FileIdentity& identity) noexcept {
  struct stat file;
  if (descriptor < 0 || fstat(descriptor, &file) != 0) return false;
  identity = {file.st_dev, file.st_ino};
  return true;
}

HandlerSafeMutex& descriptor_lock() noexcept { return g_descriptor_lock; }

void forget_descriptors() noexcept {
  const std::lock_guard lock(g_descriptor_lock);
  g_low_users = 0;
  give_low();
  g_kept_below.reset();
}

}  // namespace refrain::recorder
