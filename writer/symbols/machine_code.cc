#include "writer/symbols/machine_code.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace refrain::writer {
namespace {

using Flow = Instruction::Flow;

constexpr std::uint8_t kModrm = 1;
constexpr std::uint8_t kByte = 2;   // an immediate of a byte
constexpr std::uint8_t kWord = 4;   // of 4 bytes, 2 with the prefix 66
constexpr std::uint8_t kBad = 128;  // not in 64-bit code, or not known

// What follows the opcode, of the one-byte map; what is special is in decode().
std::uint8_t one_byte_form(std::uint8_t op) {
  if (op < 0x40) {
    const int low = op & 7;
    return low < 4 ? kModrm : low == 4 ? kByte : low == 5 ? kWord : kBad;
  }
  if (op < 0x60) return 0;
  if (op < 0x70) {
    switch (op) {
      case 0x63:
        return kModrm;
      case 0x68:
        return kWord;
      case 0x69:
        return kModrm | kWord;
      case 0x6a:
        return kByte;
      case 0x6b:
        return kModrm | kByte;
      default:
        return op >= 0x6c ? 0 : kBad;
    }
  }
  if (op < 0x80) return kByte;
  if (op < 0x90)
    return op == 0x80 || op == 0x83 ? kModrm | kByte
           : op == 0x81             ? kModrm | kWord
           : op == 0x82             ? kBad
                                    : kModrm;
  if (op < 0xa0) return op == 0x9a ? kBad : 0;
  if (op < 0xc0) return op == 0xa8 ? kByte : op == 0xa9 ? kWord : op < 0xb0 ? 0 : kByte;
  if (op < 0xd0) {
    constexpr std::uint8_t kForms[] = {kModrm | kByte,
                                       kModrm | kByte,
                                       0,
                                       0,
                                       kBad,
                                       kBad,
                                       kModrm | kByte,
                                       kModrm | kWord,
                                       0,
                                       0,
                                       0,
                                       0,
                                       0,
                                       kByte,
                                       kBad,
                                       0};
    return kForms[op - 0xc0];
  }
  if (op < 0xe0) return op < 0xd4 || op >= 0xd8 ? kModrm : op == 0xd7 ? 0 : kBad;
  if (op < 0xe8) return kByte;
  if (op < 0xf0) return op == 0xea ? kBad : 0;
  return op == 0xf6 || op == 0xf7 || op >= 0xfe ? kModrm : 0;
}

std::uint8_t two_byte_form(std::uint8_t op) {
  if ((op & 0xf0) == 0x80) return kWord;
  constexpr std::uint8_t kBare[] = {0x05, 0x06, 0x07, 0x08, 0x09, 0x0b, 0x0e,
                                    0x77, 0xa0, 0xa1, 0xa2, 0xa8, 0xa9, 0xaa};
  if (std::find(std::begin(kBare), std::end(kBare), op) != std::end(kBare)) return 0;
  if ((op >= 0x30 && op <= 0x37) || (op >= 0xc8 && op <= 0xcf)) return 0;
  if ((op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
      (op >= 0xc4 && op <= 0xc6))
    return kModrm | kByte;
  return kModrm;
}

class Decoder {
 public:
  explicit Decoder(std::span<const std::uint8_t> code) : code_(code) {}

  Instruction decode() {
    prefixes();
    const std::uint8_t op = next();
    std::uint8_t form = 0;
    if (op == 0xc4 || op == 0xc5 || op == 0x62) {
      form = vector_form(op);
    } else if (op == 0x0f) {
      form = two_bytes();
    } else {
      form = one_byte_form(op);
      one_byte(op, form);
    }
    if ((form & kBad) != 0) return {};
    if ((form & kModrm) != 0) modrm();
    const std::size_t immediate = (form & kByte) != 0 ? 1
                                  : (form & kWord) != 0
                                      ? (operand16_ && !wide_ && !relative_ ? 2 : 4)
                                      : 0;
    const std::size_t at = at_;
    at_ += immediate + more_;
    if (at_ > code_.size() || at_ > 15) return {};
    out_.bytes = at_;
    if (relative_) out_.target = signed_at(at, immediate);
    return out_;
  }

 private:
  std::uint8_t peek() const { return at_ < code_.size() ? code_[at_] : 0; }
  std::uint8_t next() {
    const std::uint8_t byte = peek();
    ++at_;
    return byte;
  }

  void prefixes() {
    for (;; ++at_) {
      const std::uint8_t byte = peek();
      operand16_ |= byte == 0x66;
      address32_ |= byte == 0x67;
      if (byte != 0x66 && byte != 0x67 && byte != 0xf0 && byte != 0xf2 && byte != 0xf3 &&
          byte != 0x2e && byte != 0x36 && byte != 0x3e && byte != 0x26 && byte != 0x64 &&
          byte != 0x65)
        break;
      if (at_ >= code_.size()) break;
    }
    if ((peek() & 0xf0) == 0x40) wide_ = (next() & 8) != 0;
  }

  void one_byte(std::uint8_t op, std::uint8_t& form) {
    if (op >= 0xb8 && op <= 0xbf) {
      form = wide_ ? 0 : kWord;
      more_ = wide_ ? 8 : 0;
    }
    if (op >= 0xa0 && op <= 0xa3) more_ = address32_ ? 4 : 8;
    if (op == 0xc2 || op == 0xca) more_ = 2;
    if (op == 0xc8) more_ = 3;
    if ((op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3)) jump(Flow::kBranch);
    if (op == 0xe8 || op == 0xe9) form = kWord;
    if (op == 0xe9) jump(Flow::kJump);
    if (op == 0xe8) relative_ = true;  // a call: its length only
    if (op == 0xeb) {
      form = kByte;
      jump(Flow::kJump);
    }
    if (op == 0xc3 || op == 0xc2 || op == 0xcb || op == 0xca || op == 0xcf || op == 0xf4)
      out_.flow = Flow::kEnd;
    const int reg = peek() >> 3 & 7;
    if (op == 0xff && (reg == 4 || reg == 5)) out_.flow = Flow::kUnknown;
    if (op == 0xf6 && reg < 2) form = kModrm | kByte;
    if (op == 0xf7 && reg < 2) form = kModrm | kWord;
  }

  std::uint8_t two_bytes() {
    const std::uint8_t op = next();
    if (op == 0x38 || op == 0x3a) {
      ++at_;
      return op == 0x38 ? kModrm : kModrm | kByte;
    }
    if ((op & 0xf0) == 0x80) jump(Flow::kBranch);
    if (op == 0x0b) out_.flow = Flow::kEnd;
    return two_byte_form(op);
  }

  std::uint8_t vector_form(std::uint8_t op) {
    const std::uint8_t first = next();
    const int map = op == 0xc5 ? 1 : op == 0xc4 ? first & 0x1f : first & 7;
    if (op == 0xc4) ++at_;
    if (op == 0x62) at_ += 2;
    const std::uint8_t code = next();
    if (map == 1 && code == 0x77) return 0;
    if (map == 3) return kModrm | kByte;
    return map == 1 ? two_byte_form(code) & (kModrm | kByte) : kModrm;
  }

  void modrm() {
    const std::uint8_t byte = next();
    const int mode = byte >> 6, memory = byte & 7;
    if (mode == 3) return;
    const bool sib = memory == 4;
    const int base = sib ? next() & 7 : memory;
    if (mode == 1) at_ += 1;
    if (mode == 2 || (mode == 0 && base == 5)) at_ += 4;
  }

  void jump(Flow flow) {
    out_.flow = flow;
    relative_ = true;
  }

  std::int64_t signed_at(std::size_t at, std::size_t bytes) const {
    std::int32_t value = 0;
    if (bytes == 1) return static_cast<std::int8_t>(code_[at]);
    std::memcpy(&value, code_.data() + at, sizeof value);
    return value;
  }

  std::span<const std::uint8_t> code_;
  std::size_t at_ = 0;
  std::size_t more_ = 0;  // bytes of what else follows
  bool operand16_ = false;
  bool address32_ = false;
  bool wide_ = false;
  bool relative_ = false;
  Instruction out_;
};

// Control flow of a function, by number of instruction.
class Graph {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  Graph(std::span<const std::uint8_t> code, std::uint64_t begin) : begin_(begin) {
    std::vector<std::uint32_t> number(code.size() + 1, kNone);
    std::vector<Instruction> all;
    std::size_t at = 0;
    while (at < code.size()) {
      const Instruction one = decode(code.subspan(at));
      if (one.bytes == 0) {
        whole_ = false;
        break;
      }
      number[at] = static_cast<std::uint32_t>(all.size());
      offsets_.push_back(at);
      all.push_back(one);
      at += one.bytes;
    }
    end_ = at;
    next_.resize(all.size(), {kNone, kNone});
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Flow flow = all[i].flow;
      if (flow == Flow::kUnknown) whole_ = false;
      if ((flow == Flow::kNext || flow == Flow::kBranch) && i + 1 < all.size())
        next_[i][0] = static_cast<std::uint32_t>(i + 1);
      if (flow != Flow::kJump && flow != Flow::kBranch) continue;
      const std::int64_t to =
          static_cast<std::int64_t>(offsets_[i] + all[i].bytes) + all[i].target;
      if (to < 0 || static_cast<std::size_t>(to) >= end_) continue;  // it leaves
      next_[i][1] = number[static_cast<std::size_t>(to)];
      if (next_[i][1] == kNone) whole_ = false;
    }
  }

  // Takes away what no way leads to from the function's begin: filling between blocks runs into
  // the next one, by what is written there. Not where a wanted call would go with it.
  void drop_unreachable(std::span<const std::uint32_t> wanted) {
    std::vector<bool> reached(next_.size());
    std::vector<std::uint32_t> todo;
    const auto visit = [&](std::uint32_t i) {
      if (i == kNone || i >= reached.size() || reached[i]) return;
      reached[i] = true;
      todo.push_back(i);
    };
    visit(0);
    while (!todo.empty()) {
      const std::uint32_t i = todo.back();
      todo.pop_back();
      for (const std::uint32_t to : next_[i]) visit(to);
    }
    for (const std::uint32_t call : wanted)
      if (!reached[call]) return;
    for (std::size_t i = 0; i < next_.size(); ++i)
      if (!reached[i]) next_[i] = {kNone, kNone};
  }

  bool whole() const { return whole_; }
  std::size_t size() const { return offsets_.size(); }
  std::uint64_t address(std::uint32_t i) const { return begin_ + offsets_[i]; }
  const std::array<std::uint32_t, 2>& next(std::uint32_t i) const { return next_[i]; }

  std::uint32_t at(std::uint64_t address) const {
    if (address < begin_ || address - begin_ >= end_) return kNone;
    const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), address - begin_);
    return static_cast<std::uint32_t>(after - offsets_.begin() - 1);
  }

 private:
  std::uint64_t begin_;
  std::size_t end_ = 0;
  bool whole_ = true;
  std::vector<std::size_t> offsets_;
  std::vector<std::array<std::uint32_t, 2>> next_;
};

