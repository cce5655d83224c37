#include "tracer/files/file_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/new_file.h"
#include "spool/format.h"
#include "tracer/recorder/descriptors.h"

namespace refrain::files {
namespace {

using Number = std::uint64_t base::FileUse::*;

constexpr std::uint64_t kFirstHash = 14695981039346656037u;  // FNV-1a
constexpr std::uint64_t hash_of(std::uint64_t hash, char c) noexcept {
  return (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
}
// Never 0, and its low bits are mixed.
constexpr std::uint64_t mixed(std::uint64_t hash) noexcept {
  hash ^= hash >> 32;
  return hash == 0 ? 1 : hash;
}

// A constant where `number` is one.
constexpr std::size_t index_of(Number number) noexcept {
  std::size_t index = 0;
  while (base::kFileUseNumbers[index].value != number) ++index;
  return index;
}

constexpr unsigned kMaxProbes = 64;

}  // namespace

void FileTable::lay_out(void* memory, bool in_file) noexcept {
  auto* const begin = static_cast<char*>(memory);
  auto* const header = reinterpret_cast<spool::FileHeader*>(begin);
  names_ = reinterpret_cast<spool::FileName*>(begin + spool::kFileHeaderBytes);
  entries_ = reinterpret_cast<spool::FileEntry*>(begin + spool::kFileEntriesOffset);
  paths_ = begin + spool::kFilePathsOffset;
  header->version = spool::kFilesVersion;
  header->byte_order = spool::kByteOrder;
  header->pid = static_cast<std::uint64_t>(getpid());
  if (in_file) std::memcpy(header->magic, spool::kFilesMagic, sizeof header->magic);
  header_.store(header);
}

bool FileTable::make() noexcept {
  void* const memory = mmap(nullptr, spool::kFileTableBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  lay_out(memory, false);
  return true;
}

void FileTable::clear() noexcept {
  void* const memory = header_.load();
  // Private pages that are given back are zeros.
  if (memory == nullptr || madvise(memory, spool::kFileTableBytes, MADV_DONTNEED) != 0)
    return;
  lay_out(memory, false);
}

std::string FileTable::open(const std::string& path) {
  const int fd = recorder::open_apart(
      AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, base::file_mode());
  if (fd < 0) return "cannot make '" + path + "': " + std::strerror(errno);
  base::open_to_group(fd);
  // All blocks now: a disk that is full later would kill the program at its next call.
  const int problem = posix_fallocate(fd, 0, spool::kFileTableBytes);
  void* const memory = problem != 0 ? MAP_FAILED
                                    : mmap(nullptr, spool::kFileTableBytes,
                                           PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) {
    unlink(path.c_str());
    return "no memory or disk space for '" + path + "'";
  }
  lay_out(memory, true);
  return {};
}

std::uint32_t FileTable::name_of(std::string_view path, std::uint32_t slot) noexcept {
  std::uint64_t hash = kFirstHash;
  base::each_of_file_name(path, [&](char c) { hash = hash_of(hash, c); });
  hash = mixed(hash);
  for (unsigned probe = 0; probe != kMaxProbes; ++probe) {
    const auto number = static_cast<std::uint32_t>((hash + probe) % spool::kFileNames);
    if (number == 0) continue;
    std::uint64_t there = 0;
    if (names_[number].hash.compare_exchange_strong(there, hash)) {
      names_[number].file.store(slot);
      return number;
    }
    if (there == hash) return number;
  }
  return 0;
}

void FileTable::fill(spool::FileEntry& entry, std::string_view path,
                     std::uint32_t slot) noexcept {
  spool::FileHeader& header = *header_.load();
  const auto bytes = static_cast<std::uint32_t>(path.size());
  const bool first = header.files.fetch_add(1) < spool::kMaxFiles;
  const std::uint32_t offset = first ? header.path_bytes.fetch_add(bytes) : ~0U;
  if (offset > spool::kFilePathBytes || bytes > spool::kFilePathBytes - offset)
    return entry.ready.store(spool::kFileWithoutPlace);
  std::memcpy(paths_ + offset, path.data(), bytes);
  entry.path_offset = offset;
  entry.path_bytes = bytes;
  entry.name = name_of(path, slot);
  entry.ready.store(spool::kFileReady, std::memory_order_release);
}

// Another thread may be filling the slot. One that could not be filled stays so, and counts for the rest.
std::uint32_t FileTable::find(std::string_view path) noexcept {
  std::uint64_t hash = kFirstHash;
  for (const char c : path) hash = hash_of(hash, c);
  hash = mixed(hash);
  for (unsigned probe = 0; probe != kMaxProbes; ++probe) {
    const auto slot = static_cast<std::uint32_t>((hash + probe) % spool::kFileSlots);
    if (slot == 0) continue;
    spool::FileEntry& entry = entries_[slot];
    std::uint64_t there = entry.hash.load(std::memory_order_acquire);
    if (there == 0) {
      if (header_.load()->files.load(std::memory_order_relaxed) >= spool::kMaxFiles)
        return 0;
      if (entry.hash.compare_exchange_strong(there, hash)) {
        fill(entry, path, slot);
        return slot;
      }
    }
    if (there == hash) return slot;
  }
  return 0;
}

void FileTable::add(std::uint32_t slot, Number number, std::uint64_t value) noexcept {
  entries_[slot].numbers[index_of(number)].fetch_add(value, std::memory_order_relaxed);
}

void FileTable::note_slowest(std::uint32_t slot, std::uint64_t ticks) noexcept {
  std::atomic<std::uint64_t>& slowest =
      entries_[slot].numbers[index_of(&base::FileUse::slowest_ns)];
  std::uint64_t before = slowest.load(std::memory_order_relaxed);
  while (before < ticks &&
         !slowest.compare_exchange_weak(before, ticks, std::memory_order_relaxed)) {
  }
}

void FileTable::drain(FileTable& from, double ticks_per_ns) noexcept {
  for (std::uint32_t slot = 0; slot < spool::kFileSlots; ++slot) {
    spool::FileEntry& entry = from.entries_[slot];
    const std::uint32_t ready = entry.ready.load(std::memory_order_acquire);
    if (slot != 0 && ready == 0) continue;
    const std::uint32_t to = ready == spool::kFileReady
                                 ? find({from.paths_ + entry.path_offset, entry.path_bytes})
                                 : 0;
    for (std::size_t i = 0; i < base::kFileUseNumbers.size(); ++i) {
      const std::uint64_t value = entry.numbers[i].exchange(0);
      if (value == 0) continue;
      const base::FileUseNumber& number = base::kFileUseNumbers[i];
      const auto ticks =
          static_cast<std::uint64_t>(static_cast<double>(value) * ticks_per_ns);
      if (number.kind == base::FileUseNumber::Kind::kLongest)
        note_slowest(to, ticks);
      else
        add(to, number.value,
            number.kind == base::FileUseNumber::Kind::kTime ? ticks : value);
    }
  }
}

}  // namespace refrain::files
