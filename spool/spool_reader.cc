#include "spool/spool_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <new>
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
  log_ = std::exchange(other.log_, {});
  ring_ = std::exchange(other.ring_, {});
  tree_ = std::exchange(other.tree_, {});
  flow_ = std::exchange(other.flow_, {});
  rows_ = std::exchange(other.rows_, {});
  complaints_ = std::move(other.complaints_);
  return *this;
}

void SpoolFile::complain(const std::string& what) {
  complaints_.push_back(path_ + ": " + what);
}

void SpoolFile::map(const std::string& path) {
  const int fd =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe makes nobody wait
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
    if (data == MAP_FAILED && errno == ENOMEM) {
      // Nothing is wrong with the file: later it can be read.
      ::close(fd);
      throw std::bad_alloc();
    }
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
  facts_.team_number = header.team_number;
  facts_.thread_function = header.thread_function;
  facts_.pid = header.pid;
  facts_.clock_kind = header.clock_kind;
  facts_.start_ticks = header.start_ticks;
  facts_.start_epoch_ns = header.start_epoch_ns;
  facts_.start_monotonic_ns = header.start_monotonic_ns;
  facts_ = facts_now();
  if (std::isfinite(header.ticks_per_second) && header.ticks_per_second >= 1.0 &&
      header.ticks_per_second < 1e12) {
    facts_.ticks_per_second = header.ticks_per_second;
  } else {
    complain("has no sensible clock rate; 1 GHz is assumed");
  }
  usable_ = true;
  read_log(header);
  read_ring(header);
  read_tree(header);
  read_flow(header);
  read_rows(header);
}

SpoolFacts SpoolFile::facts_now() const noexcept {
  SpoolFacts facts = facts_;
  if (data_ == nullptr) return facts;
  const auto& header = *reinterpret_cast<const Header*>(data_);
  facts.events_seen = header.events_seen.load(std::memory_order_relaxed);
  facts.last_ticks = header.last_ticks.load(std::memory_order_relaxed);
  for (std::size_t cause = 0; cause < kLossCauses; ++cause)
    facts.lost[cause] = header.lost[cause].load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < base::kThreadUseNumbers.size(); ++i)
    facts.use.*base::kThreadUseNumbers[i].value =
        header.used[i].load(std::memory_order_relaxed);
  base::CoreSet::Words cores;
  for (std::size_t i = 0; i < cores.size(); ++i)
    cores[i] = header.cores[i].load(std::memory_order_relaxed);
  facts.use.cores = base::CoreSet(cores);
  facts.locks_left_out = header.locks_left_out.load(std::memory_order_relaxed);
  facts.threads_unrecorded = header.threads_unrecorded.load(std::memory_order_relaxed);
  facts.peak_memory_bytes = header.peak_memory_bytes.load(std::memory_order_relaxed);
  facts.memory_bytes = header.memory_bytes.load(std::memory_order_relaxed);
  const std::uint64_t ended = header.ended.load(std::memory_order_relaxed);
  facts.ended = ended != 0 && ended != kEndedInside;
  facts.exited = ended == kEndedInside;
  facts.end_reported = header.end_reported.load(std::memory_order_relaxed) != 0;
  const std::uint64_t commit = header.log_commit.load(std::memory_order_relaxed);
  facts.suspended = (commit & 1) != 0;
  facts.log_records = commit >> 1;
  return facts;
}

void SpoolFile::read_tree(const Header& header) {
  if (header.tree_bytes == 0) return;
  if (header.tree_offset % alignof(CallTreeHeader) != 0 || header.tree_offset > bytes_ ||
      header.tree_bytes > bytes_ - header.tree_offset)
    return complain("has a call tree that lies outside of it");
  tree_ = {data_ + header.tree_offset, static_cast<std::size_t>(header.tree_bytes)};
}

void SpoolFile::read_flow(const Header& header) {
  if (header.flow_bytes == 0) return;
  if (header.flow_offset % alignof(FlowHeader) != 0 || header.flow_offset > bytes_ ||
      header.flow_bytes > bytes_ - header.flow_offset)
    return complain("has an event flow graph that lies outside of it");
  flow_ = {data_ + header.flow_offset, static_cast<std::size_t>(header.flow_bytes)};
}

void SpoolFile::read_rows(const Header& header) {
  if (header.rows_bytes == 0) return;
  if (header.rows_offset % alignof(IterationRowsHeader) != 0 ||
      header.rows_offset > bytes_ || header.rows_bytes > bytes_ - header.rows_offset)
    return complain("has iterations that lie outside of it");
  rows_ = {data_ + header.rows_offset, static_cast<std::size_t>(header.rows_bytes)};
}

