// The samples of a process' spool into its archive.
//
// Place in the flow: ARCHITECTURE.md, stage 5: called by the writer, also after the process was killed.
// Thread-safety: one caller for each process. Errors: one line. Throws only when memory runs out. Cost: that of sample_placement.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace refrain::code_profile {

// The name of the file in the process' spool folder.
inline constexpr const char* kSpooledSamples = "samples";

// Whether there are samples. `module_texts`: as in the journal.
base::Result<bool> write_samples(const std::string& spool_process_folder,
                                 const std::vector<std::string>& module_texts,
                                 const std::string& command,
                                 const std::string& archive_folder, std::uint32_t process);

}  // namespace refrain::code_profile
