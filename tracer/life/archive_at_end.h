// The last step in the traced process: archive from spool, and the summary on stderr.
#pragma once

#include "exchange/exchange.h"

namespace refrain::runtime {

class Session;

// After Session::finish(). Leaves the spool where it is if the archive cannot be written.
// `exchange`: to the other processes of the job; they take part in it at the same time. If
// they cannot, this process writes the archive of all.
void write_archive_at_end(const Session& session, exchange::Exchange& exchange);

// The other processes' part, whether they were traced or not.
void take_part_in_archive(exchange::Exchange& exchange);

}  // namespace refrain::runtime
