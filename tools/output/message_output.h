// MPI by message size and partner, as lines that fit a terminal, as JSON and as CSV; docs/reference/profile.md says
// what the names mean.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after analysis/profile/message_calls.h.
// Pure. Thread-safety: none needed. Units: in the names; widths in columns.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/output/profile_source.h"

namespace refrain::tools {

struct MessageScreenOptions {
  std::size_t width = 100;
  bool all = false;
  bool brief = false;  // a part of the profile: the largest rows only
};

// Each table begins with an empty line. Columns for which there is no room are left out.
std::vector<std::string> message_screen(const ProfiledRun& run,
                                        const MessageScreenOptions& options);

// Lists of rows; null if it is not known.
nlohmann::ordered_json by_size_json(const analysis::MessageTables& messages);
nlohmann::ordered_json by_partner_json(const analysis::MessageTables& messages);

// Whether calls by procedure, partner and size have a list of what they are in each process.
enum class MessageParts : bool { kLeaveOut, kPut };
// Both tables, and the calls by procedure, partner and size.
nlohmann::ordered_json messages_value(const ProfiledRun& run, MessageParts parts);
// The same as a text, with all lists.
std::string messages_json(const ProfiledRun& run);
// A row for each procedure, partner, class of sizes, and process.
std::string messages_csv(const ProfiledRun& run);

}  // namespace refrain::tools
