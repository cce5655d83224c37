// Reads symbol streams: one integer a line, as text or as text packed by gzip.
//
// Format: a line is an integer, decimal (with a sign, if wanted) or hexadecimal with 0x,
// from −2^63 to 2^64 − 1; spaces, tabs and a carriage return around it are allowed, an
// empty line is not. The last line may end without a line end. A negative number is the
// symbol 2^64 larger; a stream that has negative numbers has none from 2^63 on.
//
// Errors: one line that says what is wrong and where; nothing is read any more then.
// Thread-safety: none. Memory: one buffer, whatever the size of the stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "periodicity/loop_detector.h"

namespace refrain::tools {

// The text of a stream, piece by piece; knows no files.
class SymbolParser {
 public:
  static constexpr std::size_t kLongestLine = 256;  // bytes; a longer one is no integer

  // Appends the symbols of the lines that end in `text` to `symbols`. False: see error().
  bool feed(std::string_view text, std::vector<periodicity::Symbol>& symbols);

  // The text has ended. False: see error().
  bool finish(std::vector<periodicity::Symbol>& symbols);

  const std::string& error() const noexcept { return error_; }
  std::uint64_t lines() const noexcept { return lines_; }

  // Returns true if symbols are to be shown as signed numbers.
  bool has_negative() const noexcept { return has_negative_; }

 private:
  bool line(std::string_view text, std::vector<periodicity::Symbol>& symbols);
  bool line_slow(std::string_view text, std::vector<periodicity::Symbol>& symbols);
  bool fail(std::string_view text, const char* what);

  std::string rest_;  // of a line that goes on in the next piece
  std::uint64_t lines_ = 0;
  bool has_negative_ = false;
  bool has_huge_ = false;  // above 2^63 − 1
  std::string error_;
};

// A file, or standard input for "-".
class SymbolReader {
 public:
  explicit SymbolReader(const std::string& path);
  ~SymbolReader();
  SymbolReader(const SymbolReader&) = delete;
  SymbolReader& operator=(const SymbolReader&) = delete;

  // Appends symbols, about `count` of them. False: there are no more, or error().
  bool read(std::size_t count, std::vector<periodicity::Symbol>& symbols);

  // Empty if all is well; else what is wrong, without the file's name.
  const std::string& error() const noexcept { return error_; }
  bool has_negative() const noexcept { return parser_.has_negative(); }

 private:
  struct File;

  std::unique_ptr<File> file_;
  std::vector<char> buffer_;
  SymbolParser parser_;
  std::string error_;
};

// DistinctSymbols: counts how many different symbols there were.
//
// Place in the flow: `refrain detect`. Thread-safety: none. Memory: 16 to 32 bytes for
// each of them (a table with open addressing, at most half full; no AppendOnlyMap, for it grows).

class DistinctSymbols {
 public:
  void add(periodicity::Symbol symbol) {
    if (symbol == 0) {
      has_zero_ = true;
      return;
    }
    if (!insert(symbol)) return;
    if (2 * ++count_ > table_.size()) grow();
  }

  std::uint64_t size() const noexcept { return count_ + (has_zero_ ? 1 : 0); }

 private:
  bool insert(periodicity::Symbol symbol) noexcept {
    const std::uint64_t hash = symbol * 0x9e3779b97f4a7c15u;
    std::uint64_t at = (hash ^ (hash >> 32)) & (table_.size() - 1);
    for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1))
      if (table_[at] == symbol) return false;
    table_[at] = symbol;
    return true;
  }

  void grow() {
    std::vector<periodicity::Symbol> old(2 * table_.size());
    old.swap(table_);
    for (const periodicity::Symbol symbol : old)
      if (symbol != 0) insert(symbol);
  }

  std::vector<periodicity::Symbol> table_ = std::vector<periodicity::Symbol>(64);
  std::uint64_t count_ = 0;
  bool has_zero_ = false;  // 0 marks a free place
};

}  // namespace refrain::tools
