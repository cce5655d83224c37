#include "tracer/recorder/spool_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <numeric>

namespace refrain::recorder {
namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

// A chunk holds whole records and whole pages: multiples of 12 KiB.
constexpr std::uint64_t kChunkUnit = std::lcm(kPage, spool::kRecordBytes);

int allocate(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  int error;
  do {
    error = posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (error == EINTR);
  return error;
}

}  // namespace

SpoolResult SpoolFile::create(const char* path, const spool::Header& header,
                              std::uint64_t ring_bytes, std::uint64_t chunk_bytes,
                              Budget& budget) noexcept {
  ring_records_ = ring_bytes / spool::kRecordBytes;
  head_bytes_ = round_up(spool::kHeaderBytes + ring_records_ * spool::kRecordBytes, kPage);
  chunk_bytes_ = round_up(chunk_bytes, kChunkUnit);
  chunk_records_ = chunk_bytes_ / spool::kRecordBytes;
  if (!budget.take_memory(head_bytes_ + chunk_bytes_)) return SpoolResult::kMemory;
  budget_ = &budget;
  if (!budget.take_disk(head_bytes_)) {
    budget.give_memory(head_bytes_ + chunk_bytes_);
    return SpoolResult::kDiskLimit;
  }
  char temporary[4096];
  const int n = std::snprintf(temporary, sizeof temporary, "%s.new", path);
  SpoolResult result = SpoolResult::kDiskFull;
  if (n > 0 && n < static_cast<int>(sizeof temporary))
    fd_ = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ >= 0 && allocate(fd_, 0, head_bytes_) == 0) {
    void* at = mmap(nullptr, head_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (at == MAP_FAILED) {
      result = SpoolResult::kMemory;
    } else {
      allocated_ = head_bytes_;
      header_ = new (at) spool::Header{};
      std::memcpy(static_cast<void*>(header_), &header, offsetof(spool::Header, log_commit));
      ring_ = reinterpret_cast<spool::Record*>(static_cast<char*>(at) + spool::kHeaderBytes);
      header_->ring_offset = spool::kHeaderBytes;
      header_->ring_records = ring_records_;
      header_->log_offset = head_bytes_;
      result = map_chunk(0);
      if (result == SpoolResult::kOk && rename(temporary, path) == 0) return result;
      if (result == SpoolResult::kOk) result = SpoolResult::kDiskFull;
    }
  }
  if (fd_ >= 0) unlink(temporary);
  unmap();
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  budget.give_memory(head_bytes_ + chunk_bytes_);
  budget.give_disk(std::max(allocated_, head_bytes_));
  return result;
}

SpoolResult SpoolFile::map_chunk(std::uint64_t index) noexcept {
  const std::uint64_t first = index / chunk_records_ * chunk_records_;
  if (chunk_ != nullptr && first == chunk_first_) return SpoolResult::kOk;
  const std::uint64_t offset = head_bytes_ + first * spool::kRecordBytes;
  const bool fresh = offset + chunk_bytes_ > allocated_;
  if (fresh) {
    if (!budget_->take_disk(chunk_bytes_)) return SpoolResult::kDiskLimit;
    if (allocate(fd_, offset, chunk_bytes_) != 0) {
      budget_->give_disk(chunk_bytes_);
      return SpoolResult::kDiskFull;
    }
    allocated_ = offset + chunk_bytes_;
  }
  void* at = mmap(nullptr, chunk_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                  fd_, static_cast<off_t>(offset));
  if (at == MAP_FAILED) return SpoolResult::kMemory;
  if (chunk_ != nullptr) munmap(chunk_, chunk_bytes_);
  chunk_ = static_cast<spool::Record*>(at);
  chunk_first_ = first;
  return SpoolResult::kOk;
}

bool SpoolFile::read(std::uint64_t first, std::uint64_t count,
                     spool::Record* to) const noexcept {
  if (first >= chunk_first_ && first + count <= chunk_first_ + chunk_records_) {
    std::memcpy(static_cast<void*>(to), chunk_ + (first - chunk_first_),
                count * spool::kRecordBytes);
    return true;
  }
  char* at = reinterpret_cast<char*>(to);
  std::uint64_t left = count * spool::kRecordBytes;
  std::uint64_t offset = head_bytes_ + first * spool::kRecordBytes;
  while (left > 0) {
    const ssize_t n = pread(fd_, at, left, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    left -= static_cast<std::uint64_t>(n);
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

void SpoolFile::close() noexcept {
  if (fd_ < 0) return;
  const std::uint64_t records = header_->log_commit.load(std::memory_order_relaxed) >> 1;
  header_->ended.store(1, std::memory_order_release);
  unmap();
  // A file that cannot shrink keeps its spare space; nothing is lost by that.
  const std::uint64_t bytes = head_bytes_ + records * spool::kRecordBytes;
  if (ftruncate(fd_, static_cast<off_t>(bytes)) == 0 && allocated_ > bytes)
    budget_->give_disk(allocated_ - bytes);
  budget_->give_memory(head_bytes_ + chunk_bytes_);
  ::close(fd_);
  fd_ = -1;
}

void SpoolFile::abandon() noexcept {
  unmap();
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void SpoolFile::unmap() noexcept {
  if (chunk_ != nullptr) munmap(chunk_, chunk_bytes_);
  if (header_ != nullptr) munmap(header_, head_bytes_);
  chunk_ = nullptr;
  header_ = nullptr;
  ring_ = nullptr;
}

}  // namespace refrain::recorder
