// Lists and removes directories. std::filesystem would end the program if there is no memory for an
// entry's name, even with an error code; here the program is the user's.
//
// Thread-safety: any thread. Ownership: none kept.
#pragma once

#include <string>
#include <system_error>
#include <vector>

#include "base/result.h"

namespace refrain::base {

// Names in a directory, in order, without "." and "..". Throws std::bad_alloc.
std::vector<std::string> names_in(const std::string& folder, std::error_code& error);

// Removes a file, or as much of a directory as possible; links are removed, not followed.
// The error says why something is left; it is no error if there was nothing.
void remove_tree(const std::string& path, std::error_code& error) noexcept;
inline void remove_tree(const std::string& path) noexcept {
  std::error_code ignored;
  remove_tree(path, ignored);
}

// --- The whole of a file as text.
//
// Thread-safety: pure, but for the disk. Errors: "cannot be read", "is not a regular file", without the
// file's name.

Result<std::string> file_text(const std::string& path);

// Of a small one that a user names, which may also be a pipe, or /dev/null. Errors: "cannot be read: ...", and "is larger than 16
// MB" for one without an end, such as /dev/zero.
Result<std::string> small_text(const std::string& path);

// Returns true if there is a regular file, or a link to one: reading a pipe or a device might never end.
bool is_regular_file(const std::string& path) noexcept;

}  // namespace refrain::base
