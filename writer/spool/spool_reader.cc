#include "writer/spool/spool_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>

namespace refrain::spool {
namespace {

std::string errno_text() { return std::generic_category().message(errno); }

}  // namespace

SpoolFile SpoolFile::open(const std::string& path) {
  SpoolFile file;
  file.path_ = path;
  file.map(path);
  if (file.data_ != nullptr) file.read_header();
  return file;
}

SpoolFile::~SpoolFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), bytes_);
}

SpoolFile::SpoolFile(SpoolFile&& other) noexcept { *this = std::move(other); }

SpoolFile& SpoolFile::operator=(SpoolFile&& other) noexcept {
  if (this == &other) return *this;
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), bytes_);
  path_ = std::move(other.path_);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  disk_bytes_ = std::exchange(other.disk_bytes_, 0);
  usable_ = std::exchange(other.usable_, false);
  facts_ = other.facts_;
  flushed_ = std::exchange(other.flushed_, {});
  staged_ = std::exchange(other.staged_, {});
  ring_ = std::exchange(other.ring_, {});
  complaints_ = std::move(other.complaints_);
  return *this;
}

void SpoolFile::complain(const std::string& what) {
  complaints_.push_back(path_ + ": " + what);
}

void SpoolFile::map(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    complain("cannot be opened: " + errno_text());
    return;
  }
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    complain("is not a regular file");
  } else if (static_cast<std::size_t>(status.st_size) < sizeof(Header)) {
    complain("is shorter than a header");
  } else {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* data = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
      complain("cannot be mapped: " + errno_text());
    } else {
      data_ = static_cast<const std::byte*>(data);
      bytes_ = bytes;
      disk_bytes_ = static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
  }
  ::close(fd);
}

void SpoolFile::read_header() {
  const auto& header = *reinterpret_cast<const Header*>(data_);
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    complain("is not a spool file");
    return;
  }
  if (header.byte_order != kByteOrder) {
    complain("was written on a machine of another byte order");
    return;
  }
  if (header.version != kVersion) {
    complain("has format version " + std::to_string(header.version) + ", this is for " +
             std::to_string(kVersion));
    return;
  }
  if (header.file_kind != kLocationFile && header.file_kind != kJournalFile) {
    complain("is of unknown kind " + std::to_string(header.file_kind));
    return;
  }
  facts_.file_kind = header.file_kind;
  facts_.process = header.process;
  facts_.location = header.location;
  facts_.role = header.role;
  facts_.pid = header.pid;
  facts_.clock_kind = header.clock_kind;
  facts_.start_ticks = header.start_ticks;
  facts_.start_epoch_ns = header.start_epoch_ns;
  facts_.start_monotonic_ns = header.start_monotonic_ns;
  facts_.events_seen = header.events_seen.load(std::memory_order_relaxed);
  facts_.last_ticks = header.last_ticks.load(std::memory_order_relaxed);
  for (std::size_t cause = 0; cause < kLossCauses; ++cause)
    facts_.lost[cause] = header.lost[cause].load(std::memory_order_relaxed);
  facts_.ended = header.ended.load(std::memory_order_relaxed) != 0;
  if (std::isfinite(header.ticks_per_second) && header.ticks_per_second >= 1.0 &&
      header.ticks_per_second < 1e12) {
    facts_.ticks_per_second = header.ticks_per_second;
  } else {
    complain("has no sensible clock rate; 1 GHz is assumed");
  }
  usable_ = true;
  read_log(header);
  read_ring(header);
}

bool SpoolFile::lies_in_file(std::uint64_t offset, std::uint64_t records) const noexcept {
  return offset >= sizeof(Header) && offset % alignof(Record) == 0 && offset <= bytes_ &&
         records <= (bytes_ - offset) / kRecordBytes;
}

void SpoolFile::read_log(const Header& header) {
  // Pairs with the recorder's release stores: what the words cover is complete. A cut
  // stores the commit word first, so it may be less than what is flushed.
  const std::uint64_t commit = header.log_commit.load(std::memory_order_acquire);
  const std::uint64_t total = commit >> 1;
  facts_.holding = (commit & 1) != 0;
  const std::uint64_t in_log =
      std::min(total, header.flushed.load(std::memory_order_acquire));
  const std::uint64_t log_offset = header.log_offset;
  const bool sane = log_offset >= kHeaderBytes && log_offset % alignof(Record) == 0;
  if (!sane) complain("has its log at an impossible offset");
  const std::uint64_t room =
      sane && log_offset <= bytes_ ? (bytes_ - log_offset) / kRecordBytes : 0;
  if (in_log > room) complain("has room for " + std::to_string(room) + " of " +
                              std::to_string(in_log) + " records");
  if (room > 0)
    flushed_ = {reinterpret_cast<const Record*>(data_ + log_offset), std::min(in_log, room)};
  // Behind a hole nothing can be dated.
  if (in_log > room || total == in_log) return;
  const std::uint64_t staged = total - in_log;
  if (staged > header.stage_records || !lies_in_file(header.stage_offset, staged)) {
    complain("has an impossible stage");
    return;
  }
  staged_ = {reinterpret_cast<const Record*>(data_ + header.stage_offset), staged};
}

void SpoolFile::read_ring(const Header& header) {
  if (!facts_.holding || header.ring_records == 0) return;
  const std::uint64_t commit = header.ring_commit.load(std::memory_order_acquire);
  const std::uint64_t count = commit >> 8;
  const std::uint64_t size_class = commit & 0xff;
  const std::uint64_t capacity = size_class < 40 ? kRingFirst << size_class : 0;
  if (capacity == 0 || capacity > header.ring_records ||
      !lies_in_file(header.ring_offset, capacity)) {
    complain("has an impossible ring");
    return;
  }
  const std::span<const Record> slots{
      reinterpret_cast<const Record*>(data_ + header.ring_offset), capacity};
  // Once full, the writer may be in the middle of overwriting the oldest slot.
  ring_.overflowed = count >= capacity;
  if (!ring_.overflowed) {
    ring_.older = slots.first(count);
    return;
  }
  const std::uint64_t oldest = count % capacity;
  ring_.older = slots.subspan(oldest + 1);
  ring_.newer = slots.first(oldest);
}

}  // namespace refrain::spool
