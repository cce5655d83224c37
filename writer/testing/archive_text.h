// Archives made from synthetic spools, as lines that a test can compare.
//
// Thread-safety: none. Errors: those of test/support/read_trace.h.
#pragma once

#include <string>
#include <vector>

#include "test/support/files.h"
#include "test/support/read_trace.h"
#include "writer/archive_writer.h"
#include "writer/testing/spool_builder.h"

namespace refrain::writer {

// A spool that was written and made into an archive, and the archive read back.
struct Written {
  WriteResult result;
  test::Trace trace;
};

// Fails the test unless all checks of test/support/trace_checks.h pass and otf2-print
// reports nothing.
Written write_and_check(const spool::SpoolBuilder& builder,
                        const test::TemporaryFolder& folder, WriteOptions options = {});

// The same of a job: the spool of each process.
Written write_and_check(const std::vector<spool::SpoolBuilder>& processes,
                        const test::TemporaryFolder& folder, WriteOptions options = {});
// Only by one process for all, as `refrain recover` does it.
Written write_alone_and_check(const std::vector<spool::SpoolBuilder>& processes,
                              const test::TemporaryFolder& folder,
                              WriteOptions options = {});

// One line an event: "<ticks> enter <region>", "<ticks> off", "<ticks> iteration 3", ...
// Enters of iterations carry " [kept]" and, if so, " incomplete".
std::vector<std::string> lines(const test::Trace& trace, std::size_t location);
// Those that contain a text.
std::vector<std::string> lines_with(const test::Trace& trace, std::size_t location,
                                    const std::string& part);

}  // namespace refrain::writer
