#include "analysis/comparison/counter_readings.h"

#include <algorithm>
#include <bit>

namespace refrain::analysis {
namespace {

bool counts_up(OTF2_MetricMode mode) {
  return mode == OTF2_METRIC_ACCUMULATED_START || mode == OTF2_METRIC_ACCUMULATED_LAST ||
         mode == OTF2_METRIC_ACCUMULATED_NEXT;
}

// Integers are subtracted as integers: a double would lose the last digits of large ones.
double difference(std::uint64_t value, std::uint64_t before, std::uint8_t type) {
  switch (type) {
    case OTF2_TYPE_DOUBLE:
      return std::bit_cast<double>(value) - std::bit_cast<double>(before);
    case OTF2_TYPE_INT64:
      return static_cast<double>(static_cast<std::int64_t>(value - before));
    default:
      return value >= before ? static_cast<double>(value - before)
                             : -static_cast<double>(before - value);
  }
}

}  // namespace

CounterTable::CounterTable(const reader::TraceDefinitions& definitions) {
  std::vector<Member> all;
  for (const reader::MetricInfo& metric : definitions.metrics) {
    Member& member = all.emplace_back();
    if (!counts_up(metric.mode)) continue;
    const auto found = std::find(names_.begin(), names_.end(), metric.name);
    member.counter = static_cast<std::uint32_t>(found - names_.begin());
    member.since_begin = metric.mode == OTF2_METRIC_ACCUMULATED_START;
    if (found == names_.end()) names_.push_back(metric.name);
  }
  for (const auto& [ref, metrics] : definitions.metric_classes)
    for (const std::uint32_t index : metrics)
      classes_[ref].push_back(index < all.size() ? all[index] : Member{});
}

const std::vector<CounterTable::Member>* CounterTable::members(std::uint32_t ref) const {
  const auto found = classes_.find(ref);
  return found == classes_.end() ? nullptr : &found->second;
}

void CounterReadings::read(const CounterTable& table, const reader::TraceEvent& event) {
  const auto* members = table.members(event.ref);
  if (members == nullptr || table.names().empty()) return;
  totals_.resize(table.names().size());
  before_.resize(table.names().size());
  known_.resize(table.names().size());
  bits_.resize(table.names().size());
  latest_.assign(table.names().size(), 0);
  const std::size_t count = std::min<std::size_t>(event.metrics, members->size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto [counter, since_begin] = (*members)[i];
    if (counter == reader::kNone) continue;
    const reader::ExtraValue& value = event.extras[i];
    latest_[counter] = difference(value.bits, since_begin ? bits_[counter] : 0, value.type);
    bits_[counter] = value.bits;
    // Separate, for added to a large value small increments would be lost in a double.
    const bool first = since_begin && !known_[counter];
    (first ? before_ : totals_)[counter] += latest_[counter];
    known_[counter] = true;
  }
  fresh_ = true;
  ns_ = event.ns;
}

}  // namespace refrain::analysis
