#include "tracer/sampler/call_walk.h"

#include <unwind.h>

#include <algorithm>
#include <atomic>

#include "tracer/recorder/own_stack.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/sampler/frame_expression.h"
#include "tracer/sampler/frame_rules.h"
#include "tracer/sampler/unwind_lookup.h"

namespace refrain::sampler {
namespace {

constexpr std::uint64_t kWalkedBytes = sizeof(std::uint64_t);

// Its rows of return addresses are what all others have to agree with.
struct LibgccWalk {
  std::uint64_t site;
  std::uint64_t stack;
  unsigned count = 0;
  std::uint64_t places[CallWalk::kMaxFrames + 1];
  std::uint64_t stacks[CallWalk::kMaxFrames + 1];

  static _Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
    auto& walk = *static_cast<LibgccWalk*>(data);
    const std::uint64_t place = _Unwind_GetIP(context);
    const std::uint64_t stack = _Unwind_GetCFA(context);
    // Our own frames. These are on the call's stack.
    if (walk.count == 0 && (place != walk.site || stack != walk.stack))
      return place == 0 || stack > walk.stack ? _URC_END_OF_STACK : _URC_NO_REASON;
    if (place == 0) return _URC_END_OF_STACK;
    walk.places[walk.count] = place;
    walk.stacks[walk.count] = stack;
    return ++walk.count == CallWalk::kMaxFrames + 1 ? _URC_END_OF_STACK : _URC_NO_REASON;
  }
};

std::uint64_t code_of(std::uint64_t word) noexcept {
#if defined(__x86_64__)
  return word;
#else
  return unsigned_address(word);
#endif
}

bool is_near(std::int64_t offset) noexcept {
  return offset == static_cast<std::int32_t>(offset);
}

}  // namespace

CallWalk::Rule CallWalk::made(std::uint64_t place) noexcept {
  Rule rule{.place = place, .form = Form::kNoTables};
  CodeObject object;
  FrameProgram program;
  FrameRules rules;
  // A call may be the last instruction of its function.
  const std::uint64_t call = place - 1;
  if (!find_object(call, object) || !find_frame_program(object, call, program)) return rule;
  rule.form = Form::kHard;
  if (!find_rules(program, call, rules) || rules.signal_frame) return rule;
  const RegisterRule returns = rules.registers[kReturnAddress];
  if (returns.kind() == RuleKind::kUndefined) {
    rule.form = Form::kOutermost;
    return rule;
  }
  const std::int64_t returns_words =
      returns.operand() / static_cast<std::int64_t>(kWalkedBytes);
  if (returns.kind() != RuleKind::kAtCfa || returns.operand() % 8 != 0 ||
      returns_words >= 0 || returns_words != static_cast<std::int16_t>(returns_words) ||
      rules.registers[kStackPointer].kind() != RuleKind::kSame)
    return rule;
  rule.returns = static_cast<std::int16_t>(returns_words);

  SimpleExpression cfa{static_cast<std::uint8_t>(rules.cfa_register), rules.cfa_offset,
                       false};
  if (rules.cfa_expression == nullptr
          ? rules.cfa_register >= kRegisters
          : !is_simple(expression_at(rules.cfa_expression), cfa))
    return rule;
  if (!is_near(cfa.offset) ||
      (cfa.base != kFramePointer && (cfa.base != kStackPointer || cfa.in_memory)))
    return rule;
  rule.cfa = static_cast<std::int32_t>(cfa.offset);

  const RegisterRule frame = rules.registers[kFramePointer];
  std::int64_t saved = frame.operand();
  rule.keeps = Keeps::kLost;
  if (frame.kind() == RuleKind::kSame) {
    rule.keeps = Keeps::kFrame;
  } else if (frame.kind() == RuleKind::kAtCfa && is_near(saved)) {
    rule.keeps = Keeps::kAtCfa;
  } else if (frame.kind() == RuleKind::kAtExpression) {
    SimpleExpression at;
    if (is_simple(expression_at(reinterpret_cast<const std::uint8_t*>(saved)), at) &&
        at.base == kFramePointer && !at.in_memory && is_near(at.offset)) {
      rule.keeps = Keeps::kAtFrame;
      saved = at.offset;
    }
  }
  rule.saved = static_cast<std::int32_t>(saved);
  rule.form = cfa.in_memory               ? Form::kInMemory
              : cfa.base == kFramePointer ? Form::kFrame
                                          : Form::kStack;
  return rule;
}

