#include "writer/messages/mpi_comms.h"

#include <algorithm>
#include <limits>
#include <sstream>

namespace refrain::writer {
namespace {

// The group of the process with the smallest rank comes first.
void order_groups(CommFacts& facts) {
  if (facts.kind != spool::kMpiCommInter || facts.members.empty() || facts.remote.empty())
    return;
  if (facts.remote.least() < facts.members.least()) std::swap(facts.members, facts.remote);
}

bool is_complete(const CommFacts& facts) {
  if (facts.kind == spool::kMpiCommSelf) return true;
  const bool both = facts.kind != spool::kMpiCommInter || !facts.remote.empty();
  return both && !facts.members.empty() && facts.members.complete() &&
         facts.remote.complete();
}

std::uint64_t self_of(const spool::MpiJournal& journal) {
  for (const auto& [number, comm] : journal.comms)
    if (comm.kind == spool::kMpiCommSelf) return comm.identity;
  return 0;
}

// Order of definition: the world, then all others after those that they were made from.
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
  const std::uint64_t self = self_of(journal);
  const auto common = [self](std::uint64_t identity) {
    return identity == self && self != 0 ? kSelfIdentity : identity;
  };
  for (const auto& [number, comm] : journal.comms) {
    if (comm.kind == spool::kMpiCommWindow) {
      facts.windows[comm.identity] = {common(comm.parent), comm.name};
      continue;
    }
    CommFacts& known = facts.comms[common(comm.identity)];
    known.kind = comm.kind;
    known.parent = common(comm.parent);
    known.name = comm.name;
    known.topology = comm.topology;
    if (comm.kind == spool::kMpiCommSelf) continue;
    if (comm.kind == spool::kMpiCommWorld && facts.size <= kMaxProcesses) {
      // Whatever the journal says about its members.
      known.members = RankList::all(facts.size);
      continue;
    }
    known.members = RankList(comm.members);
    known.remote = RankList(comm.remote);
    // In an intercommunicator it is not known which group another process would put first.
    if (comm.kind != spool::kMpiCommInter && comm.kind != spool::kMpiCommGroup) {
      const std::uint32_t size = std::max(comm.size, comm.rank + 1);
      if (comm.rank < size && size <= kMaxProcesses)
        known.members.fill(RankList::one(size, comm.rank, journal.rank));
    }
    order_groups(known);
  }
  return facts;
}

MpiFacts merge(MpiFacts a, const MpiFacts& b) {
  a.size = std::max(a.size, b.size);
  for (const auto& [identity, facts] : b.comms) {
    const auto [at, is_new] = a.comms.try_emplace(identity, facts);
    if (is_new) continue;
    CommFacts& known = at->second;
    known.members.fill(facts.members);
    known.remote.fill(facts.remote);
    if (known.parent == 0) known.parent = facts.parent;
    if (known.name.empty()) known.name = facts.name;
    if (known.topology.empty()) known.topology = facts.topology;
  }
  for (const auto& [identity, window] : b.windows) {
    const auto [at, is_new] = a.windows.try_emplace(identity, window);
    if (at->second.name.empty()) at->second.name = window.name;
  }
  return a;
}

void put(exchange::ByteWriter& out, const MpiFacts& facts) {
  out.number(facts.size);
  out.number(facts.comms.size());
  for (const auto& [identity, comm] : facts.comms) {
    out.word(identity);
    out.number(comm.kind);
    out.word(comm.parent);
    put(out, comm.members);
    put(out, comm.remote);
    out.text(comm.name);
    out.text(comm.topology);
  }
  out.number(facts.windows.size());
  for (const auto& [identity, window] : facts.windows) {
    out.word(identity);
    out.word(window.comm);
    out.text(window.name);
  }
}

void take(exchange::ByteReader& in, MpiFacts& facts) {
  facts.size = in.number32();
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    const std::uint64_t identity = in.word();
    CommFacts comm;
    comm.kind = static_cast<spool::MpiCommKind>(in.number_to(0xff));
    comm.parent = in.word();
    take(in, comm.members);
    take(in, comm.remote);
    comm.name = in.text();
    comm.topology = in.text();
    if (!facts.comms.emplace(identity, std::move(comm)).second) in.fail();
  }
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    const std::uint64_t identity = in.word();
    WindowFacts window{in.word(), {}};
    window.name = in.text();
    if (!facts.windows.emplace(identity, std::move(window)).second) in.fail();
  }
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
  for (const auto& [identity, facts] : all.comms) {
    if (!is_complete(facts)) continue;
    if (facts.kind == spool::kMpiCommGroup)
      table.groups.push_back({identity, facts.members});
    else
      table.comms.push_back({identity, facts});
  }
  std::stable_sort(table.comms.begin(), table.comms.end(),
                   [&all](const CommEntry& a, const CommEntry& b) {
                     return order_of(all, a.facts) < order_of(all, b.facts);
                   });
  std::vector<CommEntry> kept;
  for (CommEntry& entry : table.comms) {
    const auto index = static_cast<std::uint32_t>(kept.size());
    table.index_of[entry.identity] = index;
    table.members[entry.identity] =
        std::uint64_t{entry.facts.members.size()} + entry.facts.remote.size();
    kept.push_back(std::move(entry));
  }
  table.comms = std::move(kept);
  for (CommEntry& entry : table.comms) {
    const auto parent = table.index_of.find(entry.facts.parent);
    if (parent != table.index_of.end() && &table.comms[parent->second] != &entry)
      entry.parent = parent->second;
  }
  for (const auto& [identity, window] : all.windows) {
    const auto comm = table.index_of.find(window.comm);
    if (comm == table.index_of.end()) continue;
    table.windows.push_back({identity, comm->second, window.name});
    const CommFacts& facts = table.comms[comm->second].facts;
    table.members[identity] = facts.kind == spool::kMpiCommSelf ? 1 : facts.members.size();
  }
  return table;
}

