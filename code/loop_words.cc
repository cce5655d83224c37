#include "code/loop_words.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace refrain::code {
namespace {

constexpr std::int8_t kRsp = 4;
constexpr std::int8_t kRbp = 5;
constexpr std::array<std::int8_t, 6> kKept{3, kRbp, 12, 13, 14, 15};

// Words in memory: twice the offset from the canonical frame address; and one more: from the frame pointer.
constexpr std::int64_t key_of(std::int64_t offset, bool from_pointer) {
  return offset * 2 + (from_pointer ? 1 : 0);
}
constexpr std::int64_t kNoKey = std::numeric_limits<std::int64_t>::min();

// Where the stack pointer and the frame pointer point to.
struct FramePlace {
  enum class Pointer : std::uint8_t {
    kElsewhere,
    kFrame,  // `pointer` from the canonical frame address
    kFixed   // somewhere in the frame
  };
  bool stack_known = true;
  Pointer kind = Pointer::kElsewhere;
  std::int64_t stack = -8;  // from the canonical frame address
  std::int64_t pointer = 0;
  bool operator==(const FramePlace&) const = default;

  std::int64_t key(std::int8_t base, std::int64_t offset) const {
    if (base == kRsp && stack_known) return key_of(stack + offset, false);
    if (base != kRbp || kind == Pointer::kElsewhere) return kNoKey;
    return kind == Pointer::kFrame ? key_of(pointer + offset, false) : key_of(offset, true);
  }
  void forget_stack() {
    stack_known = false;
    stack = 0;
  }
  void forget_pointer() {
    kind = Pointer::kElsewhere;
    pointer = 0;
  }
  void point(std::int64_t offset) {
    kind = stack_known ? Pointer::kFrame : Pointer::kFixed;
    pointer = stack_known ? stack + offset : 0;
  }
  void stack_at_pointer(std::int64_t offset) {
    stack_known = kind == Pointer::kFrame;
    stack = stack_known ? pointer + offset : 0;
  }
};

void follow_frame(const Effect& one, FramePlace& place) {
  using Kind = Effect::Kind;
  const bool stack = (one.written >> kRsp & 1) != 0;
  const bool pointer = (one.written >> kRbp & 1) != 0;
  const bool plain = one.kind == Kind::kAddress && one.index == Operation::kNone;
  switch (one.kind) {
    case Kind::kPush:
      place.stack -= place.stack_known ? 8 : 0;
      return;
    case Kind::kPop:
      place.stack += place.stack_known ? 8 : 0;
      if (one.to == kRbp) place.forget_pointer();
      if (one.to == kRsp) place.forget_stack();
      return;
    case Kind::kLeave:
      place.stack_at_pointer(8);
      place.forget_pointer();
      return;
    default:
      break;
  }
  if (stack) {
    if (one.kind == Kind::kAdd && one.constant != 0)
      place.stack += place.stack_known ? one.constant : 0;
    else if (plain && one.base == kRsp)
      place.stack += place.stack_known ? one.offset : 0;
    else if ((plain && one.base == kRbp) || (one.kind == Kind::kMove && one.from == kRbp))
      place.stack_at_pointer(plain ? one.offset : 0);
    else
      place.forget_stack();
  }
  if (pointer) {
    if ((plain && one.base == kRsp) || (one.kind == Kind::kMove && one.from == kRsp))
      place.point(plain ? one.offset : 0);
    else
      place.forget_pointer();
  }
}

// What is reached from some nodes, but not through one of them.
std::vector<bool> spread(const Digraph& next, const std::vector<bool>& from, Node without) {
  std::vector<bool> reached(next.size());
  std::vector<Node> todo;
  for (Node node = 0; node < from.size(); ++node)
    if (from[node]) todo.push_back(node);
  while (!todo.empty()) {
    const Node at = todo.back();
    todo.pop_back();
    for (const Node to : next.next(at)) {
      if (to == without || reached[to]) continue;
      reached[to] = true;
      todo.push_back(to);
    }
  }
  return reached;
}

}  // namespace

// Reads each node once, with the frame as it is where it is first come to.
class FrameWrites::Reader {
 public:
  Reader(FrameWrites& out, const CodeImage& image, const Disassembler& disassembler)
      : out_(out), image_(image), disassembler_(disassembler) {}

