#include "writer/convert/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace refrain::convert {

TextFile::TextFile() : buffer_(kBuffer) {}

TextFile::~TextFile() {
  if (file_ > STDERR_FILENO) close(file_);
  if (!aside_.empty()) unlink(aside_.c_str());
}

bool TextFile::open(const std::string& path) {
  path_ = path;
  if (path == "-") {
    file_ = STDOUT_FILENO;
    return true;
  }
  struct stat there {};
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    file_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    aside_ = path + ".part-" + std::to_string(getpid());
    file_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) aside_.clear();
  }
  if (file_ < 0) fail("cannot be made");
  return file_ >= 0;
}

void TextFile::make_room(std::string_view part) {
  flush();
  if (part.size() >= kBuffer) {
    write(part.data(), part.size());
    return;
  }
  std::memcpy(buffer_.data(), part.data(), part.size());
  used_ = part.size();
}

void TextFile::flush() {
  write(buffer_.data(), used_);
  used_ = 0;
}

void TextFile::write(const char* data, std::size_t bytes) {
  while (bytes > 0 && error_.empty()) {
    const ssize_t written = ::write(file_, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail("cannot be written");
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void TextFile::fail(const char* what) {
  if (error_.empty()) error_ = path_ + " " + what + ": " + std::strerror(errno);
}

std::string TextFile::finish() {
  flush();
  if (file_ > STDERR_FILENO) {
    if (close(file_) != 0) fail("cannot be written");
    file_ = -1;
  }
  if (error_.empty() && !aside_.empty()) {
    if (std::rename(aside_.c_str(), path_.c_str()) == 0) {
      aside_.clear();
    } else {
      fail("cannot be put in place");
    }
  }
  return error_;
}

}  // namespace refrain::convert
