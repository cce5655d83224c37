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
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace refrain::runtime {

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

}  // namespace refrain::runtime
