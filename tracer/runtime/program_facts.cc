#include "tracer/runtime/program_facts.h"

#include <algorithm>
#include <string_view>

#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/own_stack.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/code_address.h"
#include "tracer/runtime/python_places.h"
#include "tracer/sampler/unwind_lookup.h"

namespace refrain::runtime {

namespace {

// Of Refrain itself, and of OpenMP's runtimes.
bool is_runtime(std::uint64_t place) {
  sampler::CodeObject object;
  if (!sampler::find_object(place - 1, object) || object.file == nullptr) return false;
  std::string_view file = object.file;
  file.remove_prefix(file.rfind('/') + 1);
  for (const std::string_view name : {"librefrain", "libomp", "libgomp", "libiomp"})
    if (file.starts_with(name)) return !file.starts_with("libompi");
  return false;
}

}  // namespace

ProgramFacts::ProgramFacts() : paths_(is_runtime) { g_current.store(this); }

void ProgramFacts::code_unloaded() noexcept {
  g_unloads.fetch_add(1);
  ProgramFacts* const current = g_current.load();
  if (current != nullptr) current->paths_.code_unloaded();
}

code::CallFlow* ProgramFacts::flow() noexcept {
  if (flow_ == nullptr)
    recorder::on_own_stack([this] {
      recorder::attempted([this] { flow_ = std::make_unique<code::CallFlow>(); });
    });
  const std::uint64_t unloads = g_unloads.load(std::memory_order_relaxed);
  if (unloads != unloads_ && flow_ != nullptr) {
    unloads_ = unloads;
    recorder::on_own_stack([this] { flow_->refresh(); });
  }
  return flow_.get();
}

std::span<const periodicity::PathFrame> ProgramFacts::frames(std::uint32_t path) noexcept {
  if (path == 0) return {};
  const std::span<const Paths::Frame> found = paths_.frames(path, paths_.variant(path));
  std::size_t count = found.size();
  for (std::size_t i = 0; i != count; ++i)
    frames_[i] = {
        found[i].place == sampler::CallWalk::kHiddenPlace ? kInRuntime : found[i].place,
        found[i].base};
  const std::uint64_t callee = paths_.callee(path);
  const bool inside = callee == kWork || callee == kBarrier;
  if (callee == kRuntime || inside) {
    --count;  // the runtime's own call of us
    if (count == 0 || frames_[count - 1].place != kInRuntime)
      frames_[count++] = {kInRuntime, 0};
  }
  if (inside) frames_[count++] = {kCallee | kWork, 0};
  if (callee != kRuntime && callee != kWork) frames_[count++] = {kCallee | callee, 0};
  return {frames_.data(), count};
}

std::span<const std::uint64_t> ProgramFacts::loops(periodicity::Place call) noexcept {
  if ((call & kCallee) != 0) return {};
  if (is_python(call)) return paths_.python().loops(call);
  const std::uint64_t now = loaded_address(call);
  if (code::CallFlow* const flow = known(now); flow != nullptr && now == call)
    return flow->loops(now);
  const recorder::SlowPath slow_path;
  code::CallFlow* const flow = this->flow();
  if (flow == nullptr) return {};
  const std::span<const std::uint64_t> found =
      recorder::on_own_stack([&] { return flow->loops(now); });
  if (now == call || found.empty()) return found;
  std::vector<std::uint64_t>& moved = moved_loops_[call];
  if (moved.empty() &&
      !recorder::attempted([&] { moved.assign(found.begin(), found.end()); }))
    return {};
  for (std::size_t i = 0; i != moved.size(); ++i) moved[i] = found[i] + (call - now);
  return moved;
}

bool ProgramFacts::loops_known(periodicity::Place call) noexcept {
  if ((call & kCallee) != 0 || is_python(call)) return true;
  using Trust = code::CallFlow::Trust;
  const std::uint64_t now = loaded_address(call);
  if (code::CallFlow* const flow = known(now)) return flow->trust(now) != Trust::kNone;
  const recorder::SlowPath slow_path;
  code::CallFlow* const flow = this->flow();
  return flow != nullptr &&
         recorder::on_own_stack([&] { return flow->trust(now) != Trust::kNone; });
}

std::uint64_t ProgramFacts::function(periodicity::Place call) noexcept {
  if ((call & kCallee) != 0) return call;
  if (is_python(call)) return sampler::PythonFrames::function(call);
  const std::uint64_t now = loaded_address(call);
  const auto begin = [&](code::CallFlow& flow) {
    const std::uint64_t found = flow.function(now);
    return found == 0 ? 0 : found + (call - now);
  };
  if (code::CallFlow* const flow = known(now)) return begin(*flow);
  const recorder::SlowPath slow_path;
  code::CallFlow* const flow = this->flow();
  return flow == nullptr ? 0 : recorder::on_own_stack([&] { return begin(*flow); });
}

std::uint64_t ProgramFacts::python_call(periodicity::Place place) noexcept {
  if (const auto known = python_calls_.find(place); known != python_calls_.end())
    return known->second;
  const recorder::SlowPath slow_path;
  const sampler::PythonFrames::Source source = paths_.python().source_of_call(place);
  const std::uint64_t call =
      source.file.empty() || is_python_library(source.file)
          ? 0
          : python_address_of(source.function, source.file, source.first_line);
  recorder::attempted([&] { python_calls_.emplace(place, call); });
  return call;
}

std::uint64_t ProgramFacts::python_around(
    std::span<const periodicity::Place> calls) noexcept {
  if (latest_ == 0) return 0;
  const std::span<const Paths::Frame> frames = paths_.frames(latest_);
  std::size_t at = frames.size();
  while (at != 0 &&
         std::find(calls.begin(), calls.end(), frames[at - 1].place) == calls.end())
    --at;
  std::uint64_t found = 0;
  for (; found == 0 && at-- != 0;)
    if (is_python(frames[at].place)) found = python_call(frames[at].place);
  return found;
}

bool ProgramFacts::forward(periodicity::Place from, periodicity::Place to) noexcept {
  if (((from | to) & kCallee) != 0) return false;
  const recorder::SlowPath slow_path;
  if (is_python(from) || is_python(to)) return paths_.python().forward(from, to);
  code::CallFlow* const flow = this->flow();
  if (flow == nullptr) return true;
  const std::uint64_t now = loaded_address(from);
  return now != 0 &&
         recorder::on_own_stack([&] { return flow->forward(now, loaded_address(to)); });
}

bool ProgramFacts::carries(std::uint32_t path) noexcept {
  const recorder::SlowPath slow_path;
  code::CallFlow* const flow = this->flow();
  return flow != nullptr && recorder::on_own_stack([&] {
           return CarriedWords::any(in_program(frames(path)), *flow);
         });
}

std::span<const periodicity::CarriedWord> ProgramFacts::carried(
    std::uint32_t path) noexcept {
  const unsigned variant = paths_.variant(path);
  if (path != latest_ || variant == Paths::kMoving) [[unlikely]]
    return {};
  if (!words_.known(path, variant, latest_stack_)) [[unlikely]] {
    const recorder::SlowPath slow_path;
    code::CallFlow* const flow = this->flow();
    if (flow == nullptr) return {};
    words_.find(path, variant, latest_stack_, in_program(frames(path)), *this, *flow,
                paths_.own_stack());
  }
  return words_.words(path, variant);
}

bool ProgramFacts::jumps(periodicity::Place caller, periodicity::Place from,
                         periodicity::Place to) noexcept {
  if ((from & kCallee) != 0 || is_python(from) || is_python(to)) return false;
  const recorder::SlowPath slow_path;
  code::CallFlow* const flow = this->flow();
  if (flow == nullptr) return false;
  const bool to_callee = (to & kCallee) != 0;
  caller = loaded_address(caller);
  from = loaded_address(from);
  if (!to_callee) to = loaded_address(to);
  return recorder::on_own_stack([&] { return jumps(*flow, caller, from, to, to_callee); });
}

bool ProgramFacts::jumps(code::CallFlow& flow, std::uint64_t caller, std::uint64_t from,
                         std::uint64_t to, bool to_callee) noexcept {
  const std::uint64_t begin = to_callee ? 0 : flow.function(to);
  for (const std::uint64_t function : flow.jumps(from))
    // (A barrier that a function ends with a jump to is called by the runtime, as that function was.)
    if (to == kInRuntime || to == (kCallee | kWork) || to == (kCallee | kBarrier)
            ? is_runtime(function + 1)
        : to_callee ? g_is_callee != nullptr && g_is_callee(function, to & ~kCallee)
                    : function == begin)
      return true;
  // Through a pointer, if the caller cannot have called another function, nor the second one anew.
  if (caller == 0 || flow.trust(from) == code::CallFlow::Trust::kNone ||
      !flow.jumps_anywhere(from))
    return false;
  const std::uint64_t callee = flow.callee(caller);
  return callee != 0 && callee != begin;
}

namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

}  // namespace