// Marks what can be reached from `from` inside of `among`, by edges that do not lead to `cut`.
class Reach {
 public:
  Reach(const Graph& graph, const std::vector<bool>& among, std::uint32_t cut)
      : graph_(graph), among_(among), cut_(cut), back_(graph.size()) {
    for (std::uint32_t i = 0; i < graph.size(); ++i)
      for (const std::uint32_t to : graph.next(i))
        if (allowed(i, to)) back_[to].push_back(i);
  }

  std::vector<bool> forward(std::uint32_t from) const {
    return mark(from, [this](std::uint32_t i, auto visit) {
      for (const std::uint32_t to : graph_.next(i))
        if (allowed(i, to)) visit(to);
    });
  }
  std::vector<bool> backward(std::uint32_t from) const {
    return mark(from, [this](std::uint32_t i, auto visit) {
      for (const std::uint32_t to : back_[i]) visit(to);
    });
  }

 private:
  bool allowed(std::uint32_t from, std::uint32_t to) const {
    return to != Graph::kNone && to != cut_ && among_[from] && among_[to];
  }

  // Not `from` itself, unless something leads back to it.
  template <typename Each>
  std::vector<bool> mark(std::uint32_t from, Each each) const {
    std::vector<bool> marked(graph_.size());
    std::vector<std::uint32_t> todo{from};
    while (!todo.empty()) {
      const std::uint32_t i = todo.back();
      todo.pop_back();
      each(i, [&](std::uint32_t to) {
        if (marked[to]) return;
        marked[to] = true;
        todo.push_back(to);
      });
    }
    return marked;
  }

