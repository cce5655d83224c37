// Reads the mark of an iteration: an Enter of a loop's region, with attributes.
//
// Place in the flow: private to archive_info.h and trace_profile.h, which read marks.
// Thread-safety: const, any thread. Ownership: refers to the definitions.
// Errors: none; a mark without attributes counts as skipped and complete.
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
  // The attribute that says so, or null.
  const reader::ExtraValue* completeness(const reader::TraceEvent& event) const noexcept;

 private:
  static const reader::ExtraValue* find(const reader::TraceEvent& event,
                                        std::uint32_t attribute) noexcept;
  static std::uint64_t value(const reader::TraceEvent& event, std::uint32_t attribute,
                             std::uint64_t otherwise) noexcept;

  const reader::TraceDefinitions& definitions_;
  std::uint32_t written_ = reader::kNone;
  std::uint32_t complete_ = reader::kNone;
};

}  // namespace refrain::analysis
