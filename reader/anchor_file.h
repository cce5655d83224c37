// Checks the anchor file of an archive (traces.otf2) before libotf2 reads it: libotf2 (3.0.2) trusts
// the number of properties in the file and, if that is damaged, takes gigabytes and minutes to find
// that they are missing.
//
// Place in the flow: before steps 9 and 10. Layout of the file: as libotf2 3 writes it; others
// are not checked. Thread-safety: any thread. Cost: reads the file, some kilobytes.
#pragma once

#include <string>

#include "base/result.h"

namespace refrain::reader {

// A failure does not name the file.
base::Result<> check_anchor_file(const std::string& anchor_file);

}  // namespace refrain::reader
