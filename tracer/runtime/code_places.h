// What the journal says of code addresses while the program runs: modules that were loaded since the
// start, and the call chains of the events of new loops.
//
// Place in the flow: ARCHITECTURE.md, stage 3. A module's mapping must be in the journal before the
// process can die, so every symbol's place is looked up; few addresses are ever new, and a cache
// answers.
// Thread-safety: none, the primary thread's. Owns the list of modules and the call chains; the journal
// must outlive it. Cost: note() a load and a compare; what is new is a slow path. Errors: without
// memory new modules are left out and counted as lost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tracer/runtime/call_chains.h"
#include "tracer/runtime/journal_writer.h"
#include "tracer/runtime/modules.h"
#include "tracer/runtime/symbol_place.h"
#include "tracer/runtime/waiting_work.h"

namespace refrain::runtime {

class CodePlaces {
 public:
  CodePlaces(Journal& journal, WaitingWork& waiting) noexcept
      : journal_(journal), waiting_(waiting) {}

  // Writes the modules that are loaded and not in the journal yet. The first may throw.
  void put_modules();
  void put_new_modules() noexcept;

  // A symbol came from this place.
  void note(periodicity::Symbol place) noexcept {
    const std::uint64_t kind = kind_of_place(place);
    if (kind == spool::kUserEnter || kind == spool::kUserPhase) return;  // a number
    const std::uint64_t address = address_of_place(place);
    std::uint64_t& slot = known_[(address >> 2) % known_.size()];
    if (slot == address) [[likely]]
      return;
    slot = address;
    note_slow(address);
  }

  // A loop's body has become known: the next events' call chains are wanted.
  void arm(std::uint32_t loop, std::uint32_t events) noexcept;
  // Writes the call chain of the event at hand, if it is wanted. Returns the ticks this took.
  std::uint64_t put_call_chain(periodicity::Symbol place) noexcept;

 private:
  void note_slow(std::uint64_t address) noexcept;
  bool covers(std::uint64_t address) const noexcept;

  Journal& journal_;
  WaitingWork& waiting_;
  std::array<std::uint64_t, 256> known_{};
  std::vector<ModuleText> modules_;  // that are in the journal
  CallChains chains_;
};

}  // namespace refrain::runtime
