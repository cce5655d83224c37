// Properties of an archive, shortened to what libotf2 can store.
//
// Place in the flow: ARCHITECTURE.md, step 7, last thing before the archive is closed.
// libotf2 refuses an anchor file of more than 256 KiB, and the archive with it: the loops
// of a program with thousands of events an iteration, or a very long command, are more. Shortened
// are first the names of what the loops' bodies consist of, then the loops that took the
// least time, and long texts; REFRAIN::SHORTENED names the properties that are not
// complete. Thread-safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "writer/archive/properties.h"

namespace refrain::writer {

constexpr std::size_t kMostPropertyBytes = 192 << 10;  // all names and values together

Properties shortened(Properties properties, const std::vector<LoopSummary>& loops,
                     std::size_t most_bytes = kMostPropertyBytes);

// The beginning of a text that is longer than `most_bytes`, and " ..."; no character of UTF-8 is cut.
std::string beginning(const std::string& text, std::size_t most_bytes);

}  // namespace refrain::writer