void SpoolFile::read_log(const Header& header) {
  // Pairs with the recorder's release store: the records that the word covers are complete.
  const std::uint64_t commit = header.log_commit.load(std::memory_order_acquire);
  facts_.suspended = (commit & 1) != 0;
  if (header.log_offset < kHeaderBytes || header.log_offset % alignof(Record) != 0) {
    complain("has its log at an impossible offset");
    return;
  }
  if (header.log_offset > bytes_) {
    if (commit >> 1 != 0) complain("ends before its log");
    return;
  }
  const std::uint64_t room = (bytes_ - header.log_offset) / kRecordBytes;
  const std::uint64_t count = commit >> 1;
  const std::uint64_t flushed =
      std::min(count, header.flushed.load(std::memory_order_acquire));
  if (flushed > room) {
    complain("has room for " + std::to_string(room) + " of " + std::to_string(flushed) +
             " records in its log");
    log_ = RecordSequence(records_at(header.log_offset, room));
    return;  // the stage's content comes after a hole
  }
  const std::uint64_t staged = count - flushed;
  const bool stage_fits =
      header.stage_offset >= sizeof(Header) && header.stage_records <= kStageRecords &&
      header.stage_offset % alignof(Record) == 0 &&
      header.stage_offset <= header.log_offset &&
      header.stage_records * kRecordBytes <= header.log_offset - header.stage_offset;
  if (staged != 0 && (!stage_fits || staged > header.stage_records)) {
    complain("claims more records in its stage than there is room for");
    const std::uint64_t most = stage_fits ? header.stage_records : 0;
    log_ = RecordSequence(records_at(header.log_offset, flushed),
                          records_at(header.stage_offset, std::min(staged, most)));
    return;
  }
  log_ = RecordSequence(records_at(header.log_offset, flushed),
                        records_at(header.stage_offset, staged));
}

std::span<const Record> SpoolFile::records_at(std::uint64_t offset,
                                              std::uint64_t count) const noexcept {
  if (count == 0) return {};
  return {reinterpret_cast<const Record*>(data_ + offset), count};
}

void SpoolFile::read_ring(const Header& header) {
  if (!facts_.suspended || header.ring_records == 0) return;
  // Pairs with the recorder's release store: the records that the word covers are complete.
  const std::uint64_t commit = header.ring_commit.load(std::memory_order_acquire);
  const std::uint64_t size_class = commit & (kRingForgot - 1);
  const std::uint64_t count = commit >> 8;
  if (count == 0) return;
  const std::uint64_t offset = header.ring_offset;
  const std::uint64_t capacity = size_class < 40 ? kRingFirst << size_class : 0;
  if (capacity == 0 || offset < sizeof(Header) || offset % alignof(Record) != 0 ||
      offset > std::min<std::uint64_t>(bytes_, header.log_offset) ||
      capacity > header.ring_records ||
      capacity >
          (std::min<std::uint64_t>(bytes_, header.log_offset) - offset) / kRecordBytes) {
    complain("has an impossible ring");
    return;
  }
  const std::span<const Record> slots = records_at(offset, capacity);
  if (count < capacity) {
    ring_.older = slots.first(count);
    // A complete ring begins with the record at the cut.
    ring_.overflowed = (commit & kRingForgot) != 0 || !is_cut(ring_.older.front());
    return;
  }
  // If full, the recorder may be overwriting the oldest slot.
  ring_.overflowed = true;
  const std::uint64_t oldest = count % capacity;
  ring_.older = slots.subspan(oldest + 1);
  ring_.newer = slots.first(oldest);
}

void sort_locations(std::vector<SpoolFile>& locations) {
  const auto by_location = [](const SpoolFile& file) { return file.facts().location; };
  std::ranges::sort(locations, {}, by_location);
  std::vector<std::size_t> places;
  std::vector<SpoolFile> workers;
  for (std::size_t i = 0; i < locations.size(); ++i) {
    if (locations[i].facts().team_number == 0) continue;
    places.push_back(i);
    workers.push_back(std::move(locations[i]));
  }
  std::ranges::stable_sort(workers, {},
                           [](const SpoolFile& file) { return file.facts().team_number; });
  for (std::size_t i = 0; i < places.size(); ++i)
    locations[places[i]] = std::move(workers[i]);
}

}  // namespace refrain::spool