void CommTable::add_self_of(const spool::MpiJournal& journal) {
  if (!journal.known) return;
  const auto self = index_of.find(kSelfIdentity);
  const std::uint64_t identity = self_of(journal);
  if (self == index_of.end() || identity == 0) return;
  index_of[identity] = self->second;
  members[identity] = 1;
}

ProcessComms process_comms(const spool::MpiJournal& journal, const CommTable& table) {
  ProcessComms out;
  if (!journal.known) return out;
  out.rank = journal.rank;
  for (const auto& [number, comm] : journal.comms) {
    for (std::size_t i = 0; i < table.windows.size(); ++i)
      if (table.windows[i].identity == comm.identity)
        out.windows[number] = {static_cast<std::uint32_t>(i), comm.identity};
    for (std::size_t i = 0; i < table.groups.size(); ++i)
      if (table.groups[i].identity == comm.identity)
        out.groups[number] = static_cast<std::uint32_t>(i);
    const auto index = table.index_of.find(comm.identity);
    if (index == table.index_of.end()) continue;
    const CommFacts& facts = table.comms[index->second].facts;
    LocalComm local{index->second, comm.identity, journal.rank, &facts.members};
    if (facts.kind == spool::kMpiCommSelf) local.peers = nullptr;
    if (facts.kind == spool::kMpiCommInter && facts.members.contains(journal.rank))
      local.peers = &facts.remote;
    out.comms[number] = local;
  }
  return out;
}

namespace {

using Run = RankList::Run;

// The part of a run that lies in the places [from, to).
Run part_of(const Run& run, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t begin = std::max(run.place, from);
  const std::uint32_t end = std::min(run.end(), to);
  if (begin >= end) return {};
  const std::uint32_t count = end - begin;
  return {begin, run.at(begin), count, count == 1 ? 0 : run.step};
}

}  // namespace

RankList::RankList(std::span<const std::uint32_t> ranks)
    : size_(static_cast<std::uint32_t>(ranks.size())) {
  for (std::uint32_t i = 0; i < size_; ++i)
    if (ranks[i] != kNoRank) append({i, ranks[i], 1, 0});
}

RankList RankList::all(std::uint32_t size) {
  RankList out;
  out.size_ = size;
  out.append({0, 0, size, size > 1 ? 1 : 0});
  return out;
}

RankList RankList::one(std::uint32_t size, std::uint32_t place, std::uint32_t rank) {
  RankList out;
  out.size_ = size;
  out.append({place, rank, 1, 0});
  return out;
}

