// A text file that is written under a temporary name and renamed when it is complete.
//
// Place in the flow: ARCHITECTURE.md, stage 7: where the sinks write to.
// Ownership: an unfinished file is removed by the destructor.
// Errors: the first one is kept; later writes have no effect.
// Cost: a buffer of 256 KiB; numbers are written in place.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/new_file.h"
#include "base/result.h"

namespace refrain::convert {

class TextFile {
 public:
  TextFile();
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  // "-" is stdout; a pipe or terminal is written directly. True: it can be written.
  bool open(const std::string& path);
  void text(std::string_view part) {
    if (part.size() > kBuffer - used_)
      make_room(part);
    else {
      std::memcpy(buffer_.data() + used_, part.data(), part.size());
      used_ += part.size();
    }
  }
  void put(char c) {
    if (used_ == kBuffer) flush();
    buffer_[used_++] = c;
  }
  template <typename Number>
  void number(Number value) {
    if (kBuffer - used_ < kLongestNumber) flush();
    char* at = buffer_.data() + used_;
    used_ = static_cast<std::size_t>(std::to_chars(at, at + kLongestNumber, value).ptr -
                                     buffer_.data());
  }
  void flush();
  // Afterwards everything is on disk, at its place.
  base::Result<> finish();
  const std::string& error() const noexcept { return error_; }

 private:
  void make_room(std::string_view part);
  void write(const char* data, std::size_t bytes);

  static constexpr std::size_t kBuffer = 256 << 10;
  static constexpr std::size_t kLongestNumber = 32;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::unique_ptr<base::NewFile> file_;  // null: stdout
  std::string error_;
};

}  // namespace refrain::convert
