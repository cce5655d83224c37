// Summaries as bytes, and back: what processes of a job send each other.
//
// Place in the flow: ARCHITECTURE.md, stage 5; tree.h sends what is written here.
// Shape: unsigned numbers of 7 bits a byte, the lowest first, the highest bit set on all
// but the last (LEB128); words of 8 bytes, the lowest first, for numbers that are
// practically random. The format never leaves a run, so it has no version. Errors: a
// ByteReader never reads beyond its bytes. Truncated or impossible data is a failure, which
// stays; check ok() before using what was read. Thread-safety: none. Cost: the writer's
// memory grows with what is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace refrain::exchange {

using Bytes = std::vector<std::uint8_t>;

class ByteWriter {
 public:
  void number(std::uint64_t value);
  void signed_number(std::int64_t value);
  void word(std::uint64_t value);
  void text(std::string_view value);

  const Bytes& bytes() const noexcept { return bytes_; }
  Bytes take() && noexcept { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) noexcept : rest_(bytes) {}

  // 0 or empty after a failure.
  std::uint64_t number() noexcept;
  std::int64_t signed_number() noexcept;
  std::uint64_t word() noexcept;
  std::string text();
  // Fails if the number is greater than `most`.
  std::uint64_t number_to(std::uint64_t most) noexcept;
  std::uint32_t number32() noexcept {
    return static_cast<std::uint32_t>(number_to(UINT32_MAX));
  }
  // The number of items that follow, each of at least a byte, so that damaged data cannot
  // ask for more memory than the bytes account for.
  std::size_t count() noexcept;

  void fail() noexcept {
    ok_ = false;
    rest_ = {};
  }
  bool ok() const noexcept { return ok_; }
  // Everything was read without failure.
  bool done() const noexcept { return ok_ && rest_.empty(); }

 private:
  std::span<const std::uint8_t> rest_;
  bool ok_ = true;
};

// Numbers and texts by themselves, so that they may be parts of summaries.
inline void put(ByteWriter& out, const std::string& text) { out.text(text); }
inline void take(ByteReader& in, std::string& text) { text = in.text(); }

}  // namespace refrain::exchange
