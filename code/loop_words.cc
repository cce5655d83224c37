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

}  // namespace

// Reads each node once, with the frame as it is there on all ways.
class FrameWrites::Reader {
 public:
  Reader(FrameWrites& out, const CodeImage& image, const Disassembler& disassembler)
      : out_(out), image_(image), disassembler_(disassembler) {}

  bool read(const CutCode& code) {
    std::vector<std::optional<FramePlace>> places(code.begins.size());
    std::vector<std::vector<Effect>> effects(code.begins.size());
    std::vector<Node> todo{code.entry};
    places[code.entry] = FramePlace{};
    while (!todo.empty()) {
      const Node node = todo.back();
      todo.pop_back();
      if (effects[node].empty() &&
          !decode(code.begins[node], code.ends[node], effects[node]))
        return false;
      FramePlace place = *places[node];
      for (const Effect& one : effects[node]) follow_frame(one, place);
      for (const Node to : code.next.next(node))
        if (meet(places[to], place)) todo.push_back(to);
    }
    for (Node node = 0; node < effects.size(); ++node)
      if (places[node]) {
        read_node(node, effects[node], *places[node]);
        leave_node(node, code.calls[node]);
      }
    step_copies(code);
    return true;
  }
  // Returns true if all ways to each node leave the stack alike.
  bool agree() const { return agree_; }

 private:
  // What the value in a register was made of in this node.
  struct Origin {
    std::int64_t word = kNoKey;  // a key, or
    std::int8_t number = Operation::kNone;
    bool stepped = false;
  };

  // A register that has a word's or another register's next value when the node ends.
  struct Stepped {
    Node node;
    std::int8_t number;
    Origin of;
  };
  // A write of what a register has had since before the node.
  struct Copied {
    std::int8_t number;
    int kept;  // which of registers_; below 0: stack_
    std::size_t at;
  };

  void step_copies(const CutCode& code) {
    for (const Stepped& each : stepped_)
      for (const Node to : code.next.next(each.node))
        for (const Copied& copied : copied_) {
          if (copied.number != each.number) continue;
          if (copied.kept < 0) {
            StackWrite& write = out_.stack_[copied.at];
            write.steps = write.steps || (write.node == to && write.key == each.of.word);
          } else {
            const auto kept = static_cast<std::size_t>(copied.kept);
            Write& write = out_.registers_[kept][copied.at];
            write.steps =
                write.steps || (write.node == to && kKept[kept] == each.of.number);
          }
        }
  }

  void leave_node(Node node, bool calls) {
    for (std::int8_t i = 0; i < static_cast<std::int8_t>(origins_.size()); ++i) {
      if (calls && std::find(kKept.begin(), kKept.end(), i) == kKept.end()) continue;
      const Origin made = origin(i);
      if (made.stepped && made.number != i) stepped_.push_back({node, i, made});
    }
  }

  // A way that leaves `place` leads to a node where it was `at` on the ways before: returns true if that changes. A frame pointer
  // that is one on some of the ways only is a register like others.
  bool meet(std::optional<FramePlace>& at, const FramePlace& place) {
    if (!at) {
      at = place;
      return true;
    }
    agree_ = agree_ && at->stack_known == place.stack_known && at->stack == place.stack;
    if (at->kind == place.kind && at->pointer == place.pointer) return false;
    plain_pointer_ = true;
    if (at->kind == FramePlace::Pointer::kElsewhere) return false;
    at->forget_pointer();
    return true;
  }

  bool decode(std::uint64_t begin, std::uint64_t end, std::vector<Effect>& out) const {
    for (std::uint64_t at = begin; at < end;) {
      const auto bytes = image_.bytes(at);
      const Instruction flow = disassembler_.decode(bytes);
      if (flow.bytes == 0) return false;
      at += flow.bytes;
      if (flow.flow != Instruction::Flow::kNext || flow.padding) continue;
      const Effect one = disassembler_.effect(bytes);
      if (one.bytes != flow.bytes) return false;
      out.push_back(one);
    }
    return true;
  }

  void read_node(Node node, const std::vector<Effect>& effects, FramePlace place) {
    for (std::size_t i = 0; i < origins_.size(); ++i)
      origins_[i] = {kNoKey, static_cast<std::int8_t>(i), false};
    for (const Effect& one : effects) {
      note(node, one, place);
      follow_frame(one, place);
    }
  }

