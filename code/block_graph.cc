#include "code/block_graph.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "code/aarch64_code.h"
#include "code/followed_code.h"
#include "code/jump_table.h"

namespace refrain::code {
namespace {

// Functions that never return to who calls them, by the names that they have.
//
// Place in the flow: ARCHITECTURE.md, stage 5, under code/block_graph.h. Pure. Cost: logarithmic.

// Of C, C++, Fortran, and what their compilers call; `name` as the linker has it.
bool never_returns(std::string_view name);

constexpr std::array<std::string_view, 45> kNames{
    "_Exit",
    "_Unwind_Resume",
    "_ZSt10unexpectedv",
    "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
    "_ZSt9terminatev",
    "__assert",
    "__assert_fail",
    "__assert_perror_fail",
    "__chk_fail",
    "__clang_call_terminate",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_call_terminate",
    "__cxa_call_unexpected",
    "__cxa_deleted_virtual",
    "__cxa_pure_virtual",
    "__cxa_rethrow",
    "__cxa_throw",
    "__cxa_throw_bad_array_new_length",
    "__fortify_fail",
    "__libc_fatal",
    "__longjmp_chk",
    "__stack_chk_fail",
    "_exit",
    "_gfortran_error_stop_numeric",
    "_gfortran_error_stop_string",
    "_gfortran_os_error",
    "_gfortran_os_error_at",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "_gfortran_stop_numeric",
    "_gfortran_stop_string",
    "_longjmp",
    "abort",
    "err",
    "errx",
    "exit",
    "longjmp",
    "pthread_exit",
    "quick_exit",
    "siglongjmp",
    "thrd_exit",
    "verr",
    "verrx",
    "xalloc_die",
};
static_assert(std::is_sorted(kNames.begin(), kNames.end()));

bool never_returns(std::string_view name) {
  name = name.substr(0, name.find('@'));  // without a version
  // std::__throw_out_of_range(char const*) and its sisters.
  if (name.starts_with("_ZSt") && name.substr(0, 16).find("__throw_") != name.npos)
    return true;
  return std::binary_search(kNames.begin(), kNames.end(), name);
}

using Flow = Instruction::Flow;

constexpr std::uint64_t kMostBytes = 4 << 20;
constexpr std::size_t kMostSteps = 64;
constexpr unsigned kMostDepth = 8;
constexpr std::uint64_t kMostCalleeBytes = 16 << 10;

}  // namespace

// Decodes a function. Instructions have numbers, in the order in which they are found.
class FlowReader::Builder {
 public:
  Builder(FlowReader& reader, const FunctionRange& function, unsigned depth)
      : reader_(reader), function_(function), depth_(depth) {
    add_part(function);
  }

