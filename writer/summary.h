// What was found and kept, in the two or three lines that a user reads at the end.
//
// Place in the flow: ARCHITECTURE.md, step 7; said by the traced program at its end and by
// `refrain recover`. Pure.
#pragma once

#include <string>
#include <vector>

#include "writer/otf2/write_options.h"

namespace refrain::writer {

// Loops and events, one line each.
std::vector<std::string> summary_lines(const WriteResult& result,
                                       const std::string& archive);

// What was lost or damaged; empty if nothing was.
std::vector<std::string> loss_lines(const WriteResult& result);

// "1.5 s", "12.3 ms", "850 ns".
std::string duration_text(double nanoseconds);

// "12.3 MB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace refrain::writer
