#include "tracer/sampler/sample_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/file_modes.h"
#include "spool/format.h"
#include "tracer/recorder/descriptors.h"

namespace refrain::sampler {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;
constexpr unsigned kMaxProbes = 64;

std::uint64_t mixed(std::uint32_t parent, std::uint64_t address) noexcept {
  std::uint64_t hash =
      (address ^ std::rotl(std::uint64_t{parent}, 40)) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

void* mapped(int fd, std::size_t bytes) noexcept {
  const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

std::string SampleTable::open(const std::string& path, std::uint64_t period_ns,
                              std::uint32_t capacity) {
  const std::size_t bytes =
      spool::kSampleHeaderBytes + std::size_t{capacity} * sizeof(spool::SampleNode);
  const std::size_t slots = std::bit_ceil(std::size_t{capacity} * 2);
  const int fd = recorder::open_apart(
      AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, base::file_mode());
  if (fd < 0) return "cannot make '" + path + "': " + std::strerror(errno);
  base::open_to_group(fd);
  // All blocks now: a disk that is full later would kill the program at its next sample.
  const int problem = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  void* const file = problem == 0 ? mapped(fd, bytes) : nullptr;
  void* const index = file == nullptr ? nullptr : mapped(-1, slots * sizeof *index_);
  close(fd);
  if (index == nullptr) {
    if (file != nullptr) munmap(file, bytes);
    unlink(path.c_str());
    return "no memory or disk space for '" + path + "'";
  }
  index_ = static_cast<std::atomic<std::uint32_t>*>(index);
  index_mask_ = static_cast<std::uint32_t>(slots - 1);
  auto* const begin = static_cast<char*>(file);
  header_ = reinterpret_cast<spool::SampleHeader*>(begin);
  nodes_ = reinterpret_cast<spool::SampleNode*>(begin + spool::kSampleHeaderBytes);
  header_->version = spool::kSampleVersion;
  header_->byte_order = spool::kByteOrder;
  header_->pid = static_cast<std::uint64_t>(getpid());
  header_->period_ns = period_ns;
  header_->capacity = capacity_ = capacity;
  nodes_[0].ready.store(1);
  header_->nodes.store(1);
  std::memcpy(header_->magic, spool::kSampleMagic, sizeof header_->magic);
  return {};
}

std::uint32_t SampleTable::new_node(std::uint32_t parent, std::uint64_t address) noexcept {
  if (header_->nodes.load(std::memory_order_relaxed) >= capacity_) return kNone;
  const std::uint32_t number = header_->nodes.fetch_add(1);
  if (number >= capacity_) return kNone;
  spool::SampleNode& node = nodes_[number];
  node.address = address;
  node.parent = parent;
  node.ready.store(1, std::memory_order_release);
  return number;
}

// Threads that add the same node at the same time: one wins, and the other's node stays unused.
std::uint32_t SampleTable::find_or_add(std::uint32_t parent,
                                       std::uint64_t address) noexcept {
  std::uint32_t own = kNone;
  const std::uint64_t hash = mixed(parent, address);
  for (unsigned probe = 0; probe != kMaxProbes; ++probe) {
    std::atomic<std::uint32_t>& slot = index_[(hash + probe) & index_mask_];
    std::uint32_t number = slot.load(std::memory_order_acquire);
    if (number == 0) {
      if (own == kNone) own = new_node(parent, address);
      if (own == kNone) return kNone;
      if (slot.compare_exchange_strong(number, own)) return own;
    }
    const spool::SampleNode& node = nodes_[number];
    if (node.address == address && node.parent == parent) return number;
  }
  return kNone;
}

void SampleTable::add(std::uint32_t thread, const std::uint64_t* frames, unsigned count,
                      std::uint64_t outermost, std::uint64_t passed) noexcept {
  header_->taken.fetch_add(passed);
  if (passed > 1) header_->missed.fetch_add(passed - 1);
  if (outermost == spool::kUnknownCaller) header_->not_followed.fetch_add(passed);
  if (thread == kNone) {
    header_->lost.fetch_add(passed);
    return;
  }
  std::uint32_t at = thread;
  if (outermost != 0) {
    const std::uint32_t next = find_or_add(at, outermost);
    if (next != kNone) at = next;
  }
  for (unsigned left = count; left-- != 0;) {
    const std::uint64_t mark = left == 0 ? spool::kInnermost : 0;
    const std::uint32_t next = find_or_add(at, frames[left] | mark);
    if (next == kNone) {
      header_->shortened.fetch_add(passed);
      break;
    }
    at = next;
  }
  nodes_[at].samples.fetch_add(passed);
}

}  // namespace refrain::sampler
