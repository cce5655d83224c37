// Start and end of recording in a process. See lifecycle.cc for what is argued there.
//
// Thread-safety: start_session() and end_session() from any thread, once each; wanted()
// before anything else. Not for signal handlers.
#pragma once

namespace refrain::runtime {

class Session;

// Reads the settings; whether this process shall be traced. Complains about wrong ones.
bool wanted() noexcept;

// Starts recording; null if that cannot be (told on stderr). The session lives until the
// process ends.
Session* start_session(const char* runtime_name) noexcept;

// What ends the runtime that feeds the session, with all its events still to come: called
// once, when the process ends and the runtime has not said that it has. Set by the event
// source that starts the session.
void set_runtime_end(void (*end_runtime)()) noexcept;

// Ends recording and writes the archive. Idempotent.
void end_session() noexcept;

}  // namespace refrain::runtime
