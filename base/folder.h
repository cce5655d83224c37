// Lists and removes folders. std::filesystem would end the program if there is no memory for an
// entry's name, even with an error code; here the program is the user's.
//
// Thread-safety: any thread. Ownership: none kept.
#pragma once

#include <string>
#include <system_error>
#include <vector>

namespace refrain::base {

// Names in a folder, in order, without "." and "..". Throws std::bad_alloc.
std::vector<std::string> names_in(const std::string& folder, std::error_code& error);

// Removes a file, or as much of a folder as possible; links are removed, not followed.
// The error says why something is left; it is no error if there was nothing.
void remove_tree(const std::string& path, std::error_code& error) noexcept;
inline void remove_tree(const std::string& path) noexcept {
  std::error_code ignored;
  remove_tree(path, ignored);
}

}  // namespace refrain::base
