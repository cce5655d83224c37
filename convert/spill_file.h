// An unnamed temporary file for data that does not fit into memory; removed with its owner.
//
// Place in the flow: private to record_sorter.h. Thread-safety: none.
// Errors: kept; reads after an error return zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace refrain::convert {

class SpillFile {
 public:
  // In this folder; created at the first write.
  explicit SpillFile(std::string folder) : folder_(std::move(folder)) {}
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  void append(const void* data, std::size_t bytes);
  void read(std::uint64_t at, void* data, std::size_t bytes);
  std::uint64_t size() const noexcept { return size_; }
  const std::string& error() const noexcept { return error_; }

 private:
  void make();
  void fail(const char* what);

  std::string folder_;
  int file_ = -1;
  std::uint64_t size_ = 0;
  std::string error_;
};

}  // namespace refrain::convert
