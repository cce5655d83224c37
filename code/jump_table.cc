#include "code/jump_table.h"

#include <algorithm>
#include <cstring>

namespace refrain::code {
namespace {

constexpr std::uint32_t kMaxEntries = 1 << 16;
constexpr std::uint32_t kMaxUnbounded = 1024;

struct Value {
  enum class Kind : std::uint8_t {
    kUnknown,
    kConstant,
    kScaled,  // an index times `scale`
    kPlace,   // constant + index * scale
    kEntry,   // the word of `scale` bytes at such a place
    kTarget   // such a word, and `added`
  };
  Kind kind = Kind::kUnknown;
  std::uint8_t scale = 1;
  std::uint64_t constant = 0;
  std::uint64_t added = 0;
  std::uint64_t origin = 0;  // equal for the same unknown number; 0: of none
  std::optional<std::uint32_t> below = std::nullopt;  // what the index is less than
};

class Follower {
 public:
  using Kind = Value::Kind;

  Follower(const CodeImage& image, const KnownRegisters& known) : image_(image) {
    for (std::size_t i = 0; i < known.size(); ++i) values_[i].origin = i + 1;
    for (std::size_t i = 0; i < known.size(); ++i)
      if (known[i]) values_[i] = {.kind = Kind::kConstant, .constant = *known[i]};
  }

  void follow(const Step& step, const Operation& operation) {
    using Operate = Operation::Kind;
    if (step.instruction.flow == Instruction::Flow::kBranch) return guard(step);
    if (step.instruction.flow == Instruction::Flow::kCall) {
      constexpr std::uint32_t kLost = 0x0fc7;  // rax, rcx, rdx, rsi, rdi, r8 to r11
      forget(kLost, step.address);
      compared_.reset();
      return;
    }
    if (operation.kind != Operate::kMove && operation.kind != Operate::kAddress &&
        operation.kind != Operate::kLoad && operation.kind != Operate::kStore &&
        operation.kind != Operate::kWiden)
      compared_.reset();
    const std::uint64_t next = step.address + step.instruction.bytes;
    Value result;
    switch (operation.kind) {
      case Operate::kCompare:
        compared_ = operation.limit;
        compared_origin_ = operation.to == Operation::kNone ? origin_in(operation)
                                                            : values_[operation.to].origin;
        forget(operation.written, step.address);
        return;
      case Operate::kWiden:
        return;
      case Operate::kMove:
        result = operation.from == Operation::kNone
                     ? Value{.kind = Kind::kConstant,
                             .constant = static_cast<std::uint64_t>(operation.offset)}
                     : values_[operation.from];
        narrow(operation, result);
        break;
      case Operate::kAddress:
        result = place(operation, next);
        break;
      case Operate::kLoad:
        result = load(operation, next);
        if (result.kind == Kind::kUnknown) result.origin = origin_in(operation);
        narrow(operation, result);
        break;
      case Operate::kStore:
        stored_.emplace_back(memory(operation), values_[operation.from].origin);
        return;
      case Operate::kAdd:
        result = sum(operation);
        break;
      case Operate::kScale:
        result = scaled(operation);
        break;
      case Operate::kAnd:
        if (operation.offset >= 0 && operation.offset < kMaxEntries)
          result.below = static_cast<std::uint32_t>(operation.offset) + 1;
        break;
      case Operate::kJump:
        target_ = values_[operation.from];
        return;
      case Operate::kOther:
        forget(operation.written, step.address);
        return;
    }
    if (result.kind == Kind::kUnknown && result.origin == 0) result.origin = step.address;
    if (operation.to == Operation::kNone)
      target_ = result;  // jmp *(...)
    else
      values_[operation.to] = result;
  }

  std::optional<JumpTable> table() const {
    const Value& to = target_;
    JumpTable out{.address = to.constant};
    if (to.kind == Kind::kTarget && to.scale == 4)
      out.base = to.added;
    else if (to.kind != Kind::kEntry || to.scale != 8)
      return {};
    out.exact = guarded_.has_value() && guarded_origin_ == to.origin && to.origin != 0;
    out.entries = out.exact ? guarded_ : to.below;
    return out;
  }

 private:
  // What is known of the index after a branch that compared it.
  void guard(const Step& step) {
    using Condition = Instruction::Condition;
    if (!compared_ || *compared_ < 0 || *compared_ >= kMaxEntries) return;
    const auto limit = static_cast<std::uint32_t>(*compared_);
    const Condition condition = step.instruction.condition;
    const bool at_most =
        condition == (step.taken ? Condition::kBelowEqual : Condition::kAbove);
    const bool below =
        condition == (step.taken ? Condition::kBelow : Condition::kAboveEqual);
    if (!at_most && !below) return;
    guarded_ = at_most ? limit + 1 : limit;
    guarded_origin_ = compared_origin_;
  }

  // The word at an address, as a number that is the same as long as its registers are not
  // looked at too closely: code before a switch does not change them.
  static std::uint64_t memory(const Operation& operation) {
    const auto offset = static_cast<std::uint64_t>(operation.offset) & 0xffffffff;
    return std::uint64_t{1} << 63 | static_cast<std::uint64_t>(operation.base + 1) << 48 |
           static_cast<std::uint64_t>(operation.index + 1) << 40 | offset;
  }

