#include "test/support/summary_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "spool/format.h"

namespace refrain::test {
namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t in_memory(int fd, const spool::Header& header) {
  void* const at = mmap(nullptr, header.log_offset, PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) throw std::runtime_error("mmap");
  std::vector<unsigned char> pages((header.log_offset - header.tree_offset) / kPage);
  const int result = mincore(static_cast<char*>(at) + header.tree_offset,
                             pages.size() * kPage, pages.data());
  munmap(at, header.log_offset);
  if (result != 0) throw std::runtime_error("mincore");
  return kPage * static_cast<std::uint64_t>(std::ranges::count_if(
                     pages, [](unsigned char page) { return (page & 1U) != 0; }));
}

std::uint64_t on_disk(int fd, const spool::Header& header) {
  const auto end = static_cast<off_t>(header.log_offset);
  std::uint64_t sum = 0;
  off_t data = lseek(fd, static_cast<off_t>(header.tree_offset), SEEK_DATA);
  while (data >= 0 && data < end) {
    const off_t hole = std::min(lseek(fd, data, SEEK_HOLE), end);
    sum += static_cast<std::uint64_t>(hole - data);
    data = lseek(fd, hole, SEEK_DATA);
  }
  return sum;
}

}  // namespace

SummaryBytes summary_bytes_of(const std::filesystem::path& spool_file) {
  const int fd = open(spool_file.c_str(), O_RDONLY | O_CLOEXEC);
  spool::Header header;
  if (fd < 0 || pread(fd, static_cast<void*>(&header), sizeof header, 0) !=
                    static_cast<ssize_t>(sizeof header))
    throw std::runtime_error("cannot read " + spool_file.string());
  const SummaryBytes bytes{.on_disk = on_disk(fd, header),
                           .in_memory = in_memory(fd, header)};
  close(fd);
  return bytes;
}

}  // namespace refrain::test
