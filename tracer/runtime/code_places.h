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
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tracer/runtime/code_address.h"
#include "tracer/runtime/journal_writer.h"
#include "tracer/runtime/modules.h"

namespace refrain::runtime {

// What the next symbol has to do besides the usual, as bits of one word: the only thing that the path
// of every symbol has to look at.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: any thread. What the bits announce is
// protected by whoever owns it. Cost: an atomic operation, to look a plain load.

class WaitingWork {
 public:
  static constexpr unsigned kCallChains = 1;  // CodePlaces wants the callers of events

  unsigned bits() const noexcept { return bits_.load(std::memory_order_relaxed); }
  void add(unsigned bits) noexcept { bits_.fetch_or(bits, std::memory_order_relaxed); }
  void remove(unsigned bits) noexcept { bits_.fetch_and(~bits, std::memory_order_relaxed); }

 private:
  std::atomic<unsigned> bits_{0};
};

// Call chains of a loop's events, for the journal.
//
// Place in the flow: ARCHITECTURE.md, stage 3, next to the detector. A symbol knows the place of its
// event, and of its callers only what distinguishes symbols; where the loop itself is can only be
// seen from the chains of all its events. So when a loop's body is known the stack is unwound at
// its next events, once each: of the first kEach all, for one place may be reached in several ways,
// then only of places that are new. The rest of the run costs nothing.
//
// Chains are return addresses, from the event's place (where that is an address) outwards, each with
// the frame's canonical frame address: two events of one call of a function share it.
// Thread-safety: none; the primary thread's alone. No memory is allocated.
// Cost: an unwind some microseconds, at most kMaxUnwinds in a run. Where tables end, the chain ends.

class CallChains {
 public:
  static constexpr std::size_t kMaxFrames = 48;
  static constexpr unsigned kEach = 32;          // events of a loop
  static constexpr unsigned kMostOfLoop = 96;    // unwinds for one loop
  static constexpr unsigned kMaxUnwinds = 4096;  // in the run
  static constexpr std::uint32_t kMaxEvents =
      4096;  // of a body: as many as the journal has

  // The body of a loop is known: its next `events` are to be looked at. Not again for one loop.
  void arm(std::uint32_t loop, std::uint32_t events) noexcept;
  bool armed() const noexcept { return armed_ != 0; }

  // An event, while armed: whether its chain is wanted. Some nanoseconds.
  bool wants(std::uint64_t place) noexcept;
  // Then its chain. `address`: where its call returns to, 0: not known. Its text for the journal
  // (spool::kTextCallers); empty: nothing new. Valid until the next call.
  std::string_view take(std::uint64_t place, std::uint64_t address) noexcept;

  // The return addresses of what take() has reported.
  std::size_t frames() const noexcept { return count_; }
  std::uint64_t frame(std::size_t index) const noexcept { return frames_[index].address; }

  unsigned unwinds() const noexcept { return unwinds_; }

 private:
  static constexpr std::size_t kMaxArmed = 8;
  static constexpr std::size_t kSeen = 256;
  static constexpr unsigned kMaxPlaces = 192;  // of a loop, that are distinguished

  struct Frame {
    std::uint64_t address = 0;
    std::uint64_t cfa = 0;
  };
  struct Armed {
    std::uint32_t loop = 0;
    std::uint32_t left = 0;  // events
    unsigned met = 0;        // events
    unsigned unwound = 0;
    bool wants = false;  // the present event
    unsigned known_places = 0;
    std::array<std::uint64_t, kSeen> places{};
  };
  struct Walk;

  static bool note(Armed& armed, std::uint64_t place) noexcept;
  void unwind(std::uint64_t address) noexcept;
  void drop_finished() noexcept;
  bool is_new(Armed& armed, std::uint64_t chain) noexcept;
  std::string_view text(std::uint64_t place) noexcept;

  std::array<Armed, kMaxArmed> all_{};
  std::size_t armed_ = 0;
  unsigned unwinds_ = 0;
  std::array<std::uint64_t, 512> reported_{};  // chains, with their loops
  std::array<std::uint64_t, 64> loops_{};      // bits of those that were armed
  std::size_t count_ = 0;
  std::array<Frame, kMaxFrames> frames_{};
  std::array<char, 8192> text_{};
};

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
