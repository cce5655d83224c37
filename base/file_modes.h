// Who may read what a traced program leaves: its user alone, or also the user's group (setting group_readable).
//
// Thread-safety: any thread; set before the first directory is made. Errors: as of chmod(2), and ignored: then fewer
// may read it.
#pragma once

#include <sys/stat.h>

#include <atomic>

namespace refrain::base {

inline std::atomic<bool> g_group_readable{false};

inline void let_group_read(bool may) noexcept { g_group_readable.store(may); }
inline bool group_may_read() noexcept { return g_group_readable.load(); }

// For open() and mkdir().
inline mode_t file_mode() noexcept { return group_may_read() ? 0640 : 0600; }
inline mode_t folder_mode() noexcept { return group_may_read() ? 0750 : 0700; }

// What the program's umask has taken from the mode of a new file or directory.
inline void open_to_group(int file) noexcept {
  if (group_may_read()) fchmod(file, file_mode());
}
inline void open_folder_to_group(const char* folder) noexcept {
  if (group_may_read()) chmod(folder, folder_mode());
}

}  // namespace refrain::base
