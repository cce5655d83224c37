#include "regions/call_keys.h"

#include <algorithm>
namespace refrain::regions {

using spool::CallKey;
using spool::CallTree;

namespace {

// A begin as keys_opened_by() wants it.
spool::Record record_of(CallKey key) {
  spool::Record record{};
  record.kind = key.kind();
  record.sub = key.sub();
  record.payload = key.payload;
  if (record.kind == spool::kTaskSchedule)
    record.payload |= std::uint64_t{spool::kTaskNextExplicit} << 48;
  return record;
}

}  // namespace

RegionKeys keys_of_node(CallKey key) noexcept {
  if (key.what == spool::kOtherRegions) return {};
  if (key.kind() == spool::kImplicitTaskBegin)
    return {RegionKey{parallel_class(key.sub()), key.payload}, RegionKey{}};
  return keys_opened_by(record_of(key));
}

std::vector<std::uint64_t> keys_of(const spool::CallTree& tree) {
  std::vector<std::uint64_t> keys;
  for (const CallTree::Node& node : tree.nodes)
    for (const RegionKey& key : keys_of_node(node.key))
      if (key.cls != RegionClass::kNone) keys.push_back(key.packed());
  return keys;
}

std::vector<std::uint64_t> keys_of(const spool::FlowGraph& graph) {
  std::vector<std::uint64_t> keys;
  for (const spool::FlowNode& node : graph.nodes) {
    if (node.kind != spool::FlowKind::kCall) continue;
    const RegionKeys of_call =
        keys_of_node(CallKey::make(spool::kMpiEnter, 0, node.payload));
    keys.push_back(of_call[0].packed());
    if (of_call[1].address != 0) keys.push_back(of_call[1].packed());
  }
  return keys;
}

std::map<std::uint64_t, std::uint64_t> inner_of(const spool::CallTree& tree) {
  std::map<std::uint64_t, std::uint64_t> inner;
  for (const CallTree::Node& node : tree.nodes) {
    const std::uint8_t kind = node.key.kind();
    if (kind != spool::kWorkBegin && kind != spool::kSyncRegionBegin &&
        kind != spool::kMaskedBegin)
      continue;
    const CallKey around = tree.nodes[node.parent].key;
    const std::uint64_t address = node.key.payload & spool::kAddressMask;
    if (around.kind() == spool::kImplicitTaskBegin && address != 0 &&
        address != around.payload)
      inner.emplace(around.payload, address);
  }
  return inner;
}

void add_sums(const spool::CallTree::Node& node, summary::RunSummary::Sums& sums) noexcept {
  const bool ended = node.least <= node.greatest;
  if (ended) {
    const bool first = sums.greatest == 0 && sums.least == 0 && sums.time == 0;
    sums.least = first ? node.least : std::min(sums.least, node.least);
    sums.greatest = std::max(sums.greatest, node.greatest);
  }
  sums.visits += node.visits;
  sums.time += node.time;
  sums.bytes_sent += node.bytes_sent;
  sums.bytes_received += node.bytes_received;
  sums.messages_sent += node.messages_sent;
  sums.messages_received += node.messages_received;
  sums.time_elsewhere += node.time_elsewhere;
  sums.regions_elsewhere += node.regions_elsewhere;
}

}  // namespace refrain::regions
