// The samples of a process in its archive: ARCHIVE/samples/process-N.json (format: docs/loops.md).
//
// Place in the flow: between sample_placement.h, in the process that writes the archive, and sampled_profile.h.
// Thread-safety: pure, but for the disk. Ownership: plain values.
// Reading throws std::runtime_error with one line.
// Nothing in a file is believed: of what is returned, parents come before children and indices lead somewhere.
// Cost: linear.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "code_profile/samples/placed_samples.h"

namespace refrain::code_profile {

// As the file has it.
std::string to_text(const PlacedSamples& samples);
PlacedSamples samples_from_text(const std::string& text);

std::string sample_file_path(const std::string& archive, std::uint32_t process);
// Replaces a file that is there, at one moment.
base::Result<> write_sample_file(const std::string& archive, const PlacedSamples& samples);
// Of all processes, in their order; none if the archive has none.
std::vector<PlacedSamples> read_sample_files(const std::string& archive);

}  // namespace refrain::code_profile
