#include "waits/paths/record_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace refrain::waits::paths {

RecordFile::~RecordFile() {
  if (file_ >= 0) close(file_);
}

bool RecordFile::make(const std::string& folder) {
  if (folder.empty()) return false;
  file_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ >= 0) return true;
  std::string name = folder + "/.refrain-XXXXXX";
  file_ = mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) return false;
  unlink(name.c_str());
  return true;
}

void RecordFile::append(std::string_view record) {
  if (!error_.empty()) return;
  const auto length = static_cast<std::uint32_t>(record.size());
  bytes_.insert(bytes_.end(), record.begin(), record.end());
  const char* tail = reinterpret_cast<const char*>(&length);
  bytes_.insert(bytes_.end(), tail, tail + sizeof length);
  if (bytes_.size() >= block_) flush();
}

void RecordFile::flush() {
  const char* variable = std::getenv("TMPDIR");
  if (file_ < 0 && !make(folder_) && !make(variable == nullptr ? "" : variable) &&
      !make("/tmp"))
    return fail("no temporary file can be made");
  for (std::size_t done = 0; done < bytes_.size();) {
    const ssize_t got = pwrite(file_, bytes_.data() + done, bytes_.size() - done,
                               static_cast<off_t>(written_));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail("a temporary file cannot be written");
    done += static_cast<std::size_t>(got);
    written_ += static_cast<std::uint64_t>(got);
  }
  bytes_.clear();
}

bool RecordFile::load(std::size_t wanted) {
  if (end_ >= wanted) return true;
  if (begin_ + end_ < wanted) return false;
  const auto more = static_cast<std::size_t>(
      std::min<std::uint64_t>(begin_, std::max(block_, wanted - end_)));
  std::vector<char> bytes(more + end_);
  for (std::size_t done = 0; done < more;) {
    const ssize_t got = pread(file_, bytes.data() + done, more - done,
                              static_cast<off_t>(begin_ - more + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      fail("a temporary file cannot be read");
      return false;
    }
    done += static_cast<std::size_t>(got);
  }
  std::copy_n(bytes_.data(), end_, bytes.data() + more);
  bytes_.swap(bytes);
  begin_ -= more;
  end_ += more;
  return true;
}

bool RecordFile::previous(std::string_view& record) {
  if (!error_.empty()) return false;
  if (!reading_) {
    reading_ = true;
    begin_ = written_;
    end_ = bytes_.size();
  }
  std::uint32_t length = 0;
  if (!load(sizeof length)) return false;
  std::memcpy(&length, bytes_.data() + end_ - sizeof length, sizeof length);
  if (!load(sizeof length + length)) return false;
  end_ -= sizeof length + length;
  record = {bytes_.data() + end_, length};
  return true;
}

void RecordFile::fail(const char* what) {
  if (error_.empty()) error_ = std::string(what) + ": " + std::strerror(errno);
}

}  // namespace refrain::waits::paths