// `at`: the free slot where it was looked for. A handler may jump out of this: the place is written last.
__attribute__((noinline)) CallWalk::Rule& CallWalk::make(std::uint64_t place,
                                                         std::size_t at) noexcept {
  if (rules_used_ >= kRules / 2) {
    forget_rules();
    at = slot_of(place);
  }
  const recorder::SlowPath slow_path;
  Rule rule = recorder::on_own_stack([&] {
    Rule rule = made(place);
    if (hidden_ != nullptr) rule.hidden = hidden_(place);
    rule.runs = python_.at(place);
    return rule;
  });
  ++rules_used_;
  rule.place = 0;
  rules_[at] = rule;
  std::atomic_signal_fence(std::memory_order_release);
  rules_[at].place = place;
  return rules_[at];
}

void CallWalk::forget_rules() noexcept {
  for (Rule& rule : rules_) rule = {};
  std::atomic_signal_fence(std::memory_order_release);
  rules_used_ = 0;
}

void CallWalk::forget() noexcept {
  forget_rules();
  python_.forget();
}

// Those that the function with this stack runs; 0: none.
__attribute__((noinline)) unsigned CallWalk::python_frames(Rule& rule, std::uint64_t stack,
                                                           std::uint64_t cfa, Frame* out,
                                                           Found& found) noexcept {
  Word* const begin = python_words_ + found.python_words;
  Word* word = begin;
  const auto room = static_cast<unsigned>(frames_ + kMaxFrames - out);
  const unsigned count = python_.read(rule.runs, stack, cfa, out, room, word, found.python);
  found.python_words += static_cast<unsigned>(word - begin);
  return count;
}

// `all`: frames, with those that are hidden. What the loop counts is in variables of its own, which need not be stored.
CallWalk::End CallWalk::by_rules(CallSite site, StackMemory& memory, Found& found,
                                 unsigned& all) noexcept {
  bool own_stack = true;
  // As memory.read().
  const auto read = [&](std::uint64_t at, std::uint64_t& value) {
    if (memory.on_stack(at)) [[likely]] {
      value = StackMemory::loaded(at);
      return true;
    }
    std::uint64_t other = 0;
    own_stack = false;
    const bool got = memory.read(at, other);
    value = other;
    return got;
  };
  const auto plus = [](std::uint64_t address, std::int64_t offset) {
    return address + static_cast<std::uint64_t>(offset);
  };
  std::uint64_t place = reinterpret_cast<std::uint64_t>(site.returns_to);
  std::uint64_t stack = reinterpret_cast<std::uint64_t>(site.stack);
  std::uint64_t frame = reinterpret_cast<std::uint64_t>(site.frame);
  bool frame_known = true;
  bool frame_counts = false;    // what it depends on is among the words
  std::uint64_t frame_at = 0;   // where it was read; 0: the register
  Word* frame_above = nullptr;  // the return address of the function that saved it
  Word* word = words_;
  Frame* out = frames_;
  std::uint64_t hash = 0;
  unsigned count = 0;
  std::uint64_t odd = 0;  // addresses of words are whole ones
  End end = End::kWhole;
  Rule* rule = &rule_of(place);
  found.by_stack = rule->form != Form::kFrame && rule->form != Form::kInMemory;
  while (true) {
    const bool hidden = count++ != 0 && rule->hidden;
    const bool shown = !hidden || out[-1].place != kHiddenPlace;
    const std::uint64_t hash_further_in = hash;
    out->place = hidden ? kHiddenPlace : place;
    out->base = 0;
    if (shown) hash = mixed(hash, out->place);
    std::uint64_t cfa = 0;
    if (rule->form == Form::kStack) [[likely]] {
      cfa = plus(stack, rule->cfa);
    } else if (rule->form <= Form::kInMemory) {
      if (!frame_known) {
        end = End::kHard;
        break;
      }
      if (!frame_counts) {
        frame_counts = true;
        if (frame_at == 0) {
          found.by_frame = true;
        } else if (frame_above->address == frame_at + kWalkedBytes) {
          frame_above->address |= Word::kBelow;
          frame_above->below = frame;
        } else {
          *word++ = {frame_at, 0, frame};
        }
      }
      cfa = plus(frame, rule->cfa);
      if (rule->form == Form::kInMemory) {
        const std::uint64_t at = cfa;
        odd |= at;
        if (!read(at, cfa)) {
          end = End::kHard;
          break;
        }
        *word++ = {at, 0, cfa};
      }
    } else {
      out += shown ? 1 : 0;
      found.whole = rule->form == Form::kOutermost;
      if (!found.whole) end = rule->form == Form::kNoTables ? End::kNoTables : End::kHard;
      break;
    }
    const std::uint64_t slot = plus(cfa, std::int64_t{rule->returns} * 8);
    std::uint64_t caller = 0;
    odd |= slot;
    if (slot < stack || !read(slot, caller)) {
      end = End::kHard;
      break;
    }
    Word* const returns = word;
    word->address = slot;  // and nothing below
    word++->word = caller;
    if (rule->keeps != Keeps::kFrame) {
      frame_at = plus(rule->keeps == Keeps::kAtCfa ? cfa : frame, rule->saved);
      frame_known = (rule->keeps == Keeps::kAtCfa ||
                     (rule->keeps == Keeps::kAtFrame && frame_counts)) &&
                    read(frame_at, frame);
      odd |= frame_at;
      frame_counts = false;
      frame_above = returns;
    }
    place = code_of(caller);
    if (place != 0 && !hidden) [[likely]]
      out->base = cfa - kWalkedBytes;
    unsigned python = 0;
    if (rule->runs != PythonFrames::Runs::kNothing) [[unlikely]] {
      python = python_frames(*rule, stack, cfa, out, found);
      if (python != 0) {
        hash = hash_further_in;
        for (unsigned i = 0; i != python; ++i) hash = mixed(hash, out++->place);
      } else {
        out->place = rule->place;
        out->base = place == 0 ? 0 : cfa - kWalkedBytes;
      }
    }
    out += shown && python == 0 ? 1 : 0;
    found.whole = place == 0;
    if (place == 0) break;
    stack = cfa;
    if (count == kMaxFrames || out == frames_ + kMaxFrames) break;
    Rule* next = &rules_[rule->latest];
    if (next->place != place) {
      next = &rule_of(place);
      rule->latest = static_cast<std::uint16_t>(next - rules_);
    }
    rule = next;
  }
  found.frames = static_cast<unsigned>(out - frames_);
  found.words = static_cast<unsigned>(word - words_);
  found.hash = hash;
  found.own_stack = own_stack;
  all = count;
  return odd % kWalkedBytes == 0 ? end : End::kHard;
}

