#include "tracer/recorder/spool_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "tracer/recorder/no_size_signal.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLogAlignment = 64 << 10;  // lets the kernel use larger pages

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

int allocate(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const NoSizeSignal no_signal;
  int error;
  do {
    error = posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (error == EINTR);
  return error;
}

bool grow_to(int fd, std::uint64_t bytes) noexcept {
  const NoSizeSignal no_signal;
  int result;
  do {
    result = ftruncate(fd, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// Writes zeros to an unused part of a file, so that its pages are in memory: to touch one in a mapping
// then costs a tenth of what it does where the kernel has to make it. False: the disk is full.
bool write_zeros(int fd, std::uint64_t offset, std::uint64_t end) noexcept {
  static constexpr std::array<char, kPage> kZeros{};
  constexpr std::size_t kMostPieces = 64;
  const NoSizeSignal no_signal;
  while (offset < end) {
    std::array<iovec, kMostPieces> pieces;
    std::size_t count = 0;
    for (std::uint64_t at = offset; at < end && count < kMostPieces; at += kPage)
      pieces[count++] = {const_cast<char*>(kZeros.data()), std::min(kPage, end - at)};
    const ssize_t n =
        pwritev(fd, pieces.data(), static_cast<int>(count), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

}  // namespace

SpoolResult SpoolFile::create(const char* path, const spool::Header& header,
                              const SpoolSizes& sizes, Budget& budget) noexcept {
  const SlowPath slow_path;
  ring_records_ = sizes.ring / spool::kRecordBytes;
  tree_offset_ = round_up(
      spool::kHeaderBytes + (spool::kStageRecords + ring_records_) * spool::kRecordBytes,
      kPage);
  tree_bytes_ = sizes.tree;
  flow_offset_ = round_up(tree_offset_ + tree_bytes_, kPage);
  flow_bytes_ = sizes.flow;
  rows_offset_ = round_up(flow_offset_ + flow_bytes_, kPage);
  rows_bytes_ = sizes.rows;
  head_bytes_ = round_up(rows_offset_ + rows_bytes_, kLogAlignment);
  chunk_bytes_ = round_up(sizes.chunk, kPage);
  summary_bytes_ = sizes.summary;
  charged_ = summary_bytes_ == 0 ? head_bytes_ : tree_offset_ + summary_bytes_;
  if (!budget.take_memory(charged_)) return SpoolResult::kMemory;
  SpoolResult result = SpoolResult::kDiskLimit;
  if (budget.take_disk(charged_)) {
    budget_ = &budget;
    result = SpoolResult::kDiskFull;
    char temporary[4096];
    const int n = std::snprintf(temporary, sizeof temporary, "%s.new", path);
    if (n > 0 && n < static_cast<int>(sizeof temporary)) {
      fd_ = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd_ >= 0) result = fill_new_file(header);
      if (result == SpoolResult::kOk && rename(temporary, path) == 0) return result;
      if (result == SpoolResult::kOk) result = SpoolResult::kDiskFull;
      if (fd_ >= 0) unlink(temporary);
    }
    abandon();
    budget.give_disk(charged_);
  }
  budget.give_memory(charged_);
  return result;
}

SpoolResult SpoolFile::fill_new_file(const spool::Header& header) noexcept {
  const std::uint64_t first = summary_bytes_ == 0 ? head_bytes_ : tree_offset_;
  if (allocate(fd_, 0, first) != 0 || !grow_to(fd_, head_bytes_))
    return SpoolResult::kDiskFull;
  allocated_ = head_bytes_;
  struct stat file;
  if (fstat(fd_, &file) != 0) return SpoolResult::kDiskFull;
  device_ = file.st_dev;
  inode_ = file.st_ino;
  write_zeros(fd_, 0, spool::kHeaderBytes + spool::kStageRecords * spool::kRecordBytes);
  void* at = mmap(nullptr, head_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (at == MAP_FAILED) return SpoolResult::kMemory;
  // No reading ahead: else the first touch makes pages for megabytes of ring that may never be used.
  madvise(at, head_bytes_, MADV_RANDOM);
  header_ = new (at) spool::Header{};
  std::memcpy(static_cast<void*>(header_), &header, offsetof(spool::Header, log_commit));
  header_->stage_offset = spool::kHeaderBytes;
  header_->stage_records = spool::kStageRecords;
  header_->ring_offset = spool::kHeaderBytes + spool::kStageRecords * spool::kRecordBytes;
  header_->ring_records = ring_records_;
  header_->tree_offset = tree_offset_;
  header_->tree_bytes = tree_bytes_;
  header_->flow_offset = flow_offset_;
  header_->flow_bytes = flow_bytes_;
  header_->rows_offset = rows_offset_;
  header_->rows_bytes = rows_bytes_;
  header_->log_offset = head_bytes_;
  stage_ = reinterpret_cast<spool::Record*>(static_cast<char*>(at) + header_->stage_offset);
  ring_ = stage_ + spool::kStageRecords;
  memory_.open(summary_bytes_, *this);
  return SpoolResult::kOk;
}

void SpoolFile::use_ring(std::uint64_t records) noexcept {
  if (records <= ring_ready_) return;
  const SlowPath slow_path;
  if (ours())
    write_zeros(fd_, header_->ring_offset + ring_ready_ * spool::kRecordBytes,
                header_->ring_offset + records * spool::kRecordBytes);
  ring_ready_ = records;
}

bool SpoolFile::open_tree(CallTree& tree, std::uint64_t* times) noexcept {
  return header_ != nullptr && tree_bytes_ != 0 &&
         tree.open(at(tree_offset_), tree_bytes_, memory_, times);
}

bool SpoolFile::open_rows(IterationRows& rows, std::uint64_t most,
                          unsigned counters) noexcept {
  return header_ != nullptr && rows_bytes_ != 0 &&
         rows.open(at(rows_offset_), rows_bytes_, most, counters, header_->start_ticks,
                   memory_);
}

bool SpoolFile::open_flow(FlowGraph& flow, std::uint32_t components) noexcept {
  return header_ != nullptr && flow_bytes_ != 0 &&
         flow.open(at(flow_offset_), flow_bytes_, components, memory_);
}

bool SpoolFile::make_pages(std::uintptr_t begin, std::uintptr_t end) noexcept {
  const SlowPath slow_path;
  const auto mapping = reinterpret_cast<std::uintptr_t>(header_);
  if (ours()) return write_zeros(fd_, begin - mapping, end - mapping);
  // The system's pages may be larger (aarch64); those before are in use.
  begin -= begin % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  // Unlike a touch this fails where the disk is full.
  constexpr int kPopulateWrite = 23;
  return madvise(reinterpret_cast<void*>(begin), end - begin, kPopulateWrite) == 0;
}

bool SpoolFile::ours() const noexcept {
  struct stat file;
  return fd_ >= 0 && fstat(fd_, &file) == 0 && file.st_dev == device_ &&
         file.st_ino == inode_;
}

SpoolResult SpoolFile::flush(std::uint64_t count) noexcept {
  const SlowPath slow_path;
  if (!ours()) return SpoolResult::kDiskFull;
  const std::uint64_t bytes = count * spool::kRecordBytes;
  const std::uint64_t offset = head_bytes_ + flushed_ * spool::kRecordBytes;
  if (offset + bytes > allocated_) {
    const std::uint64_t grow = round_up(std::max(chunk_bytes_, bytes), kPage);
    if (!budget_->take_disk(grow)) return SpoolResult::kDiskLimit;
    if (allocate(fd_, allocated_, grow) != 0) {
      budget_->give_disk(grow);
      return SpoolResult::kDiskFull;
    }
    allocated_ += grow;
  }
  if (!write_at(offset, stage_, bytes)) return SpoolResult::kDiskFull;
  flushed_ += count;
  budget_->count_logged(bytes);
  // Release: the records are in the file before the stage is used again.
  header_->flushed.store(flushed_, std::memory_order_release);
  return SpoolResult::kOk;
}

void SpoolFile::rewind(std::uint64_t records) noexcept {
  budget_->forget_logged((flushed_ - records) * spool::kRecordBytes);
  flushed_ = records;
  header_->flushed.store(records, std::memory_order_release);
}

bool SpoolFile::write_at(std::uint64_t offset, const void* from,
                         std::uint64_t bytes) noexcept {
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t n = pwrite(fd_, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
  return true;
}

bool SpoolFile::read_at(std::uint64_t offset, void* to,
                        std::uint64_t bytes) const noexcept {
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = pread(fd_, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
  return true;
}

bool SpoolFile::read(std::uint64_t first, std::uint64_t count,
                     spool::Record* to) const noexcept {
  const std::uint64_t in_log = first >= flushed_ ? 0 : std::min(count, flushed_ - first);
  if (in_log > 0 && !ours()) return false;
  if (in_log > 0 &&
      !read_at(head_bytes_ + first * spool::kRecordBytes, to, in_log * spool::kRecordBytes))
    return false;
  if (in_log < count)
    std::memcpy(static_cast<void*>(to + in_log), stage_ + (first + in_log - flushed_),
                (count - in_log) * spool::kRecordBytes);
  return true;
}

void SpoolFile::close() noexcept {
  if (fd_ < 0) return;
  const SlowPath slow_path;
  header_->ended.store(1, std::memory_order_release);
  // A file that cannot shrink keeps its spare space; nothing is lost by that.
  const std::uint64_t bytes = head_bytes_ + flushed_ * spool::kRecordBytes;
  if (ours() && ftruncate(fd_, static_cast<off_t>(bytes)) == 0 && allocated_ > bytes)
    budget_->give_disk(allocated_ - bytes);
  if (summary_bytes_ != 0) budget_->give_disk(summary_bytes_ - memory_.used());
  budget_->give_memory(charged_);
  // The mapping stays: a thread that runs on may still count what it loses.
  if (ours()) ::close(fd_);
  fd_ = -1;
}

void SpoolFile::abandon() noexcept {
  if (header_ != nullptr) munmap(header_, head_bytes_);
  if (header_ != nullptr ? ours() : fd_ >= 0) ::close(fd_);
  fd_ = -1;
  header_ = nullptr;
  stage_ = nullptr;
  ring_ = nullptr;
}

}  // namespace refrain::recorder