  BlockGraph build() {
    if (function_.end - function_.begin > kMostBytes) return {};
    todo_.push_back({function_.begin, kNone});
    do {
      follow();
    } while (read_tables() || guess());
    connect_tables();
    drop_ends_of_calls();
    make_blocks(
        code_, function_.begin,
        [this](std::uint64_t callee) { return reader_.comes_back(callee, depth_); }, out_);
    count_undecoded();
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t kNone = FollowedCode::kNone;
  using Decoded = FollowedCode::Decoded;
  using Part = FollowedCode::Part;

  struct ReadTable {
    std::uint32_t jump;
    JumpTable table;
    std::vector<TableEntry> entries;
  };
  struct Target {
    std::uint64_t address;
    std::uint32_t from;
  };

  void add_part(const FunctionRange& range) {
    Part& part = code_.parts.emplace_back();
    part.begin = range.begin;
    part.bytes = reader_.image_.bytes(range.begin);
    part.bytes = part.bytes.first(std::min<std::uint64_t>(
        part.bytes.size(), std::min(range.end - range.begin, kMostBytes)));
    part.numbers.assign(part.bytes.size(), kNone);
    part.covered.assign(part.bytes.size(), false);
    part.handlers = reader_.image_.handlers(range.begin);
    out_.parts.emplace_back(part.begin, part.begin + part.bytes.size());
  }

  // The part of an address, also if it is one that was moved away.
  Part* own_part(std::uint64_t address) {
    if (Part* const part = code_.part_at(address); part != nullptr) return part;
    constexpr std::size_t kMostParts = 8;
    const FunctionRange* const other = reader_.image_.function_at(address);
    if (other == nullptr || code_.parts.size() == kMostParts) return nullptr;
    const bool named = !other->name.empty() && !function_.name.empty() &&
                       other->name.starts_with(function_.name) &&
                       other->name.substr(function_.name.size()).starts_with(".cold");
    if (!named && (!other->name.empty() || !jumps_back(*other))) return nullptr;
    add_part(*other);
    return &code_.parts.back();
  }

  // Whether a function without a name jumps into the midst of this one: then it is a part of it.
  bool jumps_back(const FunctionRange& other) {
    const auto [known, is_new] = foreign_.try_emplace(other.begin, false);
    if (!is_new || other.end - other.begin > kMostCalleeBytes) return known->second;
    const auto bytes = reader_.image_.bytes(other.begin);
    std::uint64_t at = 0;
    while (at < other.end - other.begin && at < bytes.size()) {
      const Instruction one = reader_.disassembler_.decode(bytes.subspan(at));
      if (one.bytes == 0) break;
      const std::uint64_t target =
          other.begin + at + static_cast<std::uint64_t>(one.target);
      const bool jumps = one.flow == Flow::kJump || one.flow == Flow::kBranch;
      if (jumps && target != function_.begin && code_.part_at(target) != nullptr)
        return known->second = true;
      at += one.bytes;
    }
    return false;
  }

  void follow() {
    while (!todo_.empty()) {
      const Target target = todo_.back();
      todo_.pop_back();
      if (own_part(target.address) == nullptr) {
        if (target.from != kNone) code_.leaving.push_back(target.from);
        continue;
      }
      decode(target.address, target.from);
      const std::uint32_t number = code_.number_at(target.address);
      if (number == kNone) continue;
      code_.leaders.push_back(number);
      if (target.from == kNone) continue;
      code_.edges.emplace_back(target.from, number);
      if (code_.all[number].jumper == kNone) code_.all[number].jumper = target.from;
    }
  }

  // Instructions from an address on, until control goes elsewhere.
  void decode(std::uint64_t address, std::uint32_t from) {
    std::uint32_t before = kNone;
    while (true) {
      Part* const part = code_.part_at(address);
      if (part == nullptr) return;  // it runs out of the function: after a call of abort()
      const std::size_t offset = address - part->begin;
      if (part->numbers[offset] != kNone) {
        Decoded& known = code_.all[part->numbers[offset]];
        if (known.before == kNone) known.before = before;
        if (before != kNone) code_.leaders.push_back(part->numbers[offset]);
        return;
      }
      const Instruction one = reader_.disassembler_.decode(part->bytes.subspan(offset));
      if (one.bytes == 0) {
        undecoded_.push_back(before != kNone ? before : from);
        return;
      }
      const auto number = static_cast<std::uint32_t>(code_.all.size());
      code_.all.push_back({.address = address, .instruction = one, .before = before});
      part->numbers[offset] = number;
      for (std::size_t i = 0; i < one.bytes; ++i) part->covered[offset + i] = true;
      if (!goes_on(number, *part)) return;
      before = number;
      address += one.bytes;
    }
  }

  // Notes where else control goes; whether it goes to the next instruction.
  bool goes_on(std::uint32_t number, const Part& part) {
    const std::uint64_t at = code_.all[number].address;
    const Instruction one = code_.all[number].instruction;
    switch (one.flow) {
      case Flow::kNext:
        return true;
      case Flow::kEnd:
        return false;
      case Flow::kUnknown:
        unknown_.push_back(number);
        return false;
      case Flow::kCall:
        for (const HandlerEntry& entry : part.handlers)
          if (at >= entry.begin && at < entry.end &&
              code_.part_at(entry.handler) != nullptr)
            todo_.push_back({entry.handler, number});
        code_.all[number].ends = reader_.known_not_to_return(one, at);
        return !code_.all[number].ends;
      case Flow::kJump:
      case Flow::kBranch:
        todo_.push_back({at + static_cast<std::uint64_t>(one.target), number});
        return one.flow == Flow::kBranch;
    }
    return false;
  }

  // The instructions before one, in their order.
  std::vector<Step> steps_to(std::uint32_t number) const {
    std::vector<Step> steps;
    bool taken = false;
    for (std::uint32_t at = number; at != kNone && steps.size() < kMostSteps;) {
      const Decoded& one = code_.all[at];
      steps.push_back({one.address, one.instruction, taken});
      taken = one.before == kNone;
      at = taken ? one.jumper : one.before;
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  // The addresses that the function puts into registers, each once.
  std::vector<std::pair<std::int8_t, std::uint64_t>> constants() const {
    std::vector<std::pair<std::int8_t, std::uint64_t>> known;
    for (const Decoded& one : code_.all) {
      const Operation operation =
          reader_.disassembler_.operation(reader_.image_.bytes(one.address));
      if (operation.kind != Operation::Kind::kAddress || !operation.from_next ||
          operation.to < 0)
        continue;
      known.emplace_back(operation.to, one.address + one.instruction.bytes +
                                           static_cast<std::uint64_t>(operation.offset));
    }
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    return known;
  }

  // The address of the table may be in a register since long before: one of those that the
  // function puts there, if only one of them gives a table.
  std::optional<ReadTable> table_by_constants(const std::vector<Step>& steps) {
    constexpr std::size_t kMostTries = 64;
    if (!constants_) constants_ = constants();
    std::optional<ReadTable> found;
    if (constants_->size() > kMostTries) return found;
    for (const auto& [number, value] : *constants_) {
      KnownRegisters known;
      known[static_cast<std::size_t>(number)] = value;
      std::optional<ReadTable> table = table_of(steps, known);
      if (!table) continue;
      if (found) return {};
      found = std::move(table);
    }
    return found;
  }

  // Whether new targets were found.
  bool read_tables() {
    constants_.reset();
    for (std::size_t i = 0; i < unknown_.size(); ++i) {
      const std::uint32_t number = unknown_[i];
      if (code_.all[number].settled) continue;
      const std::vector<Step> steps = steps_to(number);
      std::optional<ReadTable> table = table_of(steps, {});
      if (!table && may_be_switch(number)) table = table_by_constants(steps);
      if (!table) continue;
      code_.all[number].settled = true;
      ++out_.tables;
      for (const TableEntry& entry : table->entries) todo_.push_back({entry.target, kNone});
      table->jump = number;
      tables_.push_back(std::move(*table));
    }
    return !todo_.empty();
  }

  std::optional<ReadTable> table_of(const std::vector<Step>& steps,
                                    const KnownRegisters& known) {
    const auto table = find_jump_table(reader_.disassembler_, reader_.image_, steps, known);
    if (!table) return {};
    ReadTable out{kNone, *table, {}};
    out.entries = read_jump_table(reader_.image_, *table, [this](std::uint64_t target) {
      const Part* const part = own_part(target);
      if (part == nullptr) return false;
      const std::size_t offset = target - part->begin;
      return part->numbers[offset] != kNone || !part->covered[offset];
    });
    if (out.entries.empty()) return {};
    return out;
  }

  // A table whose length is not certain ends at the latest where the next one begins.
  void connect_tables() {
    for (const ReadTable& table : tables_) {
      std::uint64_t end = ~std::uint64_t{0};
      for (const ReadTable& other : tables_)
        if (!table.table.exact && other.table.address > table.table.address)
          end = std::min(end, other.table.address);
      for (const TableEntry& entry : table.entries) {
        if (table.table.entry(entry.number) >= end) break;
        if (const std::uint32_t to = code_.number_at(entry.target); to != kNone)
          code_.edges.emplace_back(table.jump, to);
      }
    }
  }

  // Not a call through a pointer at the end of the function: something was not reached, or
  // there are other tables.
  bool may_be_switch(std::uint32_t number) {
    return !code_.all[number].instruction.through_slot &&
           (!tables_.empty() || first_gap().has_value());
  }

  // The first instruction that nothing leads to and that is no padding. What lies before it
  // need not be looked at again: more and more is reached.
  std::optional<std::uint64_t> first_gap() {
    for (; gap_part_ < code_.parts.size(); ++gap_part_, gap_offset_ = 0) {
      const Part& part = code_.parts[gap_part_];
      while (gap_offset_ < part.bytes.size()) {
        if (part.covered[gap_offset_] || part.bytes[gap_offset_] == 0) {
          ++gap_offset_;
          continue;
        }
        const Instruction one =
            reader_.disassembler_.decode(part.bytes.subspan(gap_offset_));
        if (one.bytes != 0 && !one.padding) return part.begin + gap_offset_;
        gap_offset_ += std::max<std::size_t>(one.bytes, 1);
      }
    }
    return {};
  }

  // Takes unknown jumps to go where nothing else goes.
  bool guess() {
    constexpr std::size_t kMostGuesses = 4096;
    const auto open =
        std::find_if(unknown_.begin(), unknown_.end(), [this](std::uint32_t i) {
          return !code_.all[i].settled && !code_.all[i].instruction.through_slot;
        });
    if (open == unknown_.end() || guesses_.size() == kMostGuesses) return connect_guesses();
    const auto gap = first_gap();
    if (!gap || (!guesses_.empty() && guesses_.back() == *gap)) return connect_guesses();
    guesses_.push_back(*gap);
    todo_.push_back({*gap, kNone});
    return true;
  }

  bool connect_guesses() {
    if (guesses_.empty()) return false;
    for (const std::uint32_t from : unknown_) {
      if (code_.all[from].settled || code_.all[from].instruction.through_slot) continue;
      code_.all[from].settled = true;
      ++out_.guessed;
      for (const std::uint64_t target : guesses_)
        if (const std::uint32_t to = code_.number_at(target); to != kNone)
          code_.edges.emplace_back(from, to);
    }
    guesses_.clear();
    return false;
  }

  // Where a call is followed by what others jump to, it matters whether it comes back.
  void drop_ends_of_calls() {
    std::vector<bool> target(code_.all.size());
    for (const auto& [from, to] : code_.edges) target[to] = true;
    for (Decoded& one : code_.all) {
      if (one.instruction.flow != Flow::kCall || one.ends || !one.instruction.direct)
        continue;
      const std::uint32_t after = code_.number_at(one.address + one.instruction.bytes);
      if (after != kNone && !target[after]) continue;
      one.ends = !reader_.comes_back(
          one.address + static_cast<std::uint64_t>(one.instruction.target), depth_);
    }
  }

  // What cannot be reached after all does not count.
  void count_undecoded() {
    if (undecoded_.empty()) return;
    if (out_.entry == kNoNode) {
      ++out_.undecoded;
      return;
    }
    const Dominators reached(out_.next, out_.entry);
    for (const std::uint32_t from : undecoded_) {
      const Node node = from == kNone ? kNoNode : out_.at(code_.all[from].address);
      out_.undecoded += node != kNoNode && reached.reachable(node);
    }
  }

  FlowReader& reader_;
  const FunctionRange function_;
  const unsigned depth_;
  BlockGraph out_;
  FollowedCode code_;
  std::unordered_map<std::uint64_t, bool> foreign_;  // parts without a name, by their begin
  std::vector<Target> todo_;
  std::vector<std::uint32_t> unknown_;  // jumps through registers and memory
  std::optional<std::vector<std::pair<std::int8_t, std::uint64_t>>> constants_;
  std::vector<ReadTable> tables_;
  std::vector<std::uint32_t> undecoded_;  // what runs or jumps to what is no instruction
  std::vector<std::uint64_t> guesses_;
  std::size_t gap_part_ = 0;
  std::size_t gap_offset_ = 0;
};

BlockGraph FlowReader::read(const FunctionRange& function, unsigned depth) {
  return Builder(*this, function, depth).build();
}

bool FlowReader::known_not_to_return(const Instruction& call, std::uint64_t at) {
  if (call.through_slot)
    return never_returns(image_.imported(at + static_cast<std::uint64_t>(call.slot)));
  if (!call.direct) return false;
  const std::uint64_t callee = at + static_cast<std::uint64_t>(call.target);
  const FunctionRange* const function = image_.function_at(callee);
  if (function != nullptr && function->begin == callee && !function->name.empty())
    return never_returns(function->name);
  const auto slot = slot_of_stub(callee);
  return slot && never_returns(image_.imported(*slot));
}

// The slot that the linker's stub at an address jumps through, after at most two other
// instructions.
std::optional<std::uint64_t> FlowReader::slot_of_stub(std::uint64_t address) {
  if (disassembler_.is_aarch64()) return aarch64_stub_slot(image_.bytes(address), address);
  for (int i = 0; i < 3; ++i) {
    const Instruction one = disassembler_.decode(image_.bytes(address));
    if (one.bytes == 0) return {};
    if (one.flow == Flow::kUnknown && one.through_slot)
      return address + static_cast<std::uint64_t>(one.slot);
    if (one.flow != Flow::kNext) return {};
    address += one.bytes;
  }
  return {};
}

bool FlowReader::comes_back(std::uint64_t callee, unsigned depth) {
  Instruction call;
  call.direct = true;
  if (known_not_to_return(call, callee)) return false;
  const FunctionRange* function = image_.function_at(callee);
  if (function == nullptr || function->begin != callee) {
    // Perhaps a stub for a function of the same file.
    if (const auto slot = slot_of_stub(callee); slot && !image_.imported(*slot).empty())
      callee = image_.word(*slot).value_or(0);
    function = image_.function_at(callee);
  }
  if (depth >= kMostDepth || function == nullptr || function->begin != callee ||
      function->end - function->begin > kMostCalleeBytes)
    return true;
  if (const auto known = comes_back_.find(callee); known != comes_back_.end())
    return known->second;
  comes_back_[callee] = true;
  const BlockGraph graph = read(*function, depth + 1);
  if (graph.entry == kNoNode || !graph.whole()) return true;
  const Dominators reached(graph.next, graph.entry);
  bool comes_back = false;
  for (const Node node : reached.order()) comes_back |= graph.blocks[node].leaves;
  return comes_back_[callee] = comes_back;
}

Node BlockGraph::at(std::uint64_t address) const {
  auto after =
      std::upper_bound(blocks.begin(), blocks.end(), address,
                       [](std::uint64_t a, const Block& b) { return a < b.begin; });
  // Blocks may overlap, seldom, and then by less than an instruction.
  for (int i = 0; i < 2 && after != blocks.begin(); ++i) {
    --after;
    if (address < after->end) return static_cast<Node>(after - blocks.begin());
  }
  return kNoNode;
}

}  // namespace refrain::code
