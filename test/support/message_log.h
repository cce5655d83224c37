// Reads the logs that the MPI test programs write of their messages
// (test/programs/mpi/messages.h), and compares an archive with them.
//
// Errors: std::runtime_error for logs that are missing or cannot be read; differences are
// returned as problems in words.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "test/support/read_trace.h"
#include "test/support/trace_checks.h"

namespace refrain::test {

struct LoggedChannel {
  int source = 0, destination = 0;  // ranks of MPI_COMM_WORLD
  std::string comm;
  int tag = 0;
  auto operator<=>(const LoggedChannel&) const = default;
};

struct LoggedMessage {
  std::uint64_t number = 0, bytes = 0;
};

struct LoggedMessages {
  std::vector<LoggedMessage> sends, receives;  // in the order of the two programs
};

struct MessageLog {
  int ranks = 0;
  std::map<std::string, std::vector<int>> members;  // of the communicators
  std::map<LoggedChannel, LoggedMessages> channels;

  std::size_t sends() const;
};

// Of <prefix>.0 to <prefix>.<ranks - 1>.
MessageLog read_message_log(const std::filesystem::path& prefix, int ranks);

// Numbers count up from 0 on each channel, and all sent messages have arrived, in full length.
Problems check_log(const MessageLog& log);

// All messages of the run are in the archive, or some of them, each with both ends.
enum class Extent { kFull, kReduced };

// By channel, compares the archive's pairs with the log's messages: the same ones in the
// same order (kFull), or some of them (kReduced). Messages are identified by their length,
// communicators of the archive by their members and, where several have the same, by their
// names.
Problems compare_with_log(const Trace& trace, const MessageLog& log, Extent extent);

}  // namespace refrain::test
