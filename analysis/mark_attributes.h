// What the mark of an iteration says: an Enter of a loop's region, with attributes.
//
// Place in the flow: private to archive_info.h and trace_profile.h, which read marks.
// Thread-safety: const, any thread. Ownership: refers to the definitions.
// Errors: none; what a mark does not say is as if it were skipped and complete.
// Cost: O(1) an event.
#pragma once

#include <cstdint>

#include "reader/trace_definitions.h"
#include "reader/trace_event.h"

namespace refrain::analysis {

class MarkAttributes {
 public:
  explicit MarkAttributes(const reader::TraceDefinitions& definitions);
  bool is_mark(const reader::TraceEvent& event) const noexcept;  // Enter or Leave
  bool written(const reader::TraceEvent& event) const noexcept;  // whole or partial
  bool partial(const reader::TraceEvent& event) const noexcept;
  bool complete(const reader::TraceEvent& event) const noexcept;  // it came to its end

 private:
  std::uint64_t value(const reader::TraceEvent& event, std::uint32_t attribute,
                      std::uint64_t otherwise) const noexcept;

  const reader::TraceDefinitions& definitions_;
  std::uint32_t written_ = reader::kNone;
  std::uint32_t complete_ = reader::kNone;
};

}  // namespace refrain::analysis
