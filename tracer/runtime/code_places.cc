#include "tracer/runtime/code_places.h"

#include <unwind.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>

#include "tracer/recorder/clock.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/own_stack.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/code_address.h"
#include "tracer/runtime/python_places.h"

namespace refrain::runtime {

using recorder::Clock;

void CodePlaces::put_modules() {
  for (ModuleText& module : look_at_modules(modules_.size())) {
    const bool is_program = modules_.empty();
    modules_.push_back(std::move(module));
    const ModuleText& made = modules_.back();
    journal_.text(spool::kTextModule, made.text);
    if (const std::size_t path = made.text.find('/');
        path != std::string::npos && !is_python_address(made.begin))
      look_for_python(made.text.c_str() + path, made.begin, made.end, is_program);
  }
}

void CodePlaces::put_new_modules() noexcept {
  if (!recorder::on_own_stack(
          [this] { return recorder::attempted([this] { put_modules(); }); }))
    journal_.file().count_loss(spool::kLossMemory);
}

bool CodePlaces::covers(std::uint64_t address) const noexcept {
  return std::any_of(modules_.begin(), modules_.end(), [&](const ModuleText& module) {
    return address >= module.begin && address < module.end;
  });
}

void CodePlaces::note_slow(std::uint64_t address) noexcept {
  if (covers(address)) return;
  const recorder::SlowPath slow_path;
  put_new_modules();
}

void CodePlaces::arm(std::uint32_t loop, std::uint32_t events) noexcept {
  chains_.arm(loop, events);
  if (chains_.armed()) waiting_.add(WaitingWork::kCallChains);
}

// In one function: its frame is part of a chain that begins here.
std::uint64_t CodePlaces::put_call_chain(periodicity::Symbol place) noexcept {
  std::uint64_t took = 0;
  if (chains_.wants(place)) {
    const recorder::SlowPath slow_path;
    const std::uint64_t begin = Clock::now();
    const std::uint64_t kind = kind_of_place(place);
    const bool number = kind == spool::kUserEnter || kind == spool::kUserPhase ||
                        kind == spool::kFunctionEnter;
    const std::string_view text = chains_.take(place, number ? 0 : address_of_place(place));
    bool all_known = true;
    for (std::size_t i = 0; i != chains_.frames() && !text.empty(); ++i)
      all_known &= covers(chains_.frame(i));
    if (!all_known) put_new_modules();
    if (!text.empty()) journal_.text(spool::kTextCallers, text);
    took = Clock::now() - begin;
  }
  if (!chains_.armed()) waiting_.remove(WaitingWork::kCallChains);
  return took;
}

namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t hash = (a ^ b * 0xBF58476D1CE4E5B9u) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

}  // namespace

// An unwind in progress: from the frame of `address` on, or from here if that is 0 or not found.
struct CallChains::Walk {
  std::array<Frame, kMaxFrames>& frames;
  std::uint64_t address;
  std::size_t count = 0;
  std::size_t met = 0;
  bool found = false;

  static _Unwind_Reason_Code visit(_Unwind_Context* context, void* data) noexcept {
    auto& walk = *static_cast<Walk*>(data);
    const std::uint64_t here = _Unwind_GetIP(context);
    const std::uint64_t address = here == 0 ? 0 : code_address(here);
    if (address == 0 || ++walk.met > 2 * kMaxFrames) return _URC_END_OF_STACK;
    if (!walk.found && address == walk.address) {
      walk.found = true;
      walk.count = 0;
    }
    if (walk.count == walk.frames.size())
      return walk.found || walk.address == 0 ? _URC_END_OF_STACK : _URC_NO_REASON;
    walk.frames[walk.count++] = {address, _Unwind_GetCFA(context)};
    return _URC_NO_REASON;
  }
};

