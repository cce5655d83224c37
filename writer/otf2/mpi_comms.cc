#include "writer/otf2/mpi_comms.h"

#include <algorithm>
#include <sstream>

namespace refrain::writer {
namespace {

constexpr std::uint32_t kMostProcesses = 1U << 24;

void fill(std::vector<std::uint32_t>& members, const std::vector<std::uint32_t>& from) {
  if (members.size() < from.size()) members.resize(from.size(), kNoRank);
  for (std::size_t i = 0; i < from.size(); ++i)
    if (members[i] == kNoRank) members[i] = from[i];
}

// The group that is told first is that of the process with the least rank.
void order_groups(CommFacts& facts) {
  if (facts.kind != spool::kMpiCommInter || facts.members.empty() || facts.remote.empty())
    return;
  const auto least = [](const std::vector<std::uint32_t>& group) {
    return *std::min_element(group.begin(), group.end());
  };
  if (least(facts.remote) < least(facts.members)) std::swap(facts.members, facts.remote);
}

bool is_member(const std::vector<std::uint32_t>& group, std::uint32_t rank) {
  return std::find(group.begin(), group.end(), rank) != group.end();
}

bool is_complete(const CommFacts& facts) {
  if (facts.kind == spool::kMpiCommSelf) return true;
  const bool both = facts.kind != spool::kMpiCommInter || !facts.remote.empty();
  return both && !facts.members.empty() && !is_member(facts.members, kNoRank) &&
         !is_member(facts.remote, kNoRank);
}

// Order of definition: the world, then all others behind what they were made from.
std::size_t order_of(const MpiFacts& all, const CommFacts& facts) {
  constexpr std::size_t kDeepest = 4096;
  if (facts.kind == spool::kMpiCommWorld) return 0;
  if (facts.kind == spool::kMpiCommSelf) return 1;
  std::size_t depth = 2;
  auto parent = all.comms.find(facts.parent);
  for (; parent != all.comms.end() && depth < kDeepest; ++depth)
    parent = all.comms.find(parent->second.parent);
  return depth;
}

}  // namespace

MpiFacts mpi_facts(const spool::MpiJournal& journal) {
  MpiFacts facts;
  if (!journal.known) return facts;
  facts.size = journal.size;
  for (const auto& [number, comm] : journal.comms) {
    if (comm.kind == spool::kMpiCommWindow) {
      facts.windows[comm.identity] = {comm.parent};
      continue;
    }
    CommFacts& known = facts.comms[comm.identity];
    known.kind = comm.kind;
    known.parent = comm.parent;
    known.members = comm.members;
    known.remote = comm.remote;
    known.name = comm.name;
    known.topology = comm.topology;
    // Of an intercommunicator it is not known which group another process would tell first.
    if (comm.kind != spool::kMpiCommInter) {
      const std::uint32_t size = std::max(comm.size, comm.rank + 1);
      if (size <= std::min(kMostProcesses, std::max(journal.size, size))) {
        known.members.resize(std::max<std::size_t>(known.members.size(), size), kNoRank);
        known.members[comm.rank] = journal.rank;
      }
    }
    order_groups(known);
  }
  return facts;
}

MpiFacts merge(const MpiFacts& a, const MpiFacts& b) {
  MpiFacts out = a;
  out.size = std::max(a.size, b.size);
  for (const auto& [identity, facts] : b.comms) {
    const auto [at, is_new] = out.comms.try_emplace(identity, facts);
    if (is_new) continue;
    CommFacts& known = at->second;
    fill(known.members, facts.members);
    fill(known.remote, facts.remote);
    if (known.parent == 0) known.parent = facts.parent;
    if (known.name.empty()) known.name = facts.name;
    if (known.topology.empty()) known.topology = facts.topology;
  }
  out.windows.insert(b.windows.begin(), b.windows.end());
  return out;
}

CartGrid cart_grid(const std::string& topology) {
  std::istringstream words(topology);
  std::string kind;
  words >> kind;
  CartGrid grid;
  if (kind != "cart") return grid;
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t number = 0; words >> number;) numbers.push_back(number);
  const std::size_t dimensions = numbers.empty() ? 0 : numbers.front();
  if (dimensions == 0 || dimensions > 0xff || numbers.size() < 1 + 2 * dimensions)
    return grid;
  for (std::size_t i = 1; i <= dimensions; ++i) {
    grid.periodic.push_back(numbers[i] != 0);
    grid.sizes.push_back(numbers[dimensions + i]);
  }
  return grid;
}

CommTable comm_table(const MpiFacts& all) {
  CommTable table;
  table.size = all.size;
  std::uint32_t self = kNoRank;
  for (const auto& [identity, facts] : all.comms)
    if (is_complete(facts)) table.comms.push_back({identity, facts});
  std::stable_sort(table.comms.begin(), table.comms.end(),
                   [&all](const CommEntry& a, const CommEntry& b) {
                     return order_of(all, a.facts) < order_of(all, b.facts);
                   });
  std::vector<CommEntry> kept;
  for (CommEntry& entry : table.comms) {
    const bool is_self = entry.facts.kind == spool::kMpiCommSelf;
    auto index = static_cast<std::uint32_t>(kept.size());
    if (is_self && self != kNoRank) index = self;
    if (is_self) self = index;
    table.index_of[entry.identity] = index;
    table.members[entry.identity] =
        is_self ? 1 : entry.facts.members.size() + entry.facts.remote.size();
    if (index == kept.size()) kept.push_back(std::move(entry));
  }
  table.comms = std::move(kept);
  for (CommEntry& entry : table.comms) {
    const auto parent = table.index_of.find(entry.facts.parent);
    if (parent != table.index_of.end() && &table.comms[parent->second] != &entry)
      entry.parent = parent->second;
  }
  for (const auto& [identity, window] : all.windows) {
    const auto comm = table.index_of.find(window.comm);
    if (comm != table.index_of.end()) table.windows.push_back({identity, comm->second});
  }
  return table;
}

ProcessComms process_comms(const spool::MpiJournal& journal, const CommTable& table) {
  ProcessComms out;
  out.rank = journal.rank;
  for (const auto& [number, comm] : journal.comms) {
    for (std::size_t i = 0; i < table.windows.size(); ++i)
      if (table.windows[i].identity == comm.identity)
        out.windows[number] = static_cast<std::uint32_t>(i);
    const auto index = table.index_of.find(comm.identity);
    if (index == table.index_of.end()) continue;
    const CommFacts& facts = table.comms[index->second].facts;
    LocalComm local{index->second, comm.identity, journal.rank, &facts.members};
    if (facts.kind == spool::kMpiCommSelf) local.peers = nullptr;
    if (facts.kind == spool::kMpiCommInter && is_member(facts.members, journal.rank))
      local.peers = &facts.remote;
    out.comms[number] = local;
  }
  return out;
}

}  // namespace refrain::writer
