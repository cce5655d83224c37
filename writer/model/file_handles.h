// OTF2's I/O handles of a process: the descriptors that calls on files in the archive used, and which opens and closes are
// records of the archive.
//
// Place in the flow: ARCHITECTURE.md, stage 5. A first pass over locations with calls on files collects them
// (writer/interpret/event_sink.h); with what is made of them here the second one writes.
// OTF2 wants an operation on a handle that is active: from its IoCreateHandle to its IoDestroyHandle, or from the start if
// it is pre-created. Of a run, opens and closes may be missing (they were fast, or in a gap). So a handle is one descriptor of one
// file; if what comes first is no open, it is pre-created; a close is written if an open, or nothing, is next, and an open
// if a close, or nothing, was before.
// Thread-safety: const once made. Units: ticks of the process. Cost: a sort of the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "spool/file_format.h"

namespace refrain::writer {

inline constexpr std::uint32_t kNoHandle = ~std::uint32_t{0};

struct FileHandle {
  std::uint16_t slot = 0;  // of the file
  std::uint16_t descriptor = 0;
  bool stream = false;  // of C; else POSIX
  bool pre_created = false;
  bool operator==(const FileHandle&) const = default;
};

// A call on a file that is a region of the archive.
struct FileCall {
  spool::FileOperation operation = spool::FileOperation::kNone;  // none: it is no such call
  spool::FileDescriptor descriptor;
  std::uint64_t bytes = 0;

  const spool::FileOperationRow& row() const noexcept {
    return spool::kFileOperations[static_cast<std::size_t>(operation)];
  }
  bool is_call() const noexcept { return row().act != spool::FileAct::kNone; }
  // Where a call counts: of opens its end, of others its start.
  bool counts_at_end() const noexcept { return row().act == spool::FileAct::kOpen; }
  std::uint64_t handle_key() const noexcept {
    return descriptor.number | std::uint64_t{descriptor.slot} << 16 |
           std::uint64_t{row().stream} << 32;
  }
};

struct FileMoment {
  std::uint64_t ticks = 0;
  FileCall call;
};

class FileHandles {
 public:
  FileHandles() = default;
  // By location, each in the order of time.
  explicit FileHandles(const std::vector<std::vector<FileMoment>>& locations);

  const std::vector<FileHandle>& handles() const noexcept { return handles_; }
  // Its index; kNoHandle: not known.
  std::uint32_t of(const FileCall& call) const noexcept {
    const auto at = index_.find(call.handle_key());
    return at == index_.end() ? kNoHandle : at->second;
  }
  // Whether the `call`-th call of a location, an open or a close, is a record.
  bool writes(std::size_t location, std::size_t call) const noexcept {
    return location < written_.size() && call < written_[location].size() &&
           written_[location][call];
  }

 private:
  std::vector<FileHandle> handles_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  std::vector<std::vector<bool>> written_;  // by location and call
};

}  // namespace refrain::writer
