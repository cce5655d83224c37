// What was detected and written, in the few lines that a user reads at the end.
//
// Place in the flow: ARCHITECTURE.md, stage 5; printed by the traced program at its end and
// by `refrain recover`. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "filters/settings.h"
#include "writer/archive/write_result.h"

namespace refrain::writer {

// The size of the archive, and what is in it.
struct Volume {
  std::uint64_t bytes = 0;
  std::uint64_t event_bytes = 0;   // of these, files of events: what grows with events
  std::uint64_t records = 0;       // in these
  std::uint64_t mark_records = 0;  // of these, marks of iterations
  std::uint64_t iterations = 0;    // of all loops, written or not
  std::uint64_t seen = 0;          // events, and of these
  std::uint64_t written = 0;
};

// Its size if every event had been written, and each iteration had marks: from the bytes of a record, and the records of
// an event.
std::uint64_t full_bytes(const Volume& volume);

// The main loop, what was written, which messages lack an end, and the next command: a line
// each.
std::vector<std::string> summary_lines(const WriteResult& result,
                                       const std::string& archive);

// Why most is written despite the limit; see limit_reason.h.
std::string limit_reason(const filters::Settings& settings, const WriteResult& result);

// ", except coalesced polls and short locks in a row": what is not written although no loop was detected. Empty: nothing.
std::string exceptions_text(std::uint64_t polls_together, std::uint64_t locks_left_out);

// What was lost or damaged; empty if nothing was.
std::vector<std::string> loss_lines(const WriteResult& result);

}  // namespace refrain::writer
