// The last step in the traced process: archive from spool, and the summary on stderr.
#pragma once

#include <string>

#include "exchange/exchange.h"

namespace refrain::runtime {

class Session;

// After Session::finish(). False: the archive cannot be written, why is on stderr, and the spool stays where it is.
// `exchange`: to the other processes of the job; they take part in it at the same time. If
// they cannot, this process writes the archive of all.
bool write_archive_at_end(const Session& session, exchange::Exchange& exchange);

// The other processes' part, whether they were traced or not.
void take_part_in_archive(exchange::Exchange& exchange);

// --- Makes the report of the archive that this process has just written, by the command, in a process of its own.
//
// Place in the flow: the end of a process (archive_at_end.cc), where the setting `report` is on.
// Transparency: the program does not see that process. Its end sends no SIGCHLD, and waiting for any child does not find
// it; it has none of the program's streams but stderr, for a line about what went wrong. It gets its time, and goes on
// alone if that is over. Nothing here changes the program's exit status.
// Thread-safety: once, when the process ends. Errors: a line on stderr.

// The file that was made; empty: there is none, and why is on stderr.
std::string make_report(const std::string& archive);

}  // namespace refrain::runtime