  bool read(const CutCode& code) {
    std::vector<std::optional<FramePlace>> places(code.begins.size());
    std::vector<Node> todo{code.entry};
    places[code.entry] = FramePlace{};
    while (!todo.empty()) {
      const Node node = todo.back();
      todo.pop_back();
      FramePlace place = *places[node];
      if (!read_node(node, code.begins[node], code.ends[node], place)) return false;
      for (const Node to : code.next.next(node)) {
        if (places[to]) {
          agree_ = agree_ && *places[to] == place;
          continue;
        }
        places[to] = place;
        todo.push_back(to);
      }
    }
    return true;
  }
  // Whether all ways to each node leave the frame alike.
  bool agree() const { return agree_; }

 private:
  // What the value in a register was made of in this node.
  struct Origin {
    std::int64_t word = kNoKey;  // a key, or
    std::int8_t number = Operation::kNone;
    bool stepped = false;
  };

  bool read_node(Node node, std::uint64_t begin, std::uint64_t end, FramePlace& place) {
    for (std::size_t i = 0; i < origins_.size(); ++i)
      origins_[i] = {kNoKey, static_cast<std::int8_t>(i), false};
    for (std::uint64_t at = begin; at < end;) {
      const auto bytes = image_.bytes(at);
      const Instruction flow = disassembler_.decode(bytes);
      if (flow.bytes == 0) return false;
      at += flow.bytes;
      if (flow.flow != Instruction::Flow::kNext || flow.padding) continue;
      const Effect one = disassembler_.effect(bytes);
      if (one.bytes != flow.bytes) return false;
      note(node, one, place);
      follow_frame(one, place);
    }
    return true;
  }

  void note(Node node, const Effect& one, const FramePlace& place) {
    using Kind = Effect::Kind;
    const std::int64_t key = one.base >= 0 ? place.key(one.base, one.offset) : kNoKey;
    if (key != kNoKey &&
        (one.index >= 0 || (one.kind == Kind::kAddress && one.to != kRsp && one.to != kRbp)))
      out_.taken_.push_back(key);
    if (one.kind == Kind::kMove && one.to != kRsp && one.to != kRbp)
      if (const std::int64_t copied = place.key(one.from, 0); copied != kNoKey)
        out_.taken_.push_back(copied);
    if (one.kind == Kind::kPush) store(node, place.key(kRsp, -8), 8, false);
    if (one.stores && key != kNoKey) {
      const bool own = one.kind == Kind::kStore && origin(one.from).word == key &&
                       origin(one.from).stepped;
      store(node, key, one.width, one.kind == Kind::kAddMemory || own);
    }
    Origin made;
    switch (one.kind) {
      case Kind::kMove:
        made = origin(one.from);
        break;
      case Kind::kAdd:
        made = origin(one.to);
        made.stepped = true;
        break;
      case Kind::kAddress:
        made = origin(one.base);
        made.stepped = true;
        break;
      case Kind::kLoad:
        if (key != kNoKey && one.index < 0) {
          made.word = key;
        } else {
          made = origin(one.base);
          made.stepped = true;
        }
        break;
      default:
        break;
    }
    for (std::size_t i = 0; i < kKept.size(); ++i)
      if ((one.written >> kKept[i] & 1) != 0)
        out_.registers_[i].push_back(
            {node, one.to == kKept[i] && made.number == kKept[i] && made.stepped});
    for (std::size_t i = 0; i < origins_.size(); ++i)
      if ((one.written >> i & 1) != 0)
        origins_[i] = one.to == static_cast<std::int8_t>(i) ? made : Origin{};
  }

  Origin origin(std::int8_t number) const {
    return number < 0 ? Origin{} : origins_[static_cast<std::size_t>(number)];
  }
  void store(Node node, std::int64_t key, std::uint8_t width, bool steps) {
    constexpr std::uint8_t kWidest = 64;
    if (key == kNoKey) return;
    out_.stack_.push_back({{node, steps}, key, width == 0 ? kWidest : width});
  }

  FrameWrites& out_;
  const CodeImage& image_;
  const Disassembler& disassembler_;
  bool agree_ = true;
  std::array<Origin, 16> origins_{};
};

