#include "code/bytecode.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace refrain::code {
namespace {

// Of CPython 3.11's opcode.h.
enum Opcode : std::uint8_t {
  kReturnValue = 83,
  kForIter = 93,
  kJumpForward = 110,
  kJumpIfFalseOrPop = 111,
  kJumpIfTrueOrPop = 112,
  kPopJumpForwardIfFalse = 114,
  kPopJumpForwardIfTrue = 115,
  kReraise = 119,
  kSend = 123,
  kPopJumpForwardIfNotNone = 128,
  kPopJumpForwardIfNone = 129,
  kRaiseVarargs = 130,
  kJumpBackwardNoInterrupt = 134,
  kJumpBackward = 140,
  kCallFunctionEx = 142,
  kExtendedArg = 144,
  kPrecall = 166,
  kCall = 171,
  kPopJumpBackwardIfNotNone = 173,
  kPopJumpBackwardIfTrue = 176,
};

// What the interpreter makes of an instruction (pycore_opcode.h: _PyOpcode_Deopt), and how many units of cache follow it.
struct Family {
  std::uint8_t made_of;
  std::uint8_t caches;
  std::initializer_list<std::uint8_t> specialised;
};
constexpr Family kFamilies[] = {
    {25, 4, {17, 18, 19, 20, 21}},             // BINARY_SUBSCR
    {60, 1, {168, 169, 170}},                  // STORE_SUBSCR
    {92, 1, {177, 178, 179, 180}},             // UNPACK_SEQUENCE
    {95, 4, {153, 154, 158, 159}},             // STORE_ATTR
    {100, 0, {44}},                            // LOAD_CONST
    {106, 4, {39, 40, 41, 42, 43}},            // LOAD_ATTR
    {107, 2, {26, 27, 28, 29}},                // COMPARE_OP
    {116, 5, {47, 48, 55}},                    // LOAD_GLOBAL
    {122, 1, {3, 4, 5, 6, 7, 8, 13, 14, 16}},  // BINARY_OP
    {124, 0, {45, 46}},                        // LOAD_FAST
    {125, 0, {161, 167}},                      // STORE_FAST
    {kJumpBackward, 0, {38}},
    {kExtendedArg, 0, {34}},
    {151, 0, {150}},                      // RESUME
    {160, 10, {56, 57, 58, 59, 62, 63}},  // LOAD_METHOD
    {kPrecall,
     1,
     {64, 65, 66, 67, 72, 73, 76, 77, 78, 79, 80, 81, 113, 121, 127, 141, 143}},
    {kCall, 4, {22, 23, 24}},
};

struct Opcodes {
  std::array<std::uint8_t, 256> made_of{};
  std::array<std::uint8_t, 256> caches{};

