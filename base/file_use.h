// What a program did with a file: calls, bytes and times of its POSIX and C stream I/O.
//
// Place in the flow: counted by tracer/files, kept in the spool (spool/file_format.h) and the summary, printed by `refrain info`.
// Thread-safety: pure. Units: ns, bytes, numbers; in the spool times are ticks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace refrain::base {

struct FileUse {
  std::uint64_t opens = 0;
  std::uint64_t open_ns = 0;
  std::uint64_t closes = 0;
  std::uint64_t close_ns = 0;
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t read_ns = 0;
  std::uint64_t writes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t write_ns = 0;
  std::uint64_t syncs = 0;  // of files and streams
  std::uint64_t sync_ns = 0;
  std::uint64_t seeks = 0;
  std::uint64_t stream_calls =
      0;                        // of the reads and writes, by C streams, which have buffers
  std::uint64_t small = 0;      // of the others: for less than 4 KiB
  std::uint64_t unaligned = 0;  // of the others: at no multiple of 4 KiB
  std::uint64_t errors = 0;     // calls that failed
  std::uint64_t slow = 0;       // calls above the threshold of the setting `files`
  std::uint64_t slowest_ns = 0;

  std::uint64_t ns() const noexcept {
    return open_ns + close_ns + read_ns + write_ns + sync_ns;
  }
  // Its numbers are added; the slowest call is that of both.
  void add(const FileUse& other) noexcept;
  bool operator==(const FileUse&) const = default;
};

inline constexpr std::uint64_t kSmallCall = 4096;  // bytes

// All numbers of it, with their names in files. The order is part of the spool's format.
struct FileUseNumber {
  enum class Kind : std::uint8_t { kCount, kTime, kLongest };
  const char* name;
  std::uint64_t FileUse::*value;
  Kind kind = Kind::kCount;
};
inline constexpr std::array<FileUseNumber, 19> kFileUseNumbers = {{
    {"opens", &FileUse::opens},
    {"open_ns", &FileUse::open_ns, FileUseNumber::Kind::kTime},
    {"closes", &FileUse::closes},
    {"close_ns", &FileUse::close_ns, FileUseNumber::Kind::kTime},
    {"reads", &FileUse::reads},
    {"read_bytes", &FileUse::read_bytes},
    {"read_ns", &FileUse::read_ns, FileUseNumber::Kind::kTime},
    {"writes", &FileUse::writes},
    {"written_bytes", &FileUse::written_bytes},
    {"write_ns", &FileUse::write_ns, FileUseNumber::Kind::kTime},
    {"syncs", &FileUse::syncs},
    {"sync_ns", &FileUse::sync_ns, FileUseNumber::Kind::kTime},
    {"seeks", &FileUse::seeks},
    {"stream_calls", &FileUse::stream_calls},
    {"small", &FileUse::small},
    {"unaligned", &FileUse::unaligned},
    {"errors", &FileUse::errors},
    {"slow", &FileUse::slow},
    {"slowest_ns", &FileUse::slowest_ns, FileUseNumber::Kind::kLongest},
}};

// Of a file; of all that found no place in the table together, with no path.
struct UsedFile {
  std::string path;
  FileUse use;
  bool operator==(const UsedFile&) const = default;
};

// The last part of a path, one character after the other, `#` for each number in it.
template <typename Put>
constexpr void each_of_file_name(std::string_view path, Put put) {
  bool number = false;
  for (const char c : path.substr(path.rfind('/') + 1)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      put(c);
    else if (!number)
      put('#');
    number = digit;
  }
}

// The same as a text.
std::string file_name(std::string_view path);

}  // namespace refrain::base
