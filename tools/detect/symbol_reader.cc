#include "tools/detect/symbol_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "base/texts.h"

namespace refrain::tools {

using periodicity::Symbol;

namespace {

constexpr std::size_t kBufferBytes = 256 << 10;
constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

struct Magnitude {
  std::uint64_t value = 0;
  bool too_large = false;
};

// A number without its sign; nothing if it is none.
std::optional<Magnitude> magnitude(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  Magnitude number;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto parsed = std::from_chars(begin, end, number.value, hexadecimal ? 16 : 10);
  if (parsed.ec == std::errc::invalid_argument || parsed.ptr != end) return std::nullopt;
  number.too_large = parsed.ec == std::errc::result_out_of_range;
  return number;
}

}  // namespace

bool SymbolParser::feed(std::string_view text, std::vector<Symbol>& symbols) {
  if (!error_.empty()) return false;
  if (!rest_.empty()) {
    const auto end = text.find('\n');
    rest_.append(text.substr(0, end));
    if (end == std::string_view::npos) {
      return rest_.size() <= kLongestLine || (++lines_, fail(rest_, "is too long a line"));
    }
    const std::string whole = std::move(rest_);
    rest_.clear();
    if (!line(whole, symbols)) return false;
    text.remove_prefix(end + 1);
  }
  for (;;) {
    if (text.empty()) break;
    const void* const end = std::memchr(text.data(), '\n', text.size());
    if (end == nullptr) break;
    const auto size = static_cast<std::size_t>(static_cast<const char*>(end) - text.data());
    if (!line(text.substr(0, size), symbols)) return false;
    text.remove_prefix(size + 1);
  }
  rest_ = text;
  return rest_.size() <= kLongestLine || (++lines_, fail(rest_, "is too long a line"));
}

bool SymbolParser::finish(std::vector<Symbol>& symbols) {
  if (!error_.empty()) return false;
  if (!rest_.empty() && !line(rest_, symbols)) return false;
  rest_.clear();
  if (lines_ != 0) return true;
  error_ = "is empty";
  return false;
}

// What nearly all lines are: a few digits.
bool SymbolParser::line(std::string_view text, std::vector<Symbol>& symbols) {
  ++lines_;
  constexpr std::size_t kSafeDigits = 18;
  if (text.empty() || text.size() > kSafeDigits) return line_slow(text, symbols);
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return line_slow(text, symbols);
    value = 10 * value + static_cast<std::uint64_t>(c - '0');
  }
  symbols.push_back(value);
  return true;
}

bool SymbolParser::line_slow(std::string_view text, std::vector<Symbol>& symbols) {
  if (text.size() > kLongestLine) return fail(text, "is too long a line");
  std::string_view number = trimmed(text);
  const bool negative = number.starts_with('-');
  if (negative || number.starts_with('+')) number.remove_prefix(1);
  const auto parsed = magnitude(number);
  if (!parsed) return fail(text, "is not an integer");
  if (parsed->too_large || (negative && parsed->value > kHuge))
    return fail(text, "is not an integer of 64 bits");
  has_negative_ |= negative && parsed->value != 0;
  has_huge_ |= !negative && parsed->value >= kHuge;
  if (has_negative_ && has_huge_)
    return fail(text, "does not go with a number of the other sign before");
  symbols.push_back(negative ? 0 - parsed->value : parsed->value);
  return true;
}

bool SymbolParser::fail(std::string_view text, const char* what) {
  error_ = "line " + std::to_string(lines_) + ": " + base::quoted(text) + " " + what;
  return false;
}

struct SymbolReader::File {
  gzFile gz = nullptr;
  ~File() {
    if (gz != nullptr) gzclose(gz);
  }
};

SymbolReader::SymbolReader(const std::string& path)
    : file_(std::make_unique<File>()), buffer_(kBufferBytes) {
  const int descriptor =
      path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    error_ = std::string("cannot be read: ") + std::strerror(errno);
    return;
  }
  struct stat status {};
  if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    error_ = "is a directory";
    close(descriptor);
    return;
  }
  file_->gz = gzdopen(descriptor, "rb");
  if (file_->gz == nullptr) {
    error_ = "cannot be read: no memory";
    close(descriptor);
    return;
  }
  gzbuffer(file_->gz, kBufferBytes);
}

SymbolReader::~SymbolReader() = default;

bool SymbolReader::read(std::size_t count, std::vector<Symbol>& symbols) {
  const std::size_t before = symbols.size();
  while (error_.empty() && file_->gz != nullptr && symbols.size() - before < count) {
    errno = 0;
    const int bytes =
        gzread(file_->gz, buffer_.data(), static_cast<unsigned>(buffer_.size()));
    int code = Z_OK;
    std::string_view text = gzerror(file_->gz, &code);
    text.remove_prefix(std::min(text.size(), text.find(": ") + 2));  // a name, "<fd:3>: "
    if (bytes < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      error_ = code == Z_ERRNO ? std::string("cannot be read: ") + std::strerror(errno)
               : code == Z_BUF_ERROR ? "is cut short: the gzip data end too early"
                                     : "is damaged: " + std::string(text);
      return false;
    }
    const bool good =
        bytes == 0
            ? parser_.finish(symbols)
            : parser_.feed({buffer_.data(), static_cast<std::size_t>(bytes)}, symbols);
    if (!good) error_ = parser_.error();
    if (bytes == 0) file_ = std::make_unique<File>();
  }
  return error_.empty() && symbols.size() != before;
}

}  // namespace refrain::tools