// Returns true if it was there before. Nothing is forgotten, and what finds no room counts as known: addresses
// differ from run to run, and what is unwound must not.
bool CallChains::note(Armed& armed, std::uint64_t place) noexcept {
  const std::uint64_t value = place + 1;  // 0: a free slot
  std::size_t at = mixed(value, 1) % kSeen;
  while (armed.places[at] != 0 && armed.places[at] != value) at = (at + 1) % kSeen;
  if (armed.places[at] == value || armed.known_places == kMaxPlaces) return true;
  armed.places[at] = value;
  ++armed.known_places;
  return false;
}

void CallChains::arm(std::uint32_t loop, std::uint32_t events) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << loop % 64;
  std::uint64_t& word = loops_[loop / 64 % loops_.size()];
  if ((word & bit) != 0 || events == 0 || armed_ == kMaxArmed) return;
  word |= bit;
  Armed& fresh = all_[armed_++];
  fresh = {};
  fresh.loop = loop;
  fresh.left = std::min(events, kMaxEvents);
}

// Which loops want this event is kept for text(); those that are done with it leave afterwards.
bool CallChains::wants(std::uint64_t place) noexcept {
  drop_finished();
  bool any = false;
  for (std::size_t i = 0; i != armed_; ++i) {
    Armed& armed = all_[i];
    const bool known = note(armed, place);
    armed.wants = armed.unwound < kMostOfLoop && (armed.met < kEach || !known);
    if (armed.wants) ++armed.unwound;
    any |= armed.wants;
    ++armed.met;
    --armed.left;
  }
  if (any && unwinds_ < kMaxUnwinds) return true;
  drop_finished();
  return false;
}

void CallChains::drop_finished() noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i != armed_; ++i) {
    if (all_[i].left == 0) continue;
    if (kept != i) all_[kept] = all_[i];
    ++kept;
  }
  armed_ = kept;
}

void CallChains::unwind(std::uint64_t address) noexcept {
  ++unwinds_;
  Walk walk{.frames = frames_, .address = address};
  _Unwind_Backtrace(Walk::visit, &walk);
  count_ = walk.count;
}

bool CallChains::is_new(Armed& armed, std::uint64_t chain) noexcept {
  constexpr std::size_t kWays = 8;
  const std::uint64_t value = mixed(chain, armed.loop + std::uint64_t{1}) | 1;
  const std::size_t first = value / 2 % (reported_.size() / kWays) * kWays;
  const std::span<std::uint64_t, kWays> set(reported_.data() + first, kWays);
  std::size_t last = 0;
  while (last + 1 < kWays && set[last] != 0 && set[last] != value) ++last;
  if (set[last] == value) return false;
  // A full set forgets its oldest.
  if (set[last] != 0) std::copy(set.begin() + 1, set.end(), set.begin());
  set[last] = value;
  return true;
}

std::string_view CallChains::take(std::uint64_t place, std::uint64_t address) noexcept {
  unwind(address);
  const std::string_view out = text(place);
  drop_finished();
  return out;
}

std::string_view CallChains::text(std::uint64_t place) noexcept {
  std::uint64_t chain = place;
  for (std::size_t i = 0; i != count_; ++i)
    chain = mixed(mixed(chain, frames_[i].address), frames_[i].cfa);
  char* at = text_.data();
  char* const end = at + text_.size();
  const auto number = [&](std::uint64_t value, char after) {
    at = std::to_chars(at, end - 1, value, 16).ptr;
    *at++ = after;
  };
  for (std::size_t i = 0; i != armed_; ++i)
    if (all_[i].wants && is_new(all_[i], chain)) number(all_[i].loop, ',');
  if (at == text_.data() || count_ == 0) return {};
  at[-1] = ' ';
  number(place, ' ');
  for (std::size_t i = 0; i != count_; ++i) {
    number(frames_[i].address, ':');
    number(frames_[i].cfa, ' ');
  }
  return {text_.data(), static_cast<std::size_t>(at - text_.data() - 1)};
}

}  // namespace refrain::runtime
