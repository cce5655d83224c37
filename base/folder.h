// What is in a folder, and its removal: std::filesystem ends the program where there is no memory for
// an entry's name, whatever it is called with, and here the program is somebody else's.
//
// Thread-safety: any thread. Ownership: none kept.
#pragma once

#include <string>
#include <system_error>
#include <vector>

namespace refrain::base {

// Names in a folder, in order, without "." and "..". Throws std::bad_alloc.
std::vector<std::string> names_in(const std::string& folder, std::error_code& error);

// Removes a file, or a folder with all that can be removed in it; links are removed, not followed.
// The error says why something of it is left; nothing is wrong where there was nothing.
void remove_tree(const std::string& path, std::error_code& error) noexcept;
inline void remove_tree(const std::string& path) noexcept {
  std::error_code ignored;
  remove_tree(path, ignored);
}

}  // namespace refrain::base
