// The last step in the traced process: archive from spool, and the summary on stderr.
#pragma once

namespace refrain::runtime {

class Session;

// After Session::finish(). Leaves the spool where it is if the archive cannot be written.
void write_archive_at_end(const Session& session);

}  // namespace refrain::runtime
