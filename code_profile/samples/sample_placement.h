// From code addresses to places: the functions and loops of a process' sampled stacks.
//
// Place in the flow: ARCHITECTURE.md, stage 5, between spool/sample_reader.h and sample_file.h, in the process that
// writes the archive.
//
// A frame becomes its function and the loops around its call there, outermost first; loops that the compiler made of
// one `for` are one (code/program_loops.h: by_source()). Inlined functions are no places of their own: a
// loop has the function, file and line of the source that it stands in.
// Thread-safety: none. Ownership: plain values.
// Errors: addresses of no function get a place of Kind::kUnknown, "[unknown]" (no file: made while
// the program ran), "[vdso]" or the like (the kernel's), "[NAME]" (the module's file is missing, or not the one
// that ran), "[callers unknown]", "[deeper callers]". Throws only when memory runs out.
// Cost: functions that were hit are read once each (docs/loops.md).
// Source: Moseley et al., section 4.
#pragma once

#include <string>
#include <vector>

#include "code_profile/samples/placed_samples.h"
#include "spool/sample_reader.h"

namespace refrain::code_profile {

// `module_texts`: as addresses::Resolver takes them.
PlacedSamples place_samples(const spool::SampleTree& tree,
                            const std::vector<std::string>& module_texts);

}  // namespace refrain::code_profile
