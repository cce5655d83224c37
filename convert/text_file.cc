#include "convert/text_file.h"

#include <unistd.h>

#include <cerrno>

namespace refrain::convert {

TextFile::TextFile() : buffer_(kBuffer) {}

TextFile::~TextFile() = default;

bool TextFile::open(const std::string& path) {
  if (path == "-") return true;
  file_ = std::make_unique<base::NewFile>(path, 0666, base::Streams::kWritten);
  error_ = file_->open().error();
  return error_.empty();
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
  if (file_ != nullptr) return file_->write({data, bytes});
  while (bytes > 0 && error_.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error_ = std::string("stdout cannot be written: ") + std::strerror(errno);
      return;
    }
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

base::Result<> TextFile::finish() {
  flush();
  if (error_.empty() && file_ != nullptr) error_ = file_->put_in_place().error();
  file_ = nullptr;
  if (!error_.empty()) return base::Failure{error_};
  return {};
}

}  // namespace refrain::convert
