#include "tracer/memory/memory_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/new_file.h"
#include "spool/format.h"
#include "tracer/recorder/descriptors.h"

namespace refrain::memory {
namespace {

constexpr unsigned kMaxProbes = 64;
constexpr auto kRelaxed = std::memory_order_relaxed;

// Never 0.
std::uint64_t hash_of(std::span<const std::uint64_t> frames) noexcept {
  std::uint64_t hash = frames.size();
  for (const std::uint64_t frame : frames) {
    hash = (hash ^ frame) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash == 0 ? 1 : hash;
}

}  // namespace

void MemoryTable::lay_out(void* memory) noexcept {
  auto* const begin = static_cast<char*>(memory);
  shards_ = reinterpret_cast<spool::MemoryShard*>(begin + spool::kMemoryShardsOffset);
  paths_ = reinterpret_cast<spool::MemoryPath*>(begin + spool::kMemoryPathsOffset);
  header_ = reinterpret_cast<spool::MemoryHeader*>(begin);
}

bool MemoryTable::make(std::uint64_t from_bytes) noexcept {
  void* const memory = mmap(nullptr, spool::kMemoryTableBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  lay_out(memory);
  header_->version = spool::kMemoryVersion;
  header_->byte_order = spool::kByteOrder;
  header_->from_bytes = from_bytes;
  header_->pid = static_cast<std::uint64_t>(getpid());
  header_->mark.store(1);
  return true;
}

std::string MemoryTable::move_to(const std::string& path) {
  const int fd = recorder::open_apart(
      AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, base::file_mode());
  if (fd < 0) return "cannot make '" + path + "': " + std::strerror(errno);
  base::open_to_group(fd);
  // All blocks now: a disk that is full later would kill the program at its next call.
  const bool room = posix_fallocate(fd, 0, spool::kMemoryTableBytes) == 0;
  std::memcpy(header_->magic, spool::kMemoryMagic, sizeof header_->magic);
  const bool written = room && pwrite(fd, header_, spool::kMemoryTableBytes, 0) ==
                                   static_cast<ssize_t>(spool::kMemoryTableBytes);
  const bool mapped =
      written && mmap(header_, spool::kMemoryTableBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
  close(fd);
  if (mapped) return {};
  unlink(path.c_str());
  return "no memory or disk space for '" + path + "'";
}

void MemoryTable::leave_file() noexcept {
  if (!usable()) return;
  static_cast<void>(mmap(header_, spool::kMemoryTableBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

// Another thread may be filling the slot: it counts when it is ready.
std::uint32_t MemoryTable::find(std::span<const std::uint64_t> frames) noexcept {
  const std::uint64_t hash = hash_of(frames);
  for (unsigned probe = 0; probe != kMaxProbes; ++probe) {
    const auto slot = static_cast<std::uint32_t>((hash + probe) % spool::kMemoryPaths);
    if (slot < spool::kFirstMemoryPath) continue;
    spool::MemoryPath& path = paths_[slot];
    std::uint64_t there = path.hash.load(std::memory_order_acquire);
    if (there == 0) {
      if (header_->paths.load(kRelaxed) >= spool::kMaxMemoryPaths)
        return spool::kPathOfRest;
      if (path.hash.compare_exchange_strong(there, hash)) {
        header_->paths.fetch_add(1, kRelaxed);
        path.count = static_cast<std::uint32_t>(
            std::min<std::size_t>(frames.size(), spool::kMemoryFrames));
        std::copy_n(frames.begin(), path.count, path.frames);
        path.ready.store(1, std::memory_order_release);
        return slot;
      }
    }
    if (there == hash) return slot;
  }
  return spool::kPathOfRest;
}

// What it had when the latest mark was made is what it has now.
void MemoryTable::before_change(spool::MemoryPath& path) noexcept {
  const std::uint64_t mark = header_->mark.load(std::memory_order_acquire);
  std::uint64_t latest = path.latest_mark.load(kRelaxed);
  if (latest == mark || !path.latest_mark.compare_exchange_strong(latest, mark, kRelaxed))
    return;
  path.at_mark.store(path.current.load(kRelaxed), kRelaxed);
  path.blocks_at_mark.store(path.calls.load(kRelaxed) - path.frees.load(kRelaxed),
                            kRelaxed);
}

void MemoryTable::raise(std::int64_t current, std::uint64_t now) noexcept {
  std::int64_t before = header_->high_water.load(kRelaxed);
  while (before < current)
    if (header_->high_water.compare_exchange_weak(before, current, kRelaxed)) {
      header_->mark.fetch_add(1, std::memory_order_release);
      header_->mark_ticks.store(now, kRelaxed);
      return;
    }
}

void MemoryTable::more(spool::MemoryPath& path, std::int64_t bytes,
                       std::uint64_t now) noexcept {
  const std::int64_t own = path.current.fetch_add(bytes, kRelaxed) + bytes;
  std::int64_t peak = path.peak.load(kRelaxed);
  while (peak < own && !path.peak.compare_exchange_weak(peak, own, kRelaxed)) {
  }
  raise(header_->current.fetch_add(bytes, kRelaxed) + bytes, now);
}

void MemoryTable::allocated(std::uint32_t slot, std::uint64_t bytes,
                            std::uint64_t now) noexcept {
  spool::MemoryPath& path = paths_[slot];
  before_change(path);
  path.calls.fetch_add(1, kRelaxed);
  path.bytes.fetch_add(bytes, kRelaxed);
  more(path, static_cast<std::int64_t>(bytes), now);
}

void MemoryTable::released(std::uint32_t slot, std::uint64_t bytes) noexcept {
  spool::MemoryPath& path = paths_[slot];
  before_change(path);
  path.frees.fetch_add(1, kRelaxed);
  path.current.fetch_sub(static_cast<std::int64_t>(bytes), kRelaxed);
  header_->current.fetch_sub(static_cast<std::int64_t>(bytes), kRelaxed);
}

void MemoryTable::untracked(std::uint32_t slot, std::uint64_t bytes) noexcept {
  spool::MemoryPath& path = paths_[slot];
  path.calls.fetch_add(1, kRelaxed);
  path.frees.fetch_add(1, kRelaxed);
  path.bytes.fetch_add(bytes, kRelaxed);
  header_->untracked.fetch_add(1, kRelaxed);
}

void MemoryTable::kept(std::uint32_t slot, std::uint64_t bytes) noexcept {
  spool::MemoryPath& path = paths_[slot];
  path.frees.fetch_sub(1, kRelaxed);
  path.current.fetch_add(static_cast<std::int64_t>(bytes), kRelaxed);
  header_->current.fetch_add(static_cast<std::int64_t>(bytes), kRelaxed);
}

__attribute__((noinline)) void MemoryTable::hand_over(spool::MemoryShard& shard,
                                                      std::uint64_t now) noexcept {
  if (shard.small_bytes.load(kRelaxed) == 0) return;
  spool::MemoryPath& path = paths_[spool::kPathOfSmall];
  before_change(path);
  more(path, shard.small_bytes.exchange(0, kRelaxed), now);
}

}  // namespace refrain::memory
