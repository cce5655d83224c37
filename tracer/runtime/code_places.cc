#include "tracer/runtime/code_places.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tracer/recorder/attempt.h"
#include "tracer/recorder/clock.h"
#include "tracer/recorder/slow_path.h"
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
  if (!recorder::attempted([this] { put_modules(); }))
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

}  // namespace refrain::runtime
