#include "code/block_graph.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>

#include "code/aarch64_code.h"
#include "code/jump_table.h"

namespace refrain::code {

namespace {

using Flow = Instruction::Flow;

constexpr std::uint64_t kMaxBytes = 4 << 20;
constexpr std::size_t kMaxSteps = 64;
constexpr unsigned kMostDepth = 8;
constexpr std::uint64_t kMaxCalleeBytes = 16 << 10;
constexpr std::size_t kMaxCalleeInstructions = 4000;  // of another file

}  // namespace

// Decodes a function. Instructions have numbers, in the order in which they are found.
class FlowReader::Builder {
 public:
  Builder(FlowReader& reader, const FunctionRange& function, unsigned depth)
      : reader_(reader), function_(function), depth_(depth) {
    add_part(function);
  }

  BlockGraph build() {
    out_.cut = function_.end - function_.begin > kMaxBytes;
    if (out_.cut) return std::move(out_);
    todo_.push_back({function_.begin, kNone});
    do {
      follow();
    } while (!out_.cut && (read_tables() || guess()));
    out_.cut = out_.cut || reader_.left_ == 0;
    if (out_.cut) return std::move(out_);
    connect_tables();
    drop_ends_of_calls();
    make_blocks(
        code_, function_.begin,
        [this](std::uint64_t callee) { return reader_.comes_back(callee, depth_); }, out_);
    count_undecoded();
    note_calls();
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
        part.bytes.size(), std::min(range.end - range.begin, kMaxBytes)));
    part.numbers.assign(part.bytes.size(), kNone);
    part.covered.assign(part.bytes.size(), false);
    part.handlers = reader_.image_.handlers(range.begin);
    out_.parts.emplace_back(part.begin, part.begin + part.bytes.size());
  }

  // The part of an address, also if it is one that was moved away.
  Part* own_part(std::uint64_t address) {
    if (Part* const part = code_.part_at(address); part != nullptr) return part;
    constexpr std::size_t kMaxParts = 8;
    constexpr std::size_t kLooks = 8;  // what asking for a function costs
    if (!reader_.may_look(kLooks)) return nullptr;
    const FunctionRange* const other = reader_.image_.function_at(address);
    if (other == nullptr || code_.parts.size() == kMaxParts) return nullptr;
    const bool named = !other->name.empty() && !function_.name.empty() &&
                       other->name.starts_with(function_.name) &&
                       other->name.substr(function_.name.size()).starts_with(".cold");
    if (!named && !jumps_back(*other, address)) return nullptr;
    add_part(*other);
    return &code_.parts.back();
  }

  // Returns true if a function without a name jumps into the midst of this one, or handles its exceptions: then it is a
  // part of it.
  bool jumps_back(const FunctionRange& other, std::uint64_t address) {
    const auto [known, is_new] = foreign_.try_emplace(other.begin, false);
    if (!is_new || !other.name.empty() || reader_.slot_of_stub(address))
      return known->second;
    for (const std::uint64_t target : reader_.jumps_of(other))
      known->second |= target != function_.begin && code_.part_at(target) != nullptr;
    return known->second;
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
      if (!reader_.may_look()) {
        out_.cut = true;
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

  // Notes where else control goes; returns true if it goes to the next instruction.
  bool goes_on(std::uint32_t number, const Part& part) {
    const std::uint64_t at = code_.all[number].address;
    const Instruction one = code_.all[number].instruction;
    std::string_view name;
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
          if (at >= entry.begin && at < entry.end) add_handler(entry.handler, number);
        name = reader_.name_of_callee(one, at);
        code_.all[number].ends = never_returns(name);
        code_.all[number].again = returns_again(name);
        return !code_.all[number].ends;
      case Flow::kJump:
      case Flow::kBranch:
        todo_.push_back({at + static_cast<std::uint64_t>(one.target), number});
        return one.flow == Flow::kBranch;
    }
    return false;
  }

  // Handlers are often moved away; who is entered by an exception of the function is a part of it.
  void add_handler(std::uint64_t handler, std::uint32_t call) {
    if (code_.part_at(handler) == nullptr) {
      const FunctionRange* const other = reader_.image_.function_at(handler);
      if (other == nullptr) return;
      foreign_[other->begin] = true;
    }
    todo_.push_back({handler, call});
  }

  // The instructions before one, in their order.
  std::vector<Step> steps_to(std::uint32_t number) {
    std::vector<Step> steps;
    bool taken = false;
    for (std::uint32_t at = number; at != kNone && steps.size() < kMaxSteps;) {
      const Decoded& one = code_.all[at];
      steps.push_back({one.address, one.instruction, operation(at), taken});
      taken = one.before == kNone;
      at = taken ? one.jumper : one.before;
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  const Operation& operation(std::uint32_t number) {
    const auto [known, is_new] = operations_.try_emplace(number);
    if (is_new && reader_.may_look())
      known->second =
          reader_.disassembler_.operation(reader_.image_.bytes(code_.all[number].address));
    return known->second;
  }

  // The addresses that the function puts into registers, each once.
  const std::vector<std::pair<std::int8_t, std::uint64_t>>& constants() {
    if (constants_until_ == code_.all.size()) return constants_;
    for (; constants_until_ < code_.all.size() && reader_.may_look(); ++constants_until_) {
      const Decoded& one = code_.all[constants_until_];
      const Operation operation =
          reader_.disassembler_.operation(reader_.image_.bytes(one.address));
      if (operation.kind != Operation::Kind::kAddress || !operation.from_next ||
          operation.to < 0)
        continue;
      constants_.emplace_back(operation.to,
                              one.address + one.instruction.bytes +
                                  static_cast<std::uint64_t>(operation.offset));
    }
    std::sort(constants_.begin(), constants_.end());
    constants_.erase(std::unique(constants_.begin(), constants_.end()), constants_.end());
    return constants_;
  }

  // The address of the table may be in a register since long before: one of those that the
  // function puts there, if only one of them gives a table.
  std::optional<ReadTable> table_by_constants(const std::vector<Step>& steps) {
    constexpr std::size_t kMaxTries = 64;
    std::optional<ReadTable> found;
    bool several = false;
    std::uint32_t registers = 0;  // that may hold it
    if (constants().size() > kMaxTries) return found;
    for (const auto& [number, value] : constants()) {
      KnownRegisters known;
      known[static_cast<std::size_t>(number)] = value;
      std::optional<ReadTable> table = table_of(steps, known);
      if (!table) continue;
      several = several || found.has_value();
      registers |= std::uint32_t{1} << number;
      found = std::move(table);
    }
    return several ? table_by_ways(steps, registers) : found;
  }

  // Of several of them the one that all known ways to the jump put into its register.
  std::optional<ReadTable> table_by_ways(const std::vector<Step>& steps,
                                         std::uint32_t registers) {
    KnownRegisters known;
    for (std::size_t number = 0; number < known.size(); ++number)
      if ((registers >> number & 1) != 0)
        known[number] = constant_at(code_.number_at(steps.front().address), number);
    return table_of(steps, known);
  }

  // The edges that are known, as (to, from).
  void turn_edges() {
    back_.clear();
    for (const auto& [from, to] : code_.edges) back_.emplace_back(to, from);
    for (const ReadTable& table : tables_)
      for (const TableEntry& entry : table.entries)
        if (const std::uint32_t to = code_.number_at(entry.target); to != kNone)
          back_.emplace_back(to, table.jump);
    std::sort(back_.begin(), back_.end());
  }

  std::optional<std::uint64_t> constant_at(std::uint32_t at, std::size_t reg) {
    if (back_.empty()) turn_edges();
    constexpr std::uint32_t kLostInCalls = 0x0fc7;  // rax, rcx, rdx, rsi, rdi, r8 to r11
    std::optional<std::uint64_t> found;
    std::vector<bool> seen(code_.all.size());
    std::vector<std::uint32_t> todo{at};
    while (!todo.empty()) {
      const std::uint32_t to = todo.back();
      todo.pop_back();
      const auto visit = [&](std::uint32_t from) {
        if (from == kNone || seen[from]) return true;
        seen[from] = true;
        const Decoded& one = code_.all[from];
        const Operation& done = operation(from);
        const std::uint32_t written =
            one.instruction.flow == Flow::kCall ? kLostInCalls : done.written;
        if ((written >> reg & 1) == 0) {
          todo.push_back(from);
          return true;
        }
        const std::uint64_t value =
            one.address + one.instruction.bytes + static_cast<std::uint64_t>(done.offset);
        if (done.kind != Operation::Kind::kAddress || !done.from_next ||
            found.value_or(value) != value)
          return false;
        found = value;
        return true;
      };
      if (!visit(code_.all[to].before)) return {};
      for (auto way = std::lower_bound(back_.begin(), back_.end(), std::pair{to, 0U});
           way != back_.end() && way->first == to; ++way)
        if (!visit(way->second)) return {};
    }
    return found;
  }

  // Returns true if new targets were found.
  bool read_tables() {
    back_.clear();
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
    if (!reader_.may_look(steps.size() / 4)) return {};
    const auto table = find_jump_table(reader_.image_, steps, known);
    if (!table) return {};
    ReadTable out{kNone, *table, {}};
    out.entries = read_jump_table(reader_.image_, *table, [this](std::uint64_t target) {
      if (!reader_.may_look()) return false;
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
        if (!reader_.may_look()) return {};
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
    constexpr std::size_t kMaxGuesses = 4096;
    const auto open =
        std::find_if(unknown_.begin(), unknown_.end(), [this](std::uint32_t i) {
          return !code_.all[i].settled && !code_.all[i].instruction.through_slot;
        });
    if (open == unknown_.end() || guesses_.size() == kMaxGuesses) return connect_guesses();
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

  // Where a call, and padding, is followed by what others jump to, it matters whether it comes back.
  void drop_ends_of_calls() {
    std::vector<bool> target(code_.all.size());
    for (const auto& [from, to] : code_.edges) target[to] = true;
    for (Decoded& one : code_.all) {
      if (one.instruction.flow != Flow::kCall || one.ends || !one.instruction.direct)
        continue;
      std::uint32_t after = code_.number_at(one.address + one.instruction.bytes);
      while (after != kNone && !target[after] && code_.all[after].instruction.padding)
        after =
            code_.number_at(code_.all[after].address + code_.all[after].instruction.bytes);
      if (after != kNone && !target[after]) continue;
      one.ends = !reader_.comes_back(
          one.address + static_cast<std::uint64_t>(one.instruction.target), depth_);
    }
  }

  void note_calls() {
    for (const Decoded& one : code_.all) {
      const std::uint64_t after = one.address + one.instruction.bytes;
      if (one.instruction.flow == Flow::kCall) out_.calls.push_back(after);
      if (one.again) out_.returns_again.push_back(after);
      if (one.instruction.flow == Flow::kUnknown && !one.settled)
        out_.leaving.push_back(
            {one.address,
             one.instruction.through_slot
                 ? one.address + static_cast<std::uint64_t>(one.instruction.slot)
                 : 0,
             one.instruction.through_slot});
    }
    std::sort(out_.calls.begin(), out_.calls.end());
    for (const std::uint32_t from : code_.leaving) {
      const Decoded& one = code_.all[from];
      if (one.instruction.flow == Flow::kCall) continue;
      out_.leaving.push_back(
          {one.address, one.address + static_cast<std::uint64_t>(one.instruction.target),
           false});
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
  std::unordered_map<std::uint64_t, bool> foreign_;  // parts without a name, by their start
  std::vector<Target> todo_;
  std::vector<std::uint32_t> unknown_;  // jumps through registers and memory
  std::unordered_map<std::uint32_t, Operation>
      operations_;  // of those before unknown jumps
  std::vector<std::pair<std::int8_t, std::uint64_t>> constants_;
  std::size_t constants_until_ = 0;  // of the instructions up to there
  std::vector<ReadTable> tables_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> back_;
  std::vector<std::uint32_t> undecoded_;  // what runs or jumps to what is no instruction
  std::vector<std::uint64_t> guesses_;
  std::size_t gap_part_ = 0;
  std::size_t gap_offset_ = 0;
};

BlockGraph FlowReader::read(const FunctionRange& function, unsigned depth) {
  return Builder(*this, function, depth).build();
}

std::string_view FlowReader::name_of_callee(const Instruction& call, std::uint64_t at) {
  if (call.through_slot) return image_.imported(at + static_cast<std::uint64_t>(call.slot));
  if (!call.direct) return {};
  const std::uint64_t callee = at + static_cast<std::uint64_t>(call.target);
  const FunctionRange* const function = image_.function_at(callee);
  if (function != nullptr && function->begin == callee && !function->name.empty())
    return function->name;
  const auto slot = slot_of_stub(callee);
  return slot ? image_.imported(*slot) : std::string_view();
}

std::span<const std::uint64_t> FlowReader::jumps_of(const FunctionRange& range) {
  const auto [known, is_new] = jumps_out_.try_emplace(range.begin);
  std::vector<std::uint64_t>& out = known->second;
  if (!is_new || range.end - range.begin > kMaxCalleeBytes) return out;
  const auto bytes = image_.bytes(range.begin);
  std::uint64_t at = 0;
  while (at < range.end - range.begin && at < bytes.size()) {
    if (!may_look()) {
      jumps_out_.erase(known);
      return {};
    }
    const Instruction one = disassembler_.decode(bytes.subspan(at));
    if (one.bytes == 0) break;
    const std::uint64_t target = range.begin + at + static_cast<std::uint64_t>(one.target);
    const bool jumps = one.flow == Flow::kJump || one.flow == Flow::kBranch;
    if (jumps && (target < range.begin || target >= range.end)) out.push_back(target);
    at += one.bytes;
  }
  return out;
}

// After at most two other instructions.
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
  const std::string_view name = name_of_callee(call, callee);
  if (never_returns(name)) return false;
  const FunctionRange* function = image_.function_at(callee);
  if (function == nullptr || function->begin != callee) {
    // Perhaps a stub for a function of the same file.
    if (const auto slot = slot_of_stub(callee); slot && !image_.imported(*slot).empty())
      callee = image_.word(*slot).value_or(0);
    function = image_.function_at(callee);
    if ((function == nullptr || function->begin != callee) && ends_elsewhere_ &&
        depth < kMostDepth && may_never_return(name) && ends_elsewhere_(name))
      return false;
  }
  if (depth >= kMostDepth || function == nullptr || function->begin != callee ||
      function->end - function->begin > kMaxCalleeBytes)
    return true;
  if (const auto known = comes_back_.find(callee); known != comes_back_.end())
    return known->second;
  if (left_ == 0) return true;
  comes_back_[callee] = true;
  const BlockGraph graph = read(*function, depth + 1);
  if (graph.cut) comes_back_.erase(callee);  // perhaps next time
  if (graph.entry == kNoNode || !graph.whole()) return true;
  const Dominators reached(graph.next, graph.entry);
  bool comes_back = false;
  for (const Node node : reached.order()) comes_back |= graph.blocks[node].leaves;
  return comes_back_[callee] = comes_back;
}

bool FlowReader::never_comes_back(std::uint64_t function) {
  const std::size_t left = std::exchange(left_, kMaxCalleeInstructions);
  const bool comes = comes_back(function, 0);
  left_ = left;
  return !comes;
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

namespace {

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

}  // namespace

bool never_returns(std::string_view name) {
  name = name.substr(0, name.find('@'));  // without a version
  // std::__throw_out_of_range(char const*) and its sisters.
  if (name.starts_with("_ZSt") && name.substr(0, 16).find("__throw_") != name.npos)
    return true;
  return std::binary_search(kNames.begin(), kNames.end(), name);
}

bool may_never_return(std::string_view name) {
  std::string small(name);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* word : {"abort", "die", "err", "exit", "fail", "fatal", "halt", "panic",
                           "quit", "raise", "stop", "terminate", "throw"})
    if (small.find(word) != small.npos) return true;
  return false;
}

bool returns_again(std::string_view name) {
  name = name.substr(0, name.find('@'));
  return name == "_setjmp" || name == "__sigsetjmp" || name == "setjmp" ||
         name == "sigsetjmp" || name == "getcontext";
}

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
