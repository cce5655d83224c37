// Makes the report of the archive that this process has just written, by the command, in a process of its own.
//
// Place in the flow: the end of a process (archive_at_end.cc), where the setting `report` is on.
// Transparency: the program does not see that process. Its end sends no SIGCHLD, and waiting for any child does not find
// it; it has none of the program's streams but stderr, for a line about what went wrong. It gets its time, and goes on
// alone if that is over. Nothing here changes the program's exit status.
// Thread-safety: once, when the process ends. Errors: a line on stderr.
#pragma once

#include <string>

namespace refrain::runtime {

// The file that was made; empty: there is none, and why is on stderr.
std::string make_report(const std::string& archive);

}  // namespace refrain::runtime