  const Graph& graph_;
  const std::vector<bool>& among_;
  const std::uint32_t cut_;
  std::vector<std::vector<std::uint32_t>> back_;
};

// The instructions that lie on a way from `call` back to it; none if there is no such way.
std::vector<bool> component(const Graph& graph, const std::vector<bool>& among,
                            std::uint32_t cut, std::uint32_t call) {
  const Reach reach(graph, among, cut);
  std::vector<bool> out = reach.forward(call);
  const std::vector<bool> back = reach.backward(call);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] && back[i];
  return out;
}

// Where a component is entered; the first in the code, if there are several.
std::uint32_t entry_of(const Graph& graph, const std::vector<bool>& loop) {
  std::uint32_t first = Graph::kNone;
  std::uint32_t entry = Graph::kNone;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (loop[i] && first == Graph::kNone) first = i;
    if (loop[i]) continue;
    for (const std::uint32_t to : graph.next(i))
      if (to != Graph::kNone && loop[to]) entry = std::min(entry, to);
  }
  return entry == Graph::kNone ? first : entry;
}

}  // namespace

Instruction decode(std::span<const std::uint8_t> code) { return Decoder(code).decode(); }

CodeLoops loops_around(std::span<const std::uint8_t> code, std::uint64_t begin,
                       std::span<const std::uint64_t> calls) {
  constexpr std::size_t kMostLevels = 16;
  CodeLoops out;
  Graph graph(code, begin);
  out.whole = graph.whole();
  std::vector<std::uint32_t> wanted;
  for (const std::uint64_t call : calls) wanted.push_back(graph.at(call));
  if (wanted.empty() || std::count(wanted.begin(), wanted.end(), Graph::kNone) != 0) {
    out.whole = false;
    return out;
  }
  graph.drop_unreachable(wanted);
  std::vector<bool> among(graph.size(), true);
  std::uint32_t cut = Graph::kNone;
  while (out.loops.size() < kMostLevels) {
    std::vector<bool> loop = component(graph, among, cut, wanted.front());
    const bool holds_all = std::all_of(wanted.begin(), wanted.end(),
                                       [&](std::uint32_t call) { return loop[call]; });
    if (!holds_all) break;
    cut = entry_of(graph, loop);
    CodeLoop& found = out.loops.emplace_back();
    found.entry = graph.address(cut);
    for (std::uint32_t i = 0; i < graph.size(); ++i)
      for (const std::uint32_t to : graph.next(i))
        if (loop[i] && to == cut) found.closes.push_back(graph.address(i));
    among = std::move(loop);
  }
  std::reverse(out.loops.begin(), out.loops.end());
  return out;
}

}  // namespace refrain::writer
