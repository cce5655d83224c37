#include "code/followed_code.h"

#include <algorithm>

namespace refrain::code {

using Flow = Instruction::Flow;

bool FollowedCode::Decoded::runs_on() const noexcept {
  switch (instruction.flow) {
    case Flow::kNext:
    case Flow::kBranch:
      return true;
    case Flow::kCall:
      return !ends;
    default:
      return false;
  }
}

FollowedCode::Part* FollowedCode::part_at(std::uint64_t address) {
  for (Part& part : parts)
    if (address >= part.begin && address - part.begin < part.bytes.size()) return &part;
  return nullptr;
}

std::uint32_t FollowedCode::number_at(std::uint64_t address) const {
  for (const Part& part : parts)
    if (address >= part.begin && address - part.begin < part.bytes.size())
      return part.numbers[address - part.begin];
  return kNone;
}

namespace {

class BlockMaker {
 public:
  BlockMaker(const FollowedCode& code, std::uint64_t begin,
             const std::function<bool(std::uint64_t)>& comes_back, BlockGraph& out)
      : code_(code), begin_(begin), comes_back_(comes_back), out_(out) {}

  void make() {
    find_begins();
    block_of_.assign(code_.all.size(), kNoNode);
    for (Node block = 0; block < begins_.size(); ++block) fill(block);
    connect();
    for (const std::uint32_t from : code_.leaving) note_leaving(from, block_of_[from]);
    const std::uint32_t first = code_.number_at(begin_);
    if (first != FollowedCode::kNone) out_.entry = block_of_[first];
  }

 private:
  static constexpr std::uint32_t kNone = FollowedCode::kNone;

  void find_begins() {
    const auto& all = code_.all;
    leads_.resize(all.size());
    closes_.resize(all.size());
    for (const std::uint32_t leader : code_.leaders) leads_[leader] = true;
    for (const auto& [from, to] : code_.edges) leads_[to] = closes_[from] = true;
    for (std::size_t i = 0; i < all.size(); ++i) leads_[i] = leads_[i] || starts(i);
    for (std::uint32_t i = 0; i < all.size(); ++i)
      if (leads_[i]) begins_.push_back(i);
    std::sort(begins_.begin(), begins_.end(), [&all](std::uint32_t a, std::uint32_t b) {
      return all[a].address < all[b].address;
    });
  }

  // A block begins after one that jumps, calls for good, or is where an edge starts.
  bool starts(std::size_t number) const {
    const std::uint32_t before = code_.all[number].before;
    return before == kNone || !code_.all[before].runs_on() || closes_[before] ||
           code_.all[before].instruction.flow == Flow::kBranch;
  }

  void fill(Node block) {
    std::uint32_t at = begins_[block];
    Block& made = out_.blocks.emplace_back();
    made.begin = code_.all[at].address;
    made.first = static_cast<std::uint32_t>(out_.instructions.size());
    while (true) {
      const FollowedCode::Decoded& one = code_.all[at];
      block_of_[at] = block;
      ++made.count;
      out_.instructions.push_back(one.address);
      made.last = one.address;
      made.end = made.last + one.instruction.bytes;
      made.leaves |= one.instruction.returns;
      if (!one.runs_on() || closes_[at]) break;
      const std::uint32_t after = code_.number_at(made.end);
      if (after == kNone || leads_[after]) break;
      at = after;
    }
    made.branches = code_.all[at].instruction.flow == Flow::kBranch;
    ends_.push_back(at);
  }

  void connect() {
    std::vector<std::pair<Node, Node>> edges;
    for (Node block = 0; block < ends_.size(); ++block) {
      const FollowedCode::Decoded& last = code_.all[ends_[block]];
      const std::uint32_t after =
          last.runs_on() ? code_.number_at(last.address + last.instruction.bytes) : kNone;
      if (after != kNone) edges.emplace_back(block, block_of_[after]);
      if (last.instruction.flow == Flow::kUnknown && !last.settled)
        out_.blocks[block].leaves = true;
    }
    for (const auto& [from, to] : code_.edges)
      if (block_of_[from] != kNoNode) edges.emplace_back(block_of_[from], block_of_[to]);
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    out_.next = Digraph(out_.blocks.size(), edges);
  }

  void note_leaving(std::uint32_t from, Node block) {
    if (block == kNoNode) return;
    const FollowedCode::Decoded& one = code_.all[from];
    const bool back =
        !one.instruction.direct ||
        comes_back_(one.address + static_cast<std::uint64_t>(one.instruction.target));
    out_.blocks[block].leaves |= back;
  }

  const FollowedCode& code_;
  std::uint64_t begin_;
  const std::function<bool(std::uint64_t)>& comes_back_;
  BlockGraph& out_;
  std::vector<bool> leads_;
  std::vector<bool> closes_;
  std::vector<std::uint32_t> begins_;
  std::vector<Node> block_of_;
  std::vector<std::uint32_t> ends_;  // the last instruction of each block
};

}  // namespace

void make_blocks(const FollowedCode& code, std::uint64_t begin,
                 const std::function<bool(std::uint64_t)>& comes_back, BlockGraph& out) {
  BlockMaker(code, begin, comes_back, out).make();
}

}  // namespace refrain::code
