// What a process did with files, from its file (file_format.h).
//
// Place in the flow: ARCHITECTURE.md, stage 5. The process may still run, or have been killed.
// Thread-safety: pure. Ownership: plain values. Times are ticks of the process' clock.
// Errors: all of the file is checked; without one there are no files. Cost: linear in the file, some 600 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/file_use.h"
#include "base/result.h"

namespace refrain::spool {

struct FileTable {
  // By slot; 0: of what found no place, if there is any.
  std::map<std::uint32_t, base::UsedFile> files;
  std::map<std::uint32_t, std::string> names;  // by number, without 0

  bool empty() const noexcept { return files.empty(); }
  // With a name in any case.
  std::string name(std::uint32_t number) const;
};

// Of a process' directory; empty: it has none.
base::Result<FileTable> read_files(const std::string& folder);
// The same of a file in memory; `name` is for messages.
base::Result<FileTable> read_files(std::span<const std::byte> file,
                                   const std::string& name);

}  // namespace refrain::spool
