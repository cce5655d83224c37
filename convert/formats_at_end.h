// Writes the other formats that the setting `format` names, after the archive.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after stage 5, in the process that wrote the
// archive: at the end of a traced program, or in `refrain recover`. The other formats are
// made from the archive itself, so that they cannot differ from it. Errors: as warnings;
// the archive stays in any case.
#pragma once

#include <string>
#include <vector>

namespace refrain::convert {

struct FormatsResult {
  std::vector<std::string> files;     // made
  std::vector<std::string> warnings;  // a line each
};

// `format`: the setting, names separated by commas. Without "otf2" among them the archive
// is removed once all others exist.
FormatsResult write_formats(const std::string& archive, const std::string& format) noexcept;

}  // namespace refrain::convert