  void note(Node node, const Effect& one, const FramePlace& place) {
    using Kind = Effect::Kind;
    const std::int64_t key = one.base >= 0 ? place.key(one.base, one.offset) : kNoKey;
    const bool gets_away = one.to != kRsp && (one.to != kRbp || plain_pointer_);
    if (key != kNoKey && (one.index >= 0 || (one.kind == Kind::kAddress && gets_away)))
      out_.taken_.push_back(key);
    if (one.kind == Kind::kMove && gets_away)
      if (const std::int64_t copied = place.key(one.from, 0); copied != kNoKey)
        out_.taken_.push_back(copied);
    if (one.kind == Kind::kPush) store(node, place.key(kRsp, -8), 8, false);
    if (one.stores && key != kNoKey) {
      const bool own = one.kind == Kind::kStore && origin(one.from).word == key &&
                       origin(one.from).stepped;
      if (one.kind == Kind::kStore && origin(one.from).number == one.from &&
          !origin(one.from).stepped)
        copied_.push_back({one.from, -1, out_.stack_.size()});
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
    for (std::size_t i = 0; i < kKept.size(); ++i) {
      if ((one.written >> kKept[i] & 1) == 0) continue;
      if (one.kind == Kind::kMove && made.number == one.from && !made.stepped)
        copied_.push_back({one.from, static_cast<int>(i), out_.registers_[i].size()});
      out_.registers_[i].push_back(
          {node, one.to == kKept[i] && made.number == kKept[i] && made.stepped});
    }
    for (std::size_t i = 0; i < origins_.size(); ++i)
      if ((one.written >> i & 1) != 0)
        origins_[i] = one.to == static_cast<std::int8_t>(i) ? made : Origin{};
  }

  Origin origin(int number) const {
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
  bool plain_pointer_ = false;  // the frame pointer is used like other registers, too
  std::array<Origin, 16> origins_{};
  std::vector<Stepped> stepped_;
  std::vector<Copied> copied_;
};

FrameWrites::FrameWrites(const CutCode& code, const CodeImage& image,
                         const Disassembler& disassembler) {
  if (disassembler.is_aarch64() || code.entry == kNoNode) return;
  Reader reader(*this, image, disassembler);
  whole_ = reader.read(code);
  if (!reader.agree()) stack_.clear();
}

// The words of one loop.
class FrameWrites::Search {
 public:
  Search(const CutCode& code, const HeadedLoops& loops, std::uint32_t loop)
      : code_(code),
        back_(code.next.reversed()),
        header_(loops.loops[loop].header),
        inside_(code.begins.size()) {
    std::vector<Node> calls;
    for (Node node = 0; node < inside_.size(); ++node) {
      inside_[node] = loops.contains(loop, node);
      if (inside_[node] && code.calls[node]) calls.push_back(node);
    }
    after_calls_ = reached(code.next, calls, false);
    before_calls_ = reached(back_, calls, true);
  }

  bool inside(Node node) const { return inside_[node]; }
  // The best is one that differs each time, at all calls.
  bool done() const { return best_ == kBest; }
  CarriedWord found() { return std::move(out_); }

  // `writes`: all nodes that do; `steps`: those of the loop that step it.
  void take(const LoopWord& word, std::vector<Node> writes,
            const std::vector<Node>& steps) {
    using Phase = CarriedWord::Phase;
    std::erase_if(writes,
                  [&](Node node) { return !after_calls_[node] || !before_calls_[node]; });
    const std::vector<bool> after = reached(code_.next, writes, true);
    const std::vector<bool> before = reached(back_, writes, false);
    std::vector<Phase> phases(inside_.size(), Phase::kUnknown);
    std::size_t known = 0;
    std::size_t calls = 0;
    for (Node node = 0; node < inside_.size(); ++node) {
      if (!inside_[node] || !code_.calls[node]) continue;
      phases[node] = !after[node]    ? Phase::kEarly
                     : !before[node] ? Phase::kLate
                                     : Phase::kUnknown;
      known += phases[node] != Phase::kUnknown;
      ++calls;
    }
    if (known == 0) return;
    // What is never stepped may be only set aside for a while.
    const int steady = always(steps) ? 3 : steps.empty() ? 1 : 2;
    const int worth = steady * static_cast<int>(known * (kBest / 3) / calls);
    if (worth <= best_) return;
    best_ = worth;
    out_.word = word;
    out_.phases = std::move(phases);
  }

 private:
  static constexpr int kBest = 3000;

  // What comes after some nodes, or before them in the reversed graph, without passing the header. `with`: and these themselves.
  std::vector<bool> reached(const Digraph& graph, const std::vector<Node>& from,
                            bool with) const {
    const bool backwards = &graph == &back_;
    std::vector<bool> reached(graph.size());
    std::vector<bool> done(graph.size());
    std::vector<Node> todo = from;
    if (with)
      for (const Node node : from) reached[node] = true;
    while (!todo.empty()) {
      const Node at = todo.back();
      todo.pop_back();
      if (done[at] || (backwards && at == header_)) continue;
      done[at] = true;
      for (const Node to : graph.next(at)) {
        if (!backwards && to == header_) continue;
        reached[to] = true;
        todo.push_back(to);
      }
    }
    return reached;
  }

  // Returns true if the loop cannot come round without one of these.
  bool always(const std::vector<Node>& steps) const {
    if (steps.empty()) return false;
    std::vector<bool> open = inside_;
    for (const Node node : steps) open[node] = false;
    std::vector<Node> todo;
    if (open[header_]) todo.push_back(header_);
    open[header_] = false;
    while (!todo.empty()) {
      const Node at = todo.back();
      todo.pop_back();
      for (const Node to : code_.next.next(at)) {
        if (to == header_) return false;
        if (!open[to]) continue;
        open[to] = false;
        todo.push_back(to);
      }
    }
    return true;
  }

  const CutCode& code_;
  const Digraph back_;
  const Node header_;
  std::vector<bool> inside_;
  // Nodes, without passing the header: after the end of a call of the loop, and before one.
  std::vector<bool> after_calls_;
  std::vector<bool> before_calls_;
  int best_ = 0;
  CarriedWord out_;
};

CarriedWord FrameWrites::find(const CutCode& code, const HeadedLoops& loops,
                              std::uint32_t loop) const {
  if (!whole_) return {};
  Search search(code, loops, loop);
  std::vector<Node> writes;
  std::vector<Node> steps;
  for (unsigned i = 0; i < kRegisters && !search.done(); ++i) {
    writes.clear();
    steps.clear();
    bool written = false;
    for (const Write& write : registers_[i]) {
      writes.push_back(write.node);
      written = written || search.inside(write.node);
      if (write.steps && search.inside(write.node)) steps.push_back(write.node);
    }
    if (written)
      search.take({.in = LoopWord::In::kRegister, .number = static_cast<std::uint8_t>(i)},
                  writes, steps);
  }
  constexpr std::size_t kMaxTries = 16;
  std::vector<std::int64_t> seen;
  for (const StackWrite& wanted : stack_) {
    if (search.done() || seen.size() == kMaxTries) break;
    if (!wanted.steps || !search.inside(wanted.node) || wanted.bytes > 8 ||
        std::find(seen.begin(), seen.end(), wanted.key) != seen.end() ||
        std::find(taken_.begin(), taken_.end(), wanted.key) != taken_.end())
      continue;
    seen.push_back(wanted.key);
    writes.clear();
    steps.clear();
    for (const StackWrite& write : stack_) {
      const bool over = ((write.key ^ wanted.key) & 1) == 0 &&
                        write.key < wanted.key + 2L * wanted.bytes &&
                        wanted.key < write.key + 2L * write.bytes;
      if (!over) continue;
      writes.push_back(write.node);
      if (write.steps && write.key == wanted.key && search.inside(write.node))
        steps.push_back(write.node);
    }
    const bool pointed = (wanted.key & 1) != 0;
    const std::int64_t offset = (wanted.key - (pointed ? 1 : 0)) / 2;
    if (offset == static_cast<std::int32_t>(offset))
      search.take({.in = pointed ? LoopWord::In::kPointed : LoopWord::In::kFrame,
                   .bytes = wanted.bytes,
                   .offset = static_cast<std::int32_t>(offset)},
                  writes, steps);
  }
  return search.found();
}

}  // namespace refrain::code