  // That of what was stored there last, if it was.
  std::uint64_t origin_in(const Operation& operation) const {
    const std::uint64_t there = memory(operation);
    const auto last = std::find_if(stored_.rbegin(), stored_.rend(),
                                   [&](const auto& each) { return each.first == there; });
    return last == stored_.rend() || last->second == 0 ? there : last->second;
  }

  // What is in some registers is another unknown number now.
  void forget(std::uint32_t written, std::uint64_t address) {
    for (std::size_t i = 0; i < values_.size(); ++i)
      if ((written >> i & 1) != 0)
        values_[i] = {.origin = std::uint64_t{1} << 62 | address << 4 | i};
  }

  static void narrow(const Operation& operation, Value& value) {
    if (operation.width == 1 && value.kind == Kind::kUnknown) value.below = 256;
  }

  // The sum of an operation's constants and of one index.
  Value place(const Operation& operation, std::uint64_t next) const {
    Value out{.kind = Kind::kConstant,
              .constant = static_cast<std::uint64_t>(operation.offset)};
    if (operation.from_next) out.constant += next;
    bool fine = true;
    const auto add = [&](std::int8_t number, std::uint8_t scale) {
      if (number == Operation::kNone) return;
      const Value& value = values_[number];
      if (value.kind == Kind::kConstant) {
        out.constant += value.constant * scale;
        return;
      }
      fine = fine && out.kind == Kind::kConstant;
      out.below = value.below;
      out.origin = value.origin;
      out.kind = Kind::kPlace;
      if (value.kind == Kind::kUnknown) {
        out.scale = scale;
      } else if (value.kind == Kind::kScaled || value.kind == Kind::kPlace) {
        out.scale = static_cast<std::uint8_t>(value.scale * scale);
        out.constant += value.constant * scale;
      } else {
        fine = false;
      }
    };
    add(operation.base, 1);
    add(operation.index, operation.scale);
    if (!fine) return {};
    if (out.kind == Kind::kPlace && out.scale == 1) return {};
    if (out.kind == Kind::kPlace && image_.bytes(out.constant).empty())
      out.kind = out.constant == 0 ? Kind::kScaled : Kind::kUnknown;
    return out;
  }

  Value load(const Operation& operation, std::uint64_t next) const {
    Value at = place(operation, next);
    if (at.kind != Kind::kPlace || at.scale != operation.width) return {};
    at.kind = Kind::kEntry;
    return at;
  }

  Value sum(const Operation& operation) const {
    Value one = values_[operation.to];
    Value other{.kind = Kind::kConstant,
                .constant = static_cast<std::uint64_t>(operation.offset)};
    if (operation.from != Operation::kNone) other = values_[operation.from];
    if (one.kind == Kind::kConstant) std::swap(one, other);
    if (other.kind != Kind::kConstant) return {};
    switch (one.kind) {
      case Kind::kEntry:
        one.kind = Kind::kTarget;
        one.added = other.constant;
        return one;
      case Kind::kConstant:
      case Kind::kPlace:
        one.constant += other.constant;
        return one;
      case Kind::kScaled:
        one.kind = Kind::kPlace;
        one.constant = other.constant;
        return one;
      default:
        return {};
    }
  }

  Value scaled(const Operation& operation) const {
    Value one = values_[operation.to];
    if (one.kind != Kind::kUnknown || operation.offset < 0 || operation.offset > 3)
      return {};
    one.kind = Kind::kScaled;
    one.scale = static_cast<std::uint8_t>(1 << operation.offset);
    return one;
  }

  const CodeImage& image_;
  std::array<Value, 16> values_{};
  Value target_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> stored_;  // origins, by memory()
  std::optional<std::int64_t> compared_;
  std::uint64_t compared_origin_ = 0;
  std::optional<std::uint32_t> guarded_;
  std::uint64_t guarded_origin_ = 0;
};

}  // namespace

std::optional<JumpTable> find_jump_table(const CodeImage& image,
                                         std::span<const Step> steps,
                                         const KnownRegisters& known) {
  Follower follower(image, known);
  for (const Step& step : steps) follower.follow(step, step.operation);
  return follower.table();
}

std::vector<TableEntry> read_jump_table(
    CodeImage& image, const JumpTable& table,
    const std::function<bool(std::uint64_t target)>& accept) {
  std::vector<TableEntry> out;
  const std::uint32_t most = std::min(table.entries.value_or(kMaxUnbounded), kMaxEntries);
  std::uint32_t elsewhere = 0;
  for (std::uint32_t i = 0; i < most; ++i) {
    std::uint64_t target = 0;
    if (table.base) {
      const auto there = image.bytes(table.address + std::uint64_t{4} * i);
      std::int32_t offset = 0;
      if (there.size() < sizeof offset) break;
      std::memcpy(&offset, there.data(), sizeof offset);
      target = *table.base + static_cast<std::uint64_t>(std::int64_t{offset});
    } else {
      target = image.word(table.address + std::uint64_t{8} * i).value_or(0);
    }
    if (accept(target)) {
      out.push_back({i, target});
    } else if (!table.exact) {
      break;
    } else if (++elsewhere * 2 > most || !image.executable(target)) {
      return {};
    }
  }
  return out;
}

}  // namespace refrain::code