// `all`: what the rules found until tables ended; 0: they could not tell.
__attribute__((noinline)) void CallWalk::by_libgcc(CallSite site, Found& found,
                                                   unsigned all) noexcept {
  const recorder::SlowPath slow_path;
  ++unwinds_;
  LibgccWalk walk{.site = reinterpret_cast<std::uint64_t>(site.returns_to),
                  .stack = reinterpret_cast<std::uint64_t>(site.stack),
                  .places = {},
                  .stacks = {}};
  _Unwind_Backtrace(LibgccWalk::visit, &walk);
  if (walk.count != 0 && walk.count == all) {
    found.certain = true;
    return;
  }
  found = {};
  const unsigned count = std::min(walk.count, kMaxFrames);
  found.whole = walk.count != 0 && walk.count <= kMaxFrames &&
                rule_of(walk.places[walk.count - 1]).form == Form::kOutermost;
  for (unsigned i = 0; i != count && found.frames != kMaxFrames; ++i) {
    Rule& rule = rule_of(walk.places[i]);
    Frame* const out = &frames_[found.frames];
    if (i != 0 && rule.hidden) {
      if (out[-1].place == kHiddenPlace) continue;
      *out = {kHiddenPlace, 0};
      found.hash = mixed(found.hash, kHiddenPlace);
      ++found.frames;
      continue;
    }
    const std::uint64_t cfa = i + 1 == walk.count ? 0 : walk.stacks[i + 1];
    unsigned made = 0;
    if (rule.runs != PythonFrames::Runs::kNothing && cfa != 0)
      made = python_frames(rule, walk.stacks[i], cfa, out, found);
    if (made == 0) {
      *out = {walk.places[i], cfa == 0 ? 0 : cfa - kWalkedBytes};
      made = 1;
    }
    for (unsigned k = 0; k != made; ++k) found.hash = mixed(found.hash, out[k].place);
    found.frames += made;
  }
}

void CallWalk::know_stack() noexcept {
  const recorder::SlowPath slow_path;
  bounds_ = bounds_of_this_thread();
  bounds_known_ = true;
}

CallWalk::Found CallWalk::walk(CallSite site) noexcept {
  if (!bounds_known_) [[unlikely]]
    know_stack();
  const auto stack = reinterpret_cast<std::uintptr_t>(site.stack);
  StackMemory memory(bounds_, stack,
                     reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  Found found;
  unsigned all = 0;
  const End end = by_rules(site, memory, found, all);
  if (end == End::kWhole) [[likely]]
    found.certain = true;
  else
    by_libgcc(site, found, end == End::kNoTables ? all : 0);
  found.certain = found.certain && found.python.settled;
  return found;
}

}  // namespace refrain::sampler
