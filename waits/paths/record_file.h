// Records of a forward pass, to be read backwards: in memory while they are few, then in an unnamed temporary file.
//
// Place in the flow: private to waits/paths. Thread-safety: none.
// Shapes: bytes of any length, each followed by its length, so that reading can begin at the end.
// Memory: kBlock bytes, or the longest record. Ownership: the file is removed with its owner, or if that dies.
// Errors: kept; after one nothing more is written, and reading ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::waits::paths {

class RecordFile {
 public:
  static constexpr std::size_t kBlock = std::size_t{1} << 20;

  // In this folder, else in $TMPDIR or /tmp.
  explicit RecordFile(std::string folder, std::size_t block = kBlock)
      : folder_(std::move(folder)), block_(block) {}
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  void append(std::string_view record);
  // The record before the last one read, or the last one. False: there is none. Valid until the next call.
  bool previous(std::string_view& record);
  const std::string& error() const noexcept { return error_; }
  std::uint64_t bytes() const noexcept { return written_ + bytes_.size(); }

 private:
  void flush();
  bool make(const std::string& folder);
  // So that at least this much before `end_` is in memory.
  bool load(std::size_t wanted);
  void fail(const char* what);

  std::string folder_;
  std::size_t block_;
  int file_ = -1;
  std::vector<char>
      bytes_;  // while writing: what is not in the file yet; while reading: a part of it
  std::uint64_t written_ = 0;
  std::uint64_t begin_ = 0;  // while reading: where in the file bytes_ begins
  std::size_t end_ = 0;      // in bytes_: end of what is still to be read
  bool reading_ = false;
  std::string error_;
};

}  // namespace refrain::waits::paths
