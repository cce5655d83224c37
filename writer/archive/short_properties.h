// Properties of an archive, shortened to what libotf2 can store.
//
// Place in the flow: ARCHITECTURE.md, step 7, the last step before the archive is closed.
// libotf2 refuses an anchor file of more than 256 KiB, and the archive with it; the loops
// of a program with thousands of events an iteration, or a very long command, exceed that.
// Shortened are first the names of the events in the loops' bodies, then the loops that
// took the least time, and long texts; REFRAIN::SHORTENED names the incomplete properties.
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "writer/archive/properties.h"

namespace refrain::writer {

constexpr std::size_t kMostPropertyBytes = 192 << 10;  // all names and values together

Properties shortened(Properties properties, const std::vector<LoopSummary>& loops,
                     std::size_t most_bytes = kMostPropertyBytes);

// The beginning of a text longer than `most_bytes`, and " ..."; no character of UTF-8 is
// cut.
std::string beginning(const std::string& text, std::size_t most_bytes);

}  // namespace refrain::writer
