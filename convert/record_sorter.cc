#include "convert/record_sorter.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace refrain::convert {

SpillFile::~SpillFile() {
  if (file_ >= 0) close(file_);
}

void SpillFile::make() {
  file_ = open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ >= 0) return;
  std::string name = folder_ + "/.refrain-XXXXXX";
  file_ = mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) return fail("no temporary file can be made in ");
  unlink(name.c_str());
}

void SpillFile::append(const void* data, std::size_t bytes) {
  if (file_ < 0 && error_.empty()) make();
  const char* at = static_cast<const char*>(data);
  while (bytes > 0 && error_.empty()) {
    const ssize_t written = pwrite(file_, at, bytes, static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail("a temporary file cannot be written in ");
    at += written;
    bytes -= static_cast<std::size_t>(written);
    size_ += static_cast<std::uint64_t>(written);
  }
}

void SpillFile::read(std::uint64_t from, void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0 && error_.empty()) {
    const ssize_t got = pread(file_, at, bytes, static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("a temporary file cannot be read in ");
    if (got <= 0) break;
    at += got;
    bytes -= static_cast<std::size_t>(got);
    from += static_cast<std::uint64_t>(got);
  }
  std::memset(at, 0, bytes);
}

void SpillFile::fail(const char* what) {
  if (error_.empty()) error_ = what + folder_ + ": " + std::strerror(errno);
}

}  // namespace refrain::convert
