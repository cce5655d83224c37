// Reads the kept inputs of a fuzz target from their pack: a tar file (ustar) of plain files,
// corpus/NAME.tar, which tools/check fuzz writes.
//
// Thread-safety: none needed. Errors: std::runtime_error if the pack is damaged or has no inputs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace refrain::fuzz {

// In the order of the pack.
std::vector<std::string> read_pack(std::string_view pack);

}  // namespace refrain::fuzz