  constexpr Opcodes() {
    for (unsigned i = 0; i != 256; ++i) made_of[i] = static_cast<std::uint8_t>(i);
    for (const Family& family : kFamilies) {
      caches[family.made_of] = family.caches;
      for (const std::uint8_t opcode : family.specialised) made_of[opcode] = family.made_of;
    }
  }
};

constexpr Opcodes kOpcodes;

bool is_call(std::uint8_t opcode) { return opcode == kCall || opcode == kCallFunctionEx; }

bool goes_on(std::uint8_t opcode) {
  switch (opcode) {
    case kReturnValue:
    case kJumpForward:
    case kReraise:
    case kRaiseVarargs:
    case kJumpBackwardNoInterrupt:
    case kJumpBackward:
      return false;
    default:
      return true;
  }
}

// How far it jumps from the next instruction, in units: 0: it does not.
std::int64_t jump(std::uint8_t opcode, std::int64_t operand) {
  switch (opcode) {
    case kForIter:
    case kJumpForward:
    case kJumpIfFalseOrPop:
    case kJumpIfTrueOrPop:
    case kPopJumpForwardIfFalse:
    case kPopJumpForwardIfTrue:
    case kPopJumpForwardIfNotNone:
    case kPopJumpForwardIfNone:
    case kSend:
      return operand;
    case kJumpBackward:
      return -operand;
    default:
      return opcode >= kPopJumpBackwardIfNotNone && opcode <= kPopJumpBackwardIfTrue
                 ? -operand
                 : 0;
  }
}

// Numbers of six bits a byte.
class Numbers {
 public:
  explicit Numbers(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool more() const { return at_ < bytes_.size(); }
  std::uint8_t byte() { return more() ? bytes_[at_++] : 0; }
  // Most significant first; the first byte of an entry has a mark.
  std::uint32_t big() {
    std::uint8_t read = byte();
    std::uint32_t number = read & 63u;
    while ((read & 64) != 0 && more()) number = number << 6 | ((read = byte()) & 63u);
    return number;
  }
  // Least significant first.
  std::uint32_t little() {
    std::uint8_t read = byte();
    std::uint32_t number = read & 63u;
    for (unsigned shift = 6; (read & 64) != 0 && more() && shift < 32; shift += 6)
      number |= ((read = byte()) & 63u) << shift;
    return number;
  }
  std::int32_t with_sign() {
    const std::uint32_t number = little();
    const auto magnitude = static_cast<std::int32_t>(number >> 1);
    return (number & 1) != 0 ? -magnitude : magnitude;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

// Objects/locations.md of CPython: units in a row that are of one line.
class LineTable {
 public:
  LineTable(std::span<const std::uint8_t> bytes, std::uint32_t first_line)
      : in_(bytes), line_(first_line) {}

  bool next() {
    if (!in_.more()) return false;
    const std::uint8_t first = in_.byte();
    const unsigned form = first >> 3 & 15u;
    begin_ = end_;
    end_ += (first & 7u) + 1;
    known_ = form != 15;
    if (form == 14) {
      line_ += in_.with_sign();
      in_.little();
      in_.little();
      in_.little();
    } else if (form == 13) {
      line_ += in_.with_sign();
    } else if (form >= 10 && known_) {
      line_ += form - 10;
      in_.byte();
      in_.byte();
    } else if (known_) {
      in_.byte();
    }
    return true;
  }
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  // 0: not known.
  std::uint32_t line() const {
    return known_ && line_ > 0 ? static_cast<std::uint32_t>(line_) : 0;
  }

 private:
  Numbers in_;
  std::int64_t line_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool known_ = true;
};

std::uint64_t hash_with(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

}  // namespace

std::uint32_t bytecode_line(std::span<const std::uint8_t> lines, std::uint32_t first_line,
                            std::size_t unit) noexcept {
  LineTable table(lines, first_line);
  while (table.next())
    if (unit < table.end()) return table.line();
  return 0;
}

Bytecode::Bytecode(const Parts& parts) {
  const std::size_t units = parts.code.size() / 2;
  if (units == 0 || units > kMaxUnits) return;
  struct Jump {
    Node from;
    std::int64_t to;  // unit
  };
  std::vector<Jump> jumps;
  std::vector<std::uint8_t> codes;  // of each node
  std::uint32_t operand = 0;
  for (std::uint32_t unit = 0; unit < units;) {
    const std::uint8_t opcode = kOpcodes.made_of[parts.code[std::size_t{2} * unit]];
    operand = operand << 8 | parts.code[std::size_t{2} * unit + 1];
    hash_ = hash_with(hash_, std::uint64_t{opcode} << 8 | (operand & 255));
    // A call is one instruction.
    const bool same = opcode == kCall && !codes.empty() && codes.back() == kPrecall;
    const auto node = static_cast<Node>(same ? units_.size() - 1 : units_.size());
    if (same) {
      codes.back() = opcode;
    } else {
      units_.push_back(unit);
      codes.push_back(opcode);
    }
    const std::uint32_t end = std::min<std::uint32_t>(unit + 1 + kOpcodes.caches[opcode],
                                                      static_cast<std::uint32_t>(units));
    for (; unit != end; ++unit) nodes_.push_back(node);
    if (const std::int64_t offset = jump(opcode, operand); offset != 0)
      jumps.push_back({node, std::int64_t{end} + offset});
    if (opcode != kExtendedArg) operand = 0;
  }
  std::vector<std::pair<Node, Node>> edges;
  for (Node node = 0; node + 1 < units_.size(); ++node)
    if (goes_on(codes[node])) edges.emplace_back(node, node + 1);
  for (const Jump& each : jumps)
    if (each.to >= 0 && each.to < static_cast<std::int64_t>(units))
      edges.emplace_back(each.from, nodes_[static_cast<std::size_t>(each.to)]);
  for (Numbers table(parts.exceptions); table.more();) {
    const std::uint32_t begin = table.big();
    const std::uint64_t end = std::uint64_t{begin} + table.big();
    const std::uint32_t handler = table.big();
    table.big();  // depth of the stack
    if (begin >= end || end > units || handler >= units) continue;
    for (Node node = nodes_[begin]; node <= nodes_[end - 1]; ++node)
      edges.emplace_back(node, nodes_[handler]);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  next_ = Digraph(units_.size(), edges);
  loops_ = headed_loops(next_, 0);
  around_.resize(loops_.loops.size());
  for (std::uint32_t i = 0; i < around_.size(); ++i) {
    if (loops_.loops[i].header == kNoNode) continue;  // taken into the one around it
    for (std::uint32_t at = i; at != kNoNode; at = loops_.loops[at].parent)
      around_[i].push_back(units_[loops_.loops[at].header]);
    std::reverse(around_[i].begin(), around_[i].end());
  }
  read_lines(parts, codes);
}

void Bytecode::read_lines(const Parts& parts, const std::vector<std::uint8_t>& codes) {
  lines_.resize(loops_.loops.size());
  Node latest = kNoNode;
  for (LineTable table(parts.lines, parts.first_line); table.next();) {
    std::size_t unit = table.begin();
    const std::size_t end = table.end();
    const std::uint32_t number = table.line();
    for (; unit != end && unit < nodes_.size(); ++unit) {
      const Node node = nodes_[unit];
      if (number == 0 || node == latest) continue;
      latest = node;
      for (std::uint32_t at = loops_.loop_of[node]; at != kNoNode;
           at = loops_.loops[at].parent) {
        Lines& lines = lines_[at];
        if (lines.first == 0 || number < lines.first) lines.first = number;
        if (is_call(codes[node])) lines.last = std::max(lines.last, number);
      }
    }
  }
  for (Lines& lines : lines_) lines.last = std::max(lines.first, lines.last);
}

std::uint32_t Bytecode::call(std::uint32_t unit) const noexcept {
  const Node node = node_of(unit);
  return node == kNoNode ? unit : units_[node];
}

std::span<const std::uint32_t> Bytecode::loops(std::uint32_t unit) const noexcept {
  const Node node = node_of(unit);
  const std::uint32_t loop = node == kNoNode ? kNoNode : loops_.loop_of[node];
  return loop == kNoNode ? std::span<const std::uint32_t>() : around_[loop];
}

bool Bytecode::forward(std::uint32_t from, std::uint32_t to) const {
  const Node a = node_of(from);
  const Node b = node_of(to);
  return a == kNoNode || b == kNoNode || goes_forward(next_, loops_, a, b);
}

Bytecode::Lines Bytecode::lines(std::uint32_t header) const noexcept {
  for (std::size_t i = 0; i != around_.size(); ++i)
    if (!around_[i].empty() && around_[i].back() == header) return lines_[i];
  return {};
}

}  // namespace refrain::code
