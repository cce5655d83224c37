#include "analysis/mark_attributes.h"

namespace refrain::analysis {

using reader::EventKind;
using reader::TraceDefinitions;
using reader::TraceEvent;

namespace {
constexpr std::uint64_t kPartial = 2;  // of `written`; 1: whole
}

MarkAttributes::MarkAttributes(const TraceDefinitions& definitions)
    : definitions_(definitions) {
  for (const auto& [ref, attribute] : definitions.attributes) {
    if (attribute.name == "written") written_ = ref;
    if (attribute.name == "complete") complete_ = ref;
  }
}

bool MarkAttributes::is_mark(const TraceEvent& event) const noexcept {
  return (event.kind == EventKind::kEnter || event.kind == EventKind::kLeave) &&
         event.ref < definitions_.regions.size() && definitions_.regions[event.ref].is_loop;
}

bool MarkAttributes::written(const TraceEvent& event) const noexcept {
  return value(event, written_, 0) != 0;
}

bool MarkAttributes::partial(const TraceEvent& event) const noexcept {
  return value(event, written_, 0) == kPartial;
}

bool MarkAttributes::complete(const TraceEvent& event) const noexcept {
  return value(event, complete_, 1) != 0;
}

const reader::ExtraValue* MarkAttributes::completeness(
    const TraceEvent& event) const noexcept {
  return find(event, complete_);
}

const reader::ExtraValue* MarkAttributes::find(const TraceEvent& event,
                                               std::uint32_t attribute) noexcept {
  const unsigned end = unsigned{event.metrics} + event.attributes;
  for (unsigned i = event.metrics; i < end; ++i)
    if (event.extras[i].ref == attribute) return &event.extras[i];
  return nullptr;
}

std::uint64_t MarkAttributes::value(const TraceEvent& event, std::uint32_t attribute,
                                    std::uint64_t otherwise) noexcept {
  const reader::ExtraValue* const found = find(event, attribute);
  return found == nullptr ? otherwise : found->bits;
}

}  // namespace refrain::analysis
