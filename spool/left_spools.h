// Finds archives that a run has made, and recordings without archive because the run was killed.
//
// Place in the flow: ARCHITECTURE.md, stage 1 and the end: for `refrain run` before a program and for
// the library after one. Thread-safety: none needed. Errors: what cannot be read counts as absent.
// Cost: one look at each folder with an archive's prefix; at most kMostLooks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace refrain::spool {

struct FoundArchives {
  static constexpr std::size_t kMostLooks = 1000;
  bool any = false;               // archives, or unfinished ones
  std::vector<std::string> left;  // paths of recordings that no process writes to
};

// In the folder `archive` and in those that further processes take beside it (ARCHIVE.2, ...), if it is not empty; else in
// those of `folder` with the default name of archives; and the recordings there of processes that did not come to the end of
// MPI_Init. Only what changed at `since` or later, in seconds of the epoch.
FoundArchives find_archives(const std::string& archive, const std::string& folder,
                            std::int64_t since);

// A line about recordings without archive, of which there is one at least.
std::string line_about_left(const std::vector<std::string>& left);

}  // namespace refrain::spool
