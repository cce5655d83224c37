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

#include "base/new_file.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kFirstStage = 341;         // records; with the header three pages
constexpr std::uint64_t kLogAlignment = 64 << 10;  // lets the kernel use larger pages

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

// Of these the caller has a NoSizeSignal.
int allocate(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  int error;
  do {
    error = posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (error == EINTR);
  return error;
}

bool grow_to(int fd, std::uint64_t bytes) noexcept {
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
  constexpr std::size_t kMaxPieces = 64;
  while (offset < end) {
    std::array<iovec, kMaxPieces> pieces;
    std::size_t count = 0;
    for (std::uint64_t at = offset; at < end && count < kMaxPieces; at += kPage)
      pieces[count++] = {const_cast<char*>(kZeros.data()), std::min(kPage, end - at)};
    const ssize_t n =
        pwritev(fd, pieces.data(), static_cast<int>(count), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

bool write_all(int file, std::uint64_t offset, const void* from,
               std::uint64_t bytes) noexcept {
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t n = pwrite(file, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
  return true;
}

bool read_all(int file, std::uint64_t offset, void* to, std::uint64_t bytes) noexcept {
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = pread(file, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
  return true;
}

}  // namespace

// The file, open for as long as this lives; -1: it cannot be had.
class SpoolFile::Opened {
 public:
  explicit Opened(const SpoolFile& file) noexcept : kept_(file.kept_ >= 0) {
    if (!file.open_) return;
    descriptor_ = kept_ ? file.kept_
                        : open_apart(file.folder_, file.name_.data(), O_RDWR | O_NOFOLLOW);
    FileIdentity now;
    if (identify(descriptor_, now) && now == file.file_) return;
    close_own();
    descriptor_ = -1;
  }
  ~Opened() { close_own(); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  int operator*() const noexcept { return descriptor_; }

 private:
  void close_own() const noexcept {
    if (!kept_ && descriptor_ >= 0) ::close(descriptor_);
  }
  const bool kept_;
  int descriptor_ = -1;
};

SpoolResult SpoolFile::create(int folder, const char* path, const spool::Header& header,
                              const SpoolSizes& sizes, Budget& budget) noexcept {
  const SlowPath slow_path;
  ring_records_ = sizes.ring / spool::kRecordBytes;
  ring_offset_ = spool::kHeaderBytes + spool::kStageRecords * spool::kRecordBytes;
  tree_offset_ = round_up(ring_offset_ + ring_records_ * spool::kRecordBytes, kPage);
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
    folder_ = folder;
    result = SpoolResult::kDiskFull;
    char temporary[4096];
    const int n = std::snprintf(temporary, sizeof temporary, "%s.new", path);
    if (n > 0 && n < static_cast<int>(sizeof temporary)) {
      const int file = open_apart(folder, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
                                  base::file_mode());
      if (file >= 0) result = fill_new_file(file, header);
      if (result == SpoolResult::kOk && keep_open(file, path) &&
          renameat(folder, temporary, folder, path) == 0)
        return result;
      if (result == SpoolResult::kOk) result = SpoolResult::kDiskFull;
      if (file >= 0) unlinkat(folder, temporary, 0);
    }
    abandon();
    budget.give_disk(charged_);
  }
  budget.give_memory(charged_);
  return result;
}

// Takes the descriptor. False: it cannot stay, and the file cannot be opened again by its name.
bool SpoolFile::keep_open(int file, const char* path) noexcept {
  const bool has_name = std::strlen(path) < name_.size();
  if (has_name) std::strcpy(name_.data(), path);
  kept_ = keep_descriptor(file);
  open_ = kept_ >= 0 || has_name;
  return open_;
}

SpoolResult SpoolFile::fill_new_file(int file, const spool::Header& header) noexcept {
  const auto fails = [file](SpoolResult why) {
    ::close(file);
    return why;
  };
  const NoSizeSignal no_signal;
  base::open_to_group(file);
  stage_ready_ = kFirstStage;
  ring_ready_ = std::min<std::uint64_t>(ring_records_, spool::kRingFirst);
  // What is no summary's is used whole, and not made page by page.
  const bool fits =
      grow_to(file, head_bytes_) && identify(file, file_) &&
      write_zeros(file, 0, spool::kHeaderBytes + stage_ready_ * spool::kRecordBytes) &&
      write_zeros(file, ring_offset_, ring_offset_ + ring_ready_ * spool::kRecordBytes) &&
      (summary_bytes_ != 0 || tree_offset_ == head_bytes_ ||
       allocate(file, tree_offset_, head_bytes_ - tree_offset_) == 0);
  if (!fits) return fails(SpoolResult::kDiskFull);
  allocated_ = head_bytes_;
  void* at = mmap(nullptr, head_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return fails(SpoolResult::kMemory);
  // No reading ahead: else the first touch makes pages for megabytes of ring that may never be used.
  madvise(at, head_bytes_, MADV_RANDOM);
  header_ = new (at) spool::Header{};
  std::memcpy(static_cast<void*>(header_), &header, offsetof(spool::Header, log_commit));
  header_->stage_offset = spool::kHeaderBytes;
  header_->stage_records = spool::kStageRecords;
  header_->ring_offset = ring_offset_;
  header_->ring_records = ring_records_;
  header_->tree_offset = tree_offset_;
  header_->tree_bytes = tree_bytes_;
  header_->flow_offset = flow_offset_;
  header_->flow_bytes = flow_bytes_;
  header_->rows_offset = rows_offset_;
  header_->rows_bytes = rows_bytes_;
  header_->log_offset = head_bytes_;
  stage_ = reinterpret_cast<spool::Record*>(static_cast<char*>(at) + spool::kHeaderBytes);
  ring_ = stage_ + spool::kStageRecords;
  memory_.open(summary_bytes_, *this);
  return SpoolResult::kOk;
}

bool SpoolFile::use_ring(std::uint64_t records) noexcept {
  if (records <= ring_ready_) return true;
  const auto ring = reinterpret_cast<std::uintptr_t>(ring_);
  if (!make_pages(ring + ring_ready_ * spool::kRecordBytes,
                  ring + records * spool::kRecordBytes)) {
    ring_records_ = ring_ready_;
    return false;
  }
  ring_ready_ = records;
  return true;
}

SpoolResult SpoolFile::use_stage() noexcept {
  const auto stage = reinterpret_cast<std::uintptr_t>(stage_);
  if (stage_ready_ < spool::kStageRecords &&
      !make_pages(stage + stage_ready_ * spool::kRecordBytes,
                  stage + spool::kStageRecords * spool::kRecordBytes))
    return SpoolResult::kDiskFull;
  stage_ready_ = spool::kStageRecords;
  return SpoolResult::kOk;
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
  const NoSizeSignal no_signal;
  const auto mapping = reinterpret_cast<std::uintptr_t>(header_);
  if (const Opened file(*this); file)
    return write_zeros(*file, begin - mapping, end - mapping);
  // The system's pages may be larger (aarch64); those before are in use.
  begin -= begin % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  // Unlike a touch this fails where the disk is full.
  constexpr int kPopulateWrite = 23;
  return madvise(reinterpret_cast<void*>(begin), end - begin, kPopulateWrite) == 0;
}

SpoolResult SpoolFile::flush(std::uint64_t count) noexcept {
  const SlowPath slow_path;
  const Opened file(*this);
  if (!file) return SpoolResult::kDiskFull;
  const std::uint64_t bytes = count * spool::kRecordBytes;
  const std::uint64_t offset = head_bytes_ + flushed_ * spool::kRecordBytes;
  if (offset + bytes > allocated_) {
    const std::uint64_t grow = round_up(std::max(chunk_bytes_, bytes), kPage);
    if (!budget_->take_disk(grow)) return SpoolResult::kDiskLimit;
    const NoSizeSignal no_signal;
    if (allocate(*file, allocated_, grow) != 0) {
      budget_->give_disk(grow);
      return SpoolResult::kDiskFull;
    }
    allocated_ += grow;
  }
  if (!write_all(*file, offset, stage_, bytes)) return SpoolResult::kDiskFull;
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

bool SpoolFile::read(std::uint64_t first, std::uint64_t count,
                     spool::Record* to) const noexcept {
  const std::uint64_t in_log = first >= flushed_ ? 0 : std::min(count, flushed_ - first);
  if (in_log > 0) {
    const Opened file(*this);
    if (!file || !read_all(*file, head_bytes_ + first * spool::kRecordBytes, to,
                           in_log * spool::kRecordBytes))
      return false;
  }
  if (in_log < count)
    std::memcpy(static_cast<void*>(to + in_log), stage_ + (first + in_log - flushed_),
                (count - in_log) * spool::kRecordBytes);
  return true;
}

void SpoolFile::add_use(const base::ThreadUse& use) noexcept {
  if (!open_) return;
  for (std::size_t i = 0; i < base::kThreadUseNumbers.size(); ++i)
    header_->used[i].fetch_add(use.*base::kThreadUseNumbers[i].value,
                               std::memory_order_relaxed);
  for (std::size_t i = 0; i < use.cores.words().size(); ++i)
    header_->cores[i].fetch_or(use.cores.words()[i], std::memory_order_relaxed);
}

void SpoolFile::close() noexcept {
  if (!open_) return;
  const SlowPath slow_path;
  // Also where nothing could be written any more since long ago.
  header_->last_ticks.store(Clock::now(), std::memory_order_relaxed);
  header_->ended.store(spool::kEndedRegularly, std::memory_order_release);
  // A file that cannot shrink keeps its spare space; nothing is lost by that.
  const std::uint64_t bytes = head_bytes_ + flushed_ * spool::kRecordBytes;
  if (const Opened file(*this);
      file && ftruncate(*file, static_cast<off_t>(bytes)) == 0 && allocated_ > bytes)
    budget_->give_disk(allocated_ - bytes);
  if (summary_bytes_ != 0) budget_->give_disk(summary_bytes_ - memory_.used());
  budget_->give_memory(charged_);
  // The mapping stays: a thread that runs on may still count what it loses.
  drop_descriptor(kept_, file_);
  kept_ = -1;
  open_ = false;
}

void SpoolFile::abandon() noexcept {
  if (header_ != nullptr) munmap(header_, head_bytes_);
  drop_descriptor(kept_, file_);
  kept_ = -1;
  open_ = false;
  header_ = nullptr;
  stage_ = nullptr;
  ring_ = nullptr;
}

}  // namespace refrain::recorder
