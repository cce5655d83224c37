// What an input lacks, or has and is not used: lines for the user about work that goes on.
//
// Place in the flow: whoever reads an archive or a summary says it here; the command prints the lines to stderr when it
// is done, the Python module warns, a report lists them. Errors end the work and are Results instead.
// Thread-safety: any thread. Cost: memory for each different line.
#pragma once

#include <string>
#include <vector>

namespace refrain::base {

// One line, without its end. One that waits already is not repeated.
void note(std::string line);
// The lines since the last call, in the order in which they came.
std::vector<std::string> take_notes();

}  // namespace refrain::base
