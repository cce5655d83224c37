// What a process did with files: a table of paths with numbers, in a file of its own (`files` in the process' directory), in memory of
// fixed size.
//
// Place in the flow: ARCHITECTURE.md, stage 3 (kept by tracer/files) and 5 (read by file_reader.h, also after the process
// was killed).
//
//     0              kFileHeaderBytes                                               file end
//     +--------------+------------------------+-------------------------+----------------+
//     | FileHeader   | FileName[kFileNames]   | FileEntry[kFileSlots]   | paths          |
//     +--------------+------------------------+-------------------------+----------------+
//
// Entry 0 is of all files that found no place. The others are found by the hash of the path, at the first free slot from there
// on; at most kMaxFiles have a path. An entry counts when it is `ready`.
// A name is that of several files: the last part of the path, with `#` for numbers in it (`step.#.dat`): regions are called so. Name 0
// is of what found no place.
// All sums are atomic and never decrease, and are in the order of base::kFileUseNumbers; times are ticks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/file_use.h"

namespace refrain::spool {

inline constexpr char kFilesMagic[8] = {'R', 'F', 'F', 'I', 'L', 'E', 'S', '1'};
inline constexpr std::uint32_t kFilesVersion = 1;
inline constexpr std::size_t kFileHeaderBytes = 4096;
inline constexpr std::uint32_t kFileNames = 256;
inline constexpr std::uint32_t kFileSlots = 2048;
inline constexpr std::uint32_t kMaxFiles = 1024;
inline constexpr std::size_t kFilePathBytes = 256 << 10;  // of all paths together

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t byte_order;  // spool::kByteOrder
  std::uint64_t pid;
  std::atomic<std::uint32_t> files;       // slots taken, may be more than kMaxFiles
  std::atomic<std::uint32_t> path_bytes;  // likewise
  std::atomic<std::uint32_t> ended;       // 1: regularly
};
static_assert(sizeof(FileHeader) <= kFileHeaderBytes);

struct FileName {
  std::atomic<std::uint64_t> hash;  // 0: free
  std::atomic<std::uint32_t> file;  // a slot with this name; 0: not known yet
  std::uint32_t reserved;
};

inline constexpr std::uint32_t kFileReady = 1;
inline constexpr std::uint32_t kFileWithoutPlace =
    2;  // it has no path: its numbers are part of entry 0's

struct FileEntry {
  std::atomic<std::uint64_t> hash;  // of the path; 0: free
  std::atomic<std::uint32_t> ready;
  std::uint32_t name;
  std::uint32_t path_offset;  // in the paths
  std::uint32_t path_bytes;
  std::atomic<std::uint64_t> numbers[base::kFileUseNumbers.size()];
};

inline constexpr std::size_t kFileEntriesOffset =
    kFileHeaderBytes + kFileNames * sizeof(FileName);
inline constexpr std::size_t kFilePathsOffset =
    kFileEntriesOffset + kFileSlots * sizeof(FileEntry);
inline constexpr std::size_t kFileTableBytes = kFilePathsOffset + kFilePathBytes;

// What was called. In records and regions.
enum class FileOperation : std::uint8_t {
  kNone,
  kOpen,
  kClose,
  kRead,
  kWrite,
  kPread,
  kPwrite,
  kReadv,
  kWritev,
  kFsync,
  kFdatasync,
  kFopen,
  kFclose,
  kFread,
  kFwrite,
  kFgets,
  kFputs,
  kFprintf,
  kFflush,
  kCount
};

// How a file was opened. In records.
enum FileFlag : std::uint16_t {
  kFileSeen = 1 << 0,  // set in each record
  kFileReadable = 1 << 1,
  kFileWritable = 1 << 2,
  kFileCreate = 1 << 3,
  kFileTruncate = 1 << 4,
  kFileExclusive = 1 << 5,
  kFileAppend = 1 << 6,
  kFileSync = 1 << 7,
  kFileDataSync = 1 << 8,
  kFileNonBlocking = 1 << 9,
  kFileCloseOnExec = 1 << 10,
};

// What a record says of the descriptor, in 48 bits.
struct FileDescriptor {
  std::uint16_t number = 0;
  std::uint16_t slot = 0;   // of the file
  std::uint16_t flags = 0;  // FileFlag; of opens also how

  constexpr std::uint64_t packed() const noexcept {
    return number | std::uint64_t{slot} << 16 | std::uint64_t{flags} << 32;
  }
  static constexpr FileDescriptor of(std::uint64_t packed) noexcept {
    return {static_cast<std::uint16_t>(packed), static_cast<std::uint16_t>(packed >> 16),
            static_cast<std::uint16_t>(packed >> 32)};
  }
};

enum class FileAct : std::uint8_t { kNone, kOpen, kClose, kRead, kWrite, kSync };

struct FileOperationRow {
  const char* name;
  FileAct act;
  bool stream = false;
};
inline constexpr std::array<FileOperationRow,
                            static_cast<std::size_t>(FileOperation::kCount)>
    kFileOperations = {{
        {"", FileAct::kNone},
        {"open", FileAct::kOpen},
        {"close", FileAct::kClose},
        {"read", FileAct::kRead},
        {"write", FileAct::kWrite},
        {"pread", FileAct::kRead},
        {"pwrite", FileAct::kWrite},
        {"readv", FileAct::kRead},
        {"writev", FileAct::kWrite},
        {"fsync", FileAct::kSync},
        {"fdatasync", FileAct::kSync},
        {"fopen", FileAct::kOpen, true},
        {"fclose", FileAct::kClose, true},
        {"fread", FileAct::kRead, true},
        {"fwrite", FileAct::kWrite, true},
        {"fgets", FileAct::kRead, true},
        {"fputs", FileAct::kWrite, true},
        {"fprintf", FileAct::kWrite, true},
        {"fflush", FileAct::kSync, true},
    }};

}  // namespace refrain::spool