void RankList::append(Run run) {
  constexpr std::int64_t kMaxStep = std::numeric_limits<std::int32_t>::max();
  if (run.count == 0) return;
  while (!runs_.empty() && runs_.back().end() == run.place) {
    Run& last = runs_.back();
    const std::int64_t step =
        std::int64_t{run.rank} - std::int64_t{last.at(last.end() - 1)};
    const bool fits = last.count == 1 ? step != 0 && step <= kMaxStep && step >= -kMaxStep
                                      : step == last.step;
    if (!fits) break;
    last.step = static_cast<std::int32_t>(step);
    // If the steps differ, only the first rank of the run fits here.
    const std::uint32_t taken = run.step == last.step ? run.count : 1;
    last.count += taken;
    if (taken == run.count) return;
    run = part_of(run, run.place + taken, run.end());
  }
  runs_.push_back(run);
}

std::uint32_t RankList::operator[](std::uint32_t place) const noexcept {
  const auto after = std::upper_bound(
      runs_.begin(), runs_.end(), place,
      [](std::uint32_t value, const Run& run) { return value < run.place; });
  if (after == runs_.begin() || place >= (after - 1)->end()) return kNoRank;
  return (after - 1)->at(place);
}

bool RankList::complete() const noexcept {
  std::uint64_t known = 0;
  for (const Run& run : runs_) known += run.count;
  return known == size_;
}

bool RankList::contains(std::uint32_t rank) const noexcept {
  return std::any_of(runs_.begin(), runs_.end(), [rank](const Run& run) {
    const std::int64_t from_first = std::int64_t{rank} - std::int64_t{run.rank};
    if (run.step == 0) return from_first == 0;
    const std::int64_t steps = from_first / run.step;
    return from_first % run.step == 0 && steps >= 0 && steps < run.count;
  });
}

std::uint32_t RankList::least() const noexcept {
  std::uint32_t least = kNoRank;
  for (const Run& run : runs_) least = std::min({least, run.rank, run.at(run.end() - 1)});
  return least;
}

void RankList::fill(const RankList& from) {
  RankList out;
  out.size_ = std::max(size_, from.size_);
  auto other = from.runs_.begin();
  std::uint32_t place = 0;
  const auto fill_to = [&](std::uint32_t end) {
    for (; other != from.runs_.end() && other->place < end; ++other) {
      out.append(part_of(*other, place, end));
      if (other->end() > end) break;
    }
  };
  for (const Run& run : runs_) {
    fill_to(run.place);
    out.append(run);
    place = run.end();
  }
  fill_to(out.size_);
  *this = std::move(out);
}

void put(exchange::ByteWriter& out, const RankList& list) {
  out.number(list.size_);
  out.number(list.runs_.size());
  std::uint32_t end = 0;
  for (const Run& run : list.runs_) {
    out.number(run.place - end);
    out.number(run.rank);
    out.number(run.count);
    if (run.count > 1) out.signed_number(run.step);
    end = run.end();
  }
}

void take(exchange::ByteReader& in, RankList& list) {
  list.size_ = static_cast<std::uint32_t>(in.number_to(kMaxProcesses));
  std::uint32_t end = 0;
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    Run run;
    run.place = end + static_cast<std::uint32_t>(in.number_to(list.size_ - end));
    run.rank = static_cast<std::uint32_t>(in.number_to(kNoRank - 1));
    run.count = static_cast<std::uint32_t>(in.number_to(list.size_ - run.place));
    const std::int64_t step = run.count > 1 ? in.signed_number() : 0;
    const std::int64_t least_step = -std::int64_t{kNoRank};
    if (run.count == 0 || (run.count > 1 && step == 0) || step < least_step ||
        step > kNoRank) {
      in.fail();
      return;
    }
    const std::int64_t last = std::int64_t{run.rank} + step * (std::int64_t{run.count} - 1);
    run.step = static_cast<std::int32_t>(step);
    if (last < 0 || last >= kNoRank || run.step != step) in.fail();
    end = run.end();
    if (in.ok()) list.append(run);
  }
}

}  // namespace refrain::writer