FrameWrites::FrameWrites(const CutCode& code, const CodeImage& image,
                         const Disassembler& disassembler) {
  if (disassembler.is_aarch64() || code.entry == kNoNode) return;
  Reader reader(*this, image, disassembler);
  whole_ = reader.read(code);
  if (!reader.agree()) stack_.clear();
}

LoopWords FrameWrites::find(const CutCode& code, const HeadedLoops& loops,
                            std::uint32_t loop) const {
  LoopWords out;
  out.known = true;
  if (!whole_) return out;
  const Node header = loops.loops[loop].header;
  const std::size_t count = code.begins.size();
  std::vector<bool> inside(count);
  std::vector<bool> calls(count);
  for (Node node = 0; node < count; ++node) {
    inside[node] = loops.contains(loop, node);
    calls[node] = inside[node] && code.calls[node];
  }
  const std::vector<bool> after = spread(code.next, calls, header);
  // Backwards the header is a begin, but no way on.
  Digraph back = code.next.reversed();
  std::vector<bool> before = calls;
  {
    std::vector<Node> todo;
    for (Node node = 0; node < count; ++node)
      if (before[node]) todo.push_back(node);
    while (!todo.empty()) {
      const Node at = todo.back();
      todo.pop_back();
      if (at == header) continue;
      for (const Node from : back.next(at)) {
        if (before[from]) continue;
        before[from] = true;
        todo.push_back(from);
      }
    }
  }
  const auto fits = [&](const Write& write) { return !after[write.node] || !before[write.node]; };
  // Whether the loop cannot come round without a step.
  const auto always = [&](const std::vector<Node>& steps) {
    std::vector<bool> other = inside;
    for (const Node node : steps) other[node] = false;
    if (!other[header]) return true;
    std::vector<bool> seen(count);
    std::vector<Node> todo{header};
    while (!todo.empty()) {
      const Node at = todo.back();
      todo.pop_back();
      for (const Node to : code.next.next(at)) {
        if (to == header) return false;
        if (!other[to] || seen[to]) continue;
        seen[to] = true;
        todo.push_back(to);
      }
    }
    return true;
  };
  struct Candidate {
    LoopWord word;
    int worth;
  };
  std::vector<Candidate> candidates;
  const auto add = [&](const LoopWord& word, const std::vector<Node>& steps) {
    candidates.push_back({word, steps.empty() ? 0 : always(steps) ? 2 : 1});
  };
  for (unsigned i = 0; i < kRegisters; ++i) {
    std::vector<Node> steps;
    bool written = false;
    bool fit = true;
    for (const Write& write : registers_[i]) {
      fit = fit && fits(write);
      written = written || inside[write.node];
      if (write.steps && inside[write.node]) steps.push_back(write.node);
    }
    if (fit && written)
      add({.in = LoopWord::In::kRegister, .number = static_cast<std::uint8_t>(i)}, steps);
  }
  std::vector<std::int64_t> seen;
  for (const StackWrite& wanted : stack_) {
    if (!wanted.steps || !inside[wanted.node] || wanted.bytes > 8 ||
        std::find(seen.begin(), seen.end(), wanted.key) != seen.end() ||
        std::find(taken_.begin(), taken_.end(), wanted.key) != taken_.end())
      continue;
    seen.push_back(wanted.key);
    std::vector<Node> steps;
    bool fit = true;
    const bool pointed = (wanted.key & 1) != 0;
    for (const StackWrite& write : stack_) {
      const bool over = ((write.key ^ wanted.key) & 1) == 0 &&
                        write.key < wanted.key + 2 * wanted.bytes &&
                        wanted.key < write.key + 2 * write.bytes;
      if (!over) continue;
      fit = fit && fits(write);
      if (write.steps && write.key == wanted.key && inside[write.node])
        steps.push_back(write.node);
    }
    const std::int64_t offset = (wanted.key - (pointed ? 1 : 0)) / 2;
    if (!fit || offset != static_cast<std::int32_t>(offset)) continue;
    add({.in = pointed ? LoopWord::In::kPointed : LoopWord::In::kFrame,
         .bytes = wanted.bytes,
         .offset = static_cast<std::int32_t>(offset)},
        steps);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.worth > b.worth; });
  for (const Candidate& each : candidates) {
    if (out.count == LoopWords::kMost) break;
    out.words[out.count++] = each.word;
    if (each.worth == 2) break;  // it differs each time
  }
  return out;
}

}  // namespace refrain::code
