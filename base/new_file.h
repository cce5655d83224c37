// A file that is written aside and appears under its name when it is complete. What a file is already is replaced as a
// whole, or not at all; a device, a pipe, a directory or a link in its place is not touched, and the link not followed.
// What a process that is killed had not completed stays as PATH.part-PROCESS-NUMBER, unless remove_unfinished_files() was called.
//
// Thread-safety: one thread. Ownership: of the file until put_in_place(); the destructor removes it.
// Cost: writes are buffered.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <string>
#include <string_view>

#include "base/result.h"

namespace refrain::base {

enum class Existing { kReplace, kKeep };
// Pipes and terminals: are refused like all else, or written directly, also where a link leads to one (/dev/stdout).
enum class Streams { kRefused, kWritten };

class NewFile {
 public:
  explicit NewFile(std::string path, mode_t mode = 0666,
                   Streams streams = Streams::kRefused);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  // Makes it, next to its place.
  Result<> open(Existing existing = Existing::kReplace);
  // The first error is kept, and reported by put_in_place().
  void write(std::string_view text);
  bool failed() const noexcept { return error_ != 0; }
  // With kKeep: not if there is a file by now.
  Result<> put_in_place();

 private:
  Failure cannot_write(int why) const;
  void write_out(std::string_view text) noexcept;
  void close_file() noexcept;

  const std::string path_;
  const mode_t mode_;
  const Streams streams_;
  std::string aside_;
  std::string buffer_;
  Existing existing_ = Existing::kReplace;
  int file_ = -1;
  int error_ = 0;
  bool made_ = false;
};

// No error if something may be written to `path`: nothing is there, or a regular file that may be replaced.
Result<> may_place(const std::string& path, Existing existing,
                   Streams streams = Streams::kRefused);

// Removes what is not complete yet, for the end by a signal. Safe in a signal handler.
void remove_unfinished_files() noexcept;

// All of a file at once.
Result<> write_new_file(const std::string& path, std::string_view text,
                        Existing existing = Existing::kReplace, mode_t mode = 0666);

// Who may read what a traced program leaves: its user alone, or also the user's group (setting group_readable).
//
// Thread-safety: any thread; set before the first directory is made. Errors: as of chmod(2), and ignored: then fewer
// may read it.

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
