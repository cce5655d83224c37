// The samples of a process' spool into its archive.
//
// Place in the flow: ARCHITECTURE.md, stage 5: called by the writer, also after the process was killed.
// Thread-safety: one caller for each process. Errors: one line. Throws only when memory runs out. Cost: that of place_samples().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "code_profile/samples/sample_file.h"
#include "spool/sample_reader.h"

namespace refrain::code_profile {

// From code addresses to places: the functions and loops of a process' sampled stacks.
//
// A frame becomes its function and the loops around its call there, outermost first; loops that the compiler made of
// one `for` are one (code/program_loops.h: by_source()). Inlined functions are no places of their own: a
// loop has the function, file and line of the source that it stands in.
// Thread-safety: none. Ownership: plain values.
// Errors: addresses of no function get a place of Kind::kUnknown, "[unknown]" (no file: made while
// the program ran), "[vdso]" or the like (the kernel's), "[NAME]" (the module's file is missing, or not the one
// that ran), "[callers unknown]", "[deeper callers]". Throws only when memory runs out.
// Cost: functions that were hit are read once each (docs/reference/loops.md).
// Source: Moseley et al., section 4.

// `module_texts`: as addresses::Resolver takes them.
PlacedSamples place_samples(const spool::SampleTree& tree,
                            const std::vector<std::string>& module_texts);

// The name of the file in the process' spool directory.
inline constexpr const char* kSpooledSamples = "samples";

// Returns true if there are samples. `module_texts`: as in the journal.
base::Result<bool> write_samples(const std::string& spool_process_folder,
                                 const std::vector<std::string>& module_texts,
                                 const std::string& command,
                                 const std::string& archive_folder, std::uint32_t process);

}  // namespace refrain::code_profile