bool CarriedWords::any(std::span<const periodicity::PathFrame> frames,
                       code::CallFlow& flow) noexcept {
  for (const periodicity::PathFrame& frame : frames)
    for (std::size_t loop = flow.loops(loaded_address(frame.place)).size(); loop-- != 0;)
      if (flow.carried(loaded_address(frame.place), loop).known) return true;
  return false;
}

void CarriedWords::find(std::uint32_t path, unsigned variant, std::uint64_t stack,
                        std::span<const periodicity::PathFrame> frames,
                        periodicity::CodeFacts& facts, code::CallFlow& flow,
                        sampler::StackBounds bounds) noexcept {
  List& list = lists_[path * Paths::kVariants + variant];
  list.made = true;
  list.stack = 0;
  list.count = 0;
  if (list.times == kMaxTimes) return;  // it moves
  ++list.times;
  std::array<periodicity::CarriedWord, periodicity::CodeFacts::kMaxCarried> found;
  std::size_t count = 0;
  std::uint64_t loop = 0;
  unsigned saved = 0;
  // 0: not known.
  const auto address_of = [&](const code::LoopWord& word, std::uint64_t base) {
    using In = code::LoopWord::In;
    constexpr unsigned kRbp = 1;
    if (base == 0) return std::uint64_t{0};
    if (word.in == In::kFrame)
      return base + kWord + static_cast<std::uint64_t>(std::int64_t{word.offset});
    list.stack = stack;
    if (saved == 0) saved = sampler::saved_registers(bounds, saved_->data(), kMaxSaved);
    const auto* const begin = saved_->data();
    const auto* const end = begin + saved;
    const auto* const frame =
        std::find_if(begin, end, [base](const auto& each) { return each.base == base; });
    if (frame == end) return std::uint64_t{0};
    if (word.in == In::kRegister) return frame->at[word.number];
    const std::uint64_t pointer = frame->at[kRbp];
    return pointer == 0 ? 0
                        : sampler::StackMemory::loaded(pointer) +
                              static_cast<std::uint64_t>(std::int64_t{word.offset});
  };
  for (const periodicity::PathFrame& frame : frames) {
    const std::size_t loops = facts.loops(frame.place).size();  // of Python code, too
    for (std::size_t i = 0; i != loops && loop != periodicity::CodeFacts::kMaxCarried;
         ++i, ++loop) {
      const auto carried = recorder::on_own_stack(
          [&] { return flow.carried(loaded_address(frame.place), i); });
      if (!carried.known) continue;
      if (const std::uint64_t address = address_of(carried.word, frame.base); address != 0)
        found[count++] = {address, ~std::uint64_t{0} >> (64 - 8 * carried.word.bytes),
                          loop + (carried.late ? periodicity::CodeFacts::kMaxCarried : 0)};
    }
  }
  if (list.room < count) {
    if (kWords - used_ < count) return;
    list.first = used_;
    list.room = static_cast<std::uint16_t>(count);
    used_ += static_cast<std::uint32_t>(count);
  }
  std::copy_n(found.begin(), count, &words_[list.first]);
  list.count = static_cast<std::uint16_t>(count);
}

}  // namespace refrain::runtime
