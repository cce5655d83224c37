// The callers of the function that calls MPI: return addresses up the stack, as one hash.
//
// Place in the flow: ARCHITECTURE.md, stage 2. A program that calls MPI through functions of
// its own has one call site for many; with a few of the frames above it in the symbol (setting
// mpi_frames) these are distinguished.
//
// How: the first time that a call comes this way the stack is unwound by the programs' unwind
// tables (libgcc). Of each return address the distances are remembered from the stack pointer
// there to that of its caller, and to the slot with the caller's address: on x86-64 just below the
// caller's stack pointer, on aarch64 the one place of the frame that has it. (It is not found, and the stack
// always unwound, if there are several, or if return addresses are signed.) Later calls read the slot
// at that distance and take what they find if an unwind has seen it above this address before;
// otherwise, and always where the distance was seen to change (alloca, arrays of variable
// length), the stack is unwound again. So the hash is right, except where a frame of another
// size has, at that very place, a caller's address left from before. Whole paths from one
// site and stack pointer are remembered as well: while all their slots are unchanged, nothing
// else is looked at.
//
// The slots that are read lie between the calling frame and the end of the thread's stack;
// on other stacks (coroutines') every call is unwound. The hash ends where the unwind tables end.
//
// Thread-safety: none; the primary thread's alone. Not entered by its signal handlers, which
// find the recorder in use. No memory is allocated; what does not fit into the table (8192
// pairs of an address and its caller) is unwound every time.
// Cost: see docs/mpi.md; an unwind some microseconds.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/append_only_map.h"

namespace refrain::mpi {

// A call site: where the call returns to, and the stack pointer then.
struct Site {
  const void* returns_to;
  const void* stack;
};

class Callers {
 public:
  static constexpr unsigned kMostFrames = 16;
  static constexpr std::size_t kPaths = 256;

  // Hash of up to `frames` return addresses above the site; 0 for none.
  std::uint64_t hash(Site site, unsigned frames) noexcept;

  // The same where the whole path is remembered: its place, below kPaths, and the hash. Else
  // nothing has happened, and hash() finds it.
  struct Known {
    std::size_t place = kPaths;
    std::uint64_t hash = 0;
  };
  Known known(Site site, unsigned frames) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(site.returns_to);
    const auto stack = reinterpret_cast<std::uintptr_t>(site.stack);
    const std::size_t place = place_of(address, stack);
    const Path& path = paths_[place];
    if (path.site.address == address && path.site.stack == stack && path.frames == frames &&
        unchanged(path)) [[likely]]
      return {place, path.hash};
    return {};
  }

  // The return addresses that hash() is made of, from the inside: `addresses` has room for
  // kMostFrames. Always unwinds. Returns how many.
  static unsigned unwound(Site site, unsigned frames, std::uint64_t* addresses) noexcept;

  // For tests: how often the stack was unwound.
  std::uint64_t unwinds() const noexcept { return unwinds_; }

 private:
  static constexpr std::uint32_t kVaries = 0xffffffff;
  static constexpr std::uint32_t kOutermost = 0xfffffffe;  // nothing is known above it

  // `caller` 0: the entry of an address itself; else it was seen above `address`.
  struct Pair {
    std::uintptr_t address = 0;
    std::uintptr_t caller = 0;
    bool operator==(const Pair&) const = default;
    std::uint64_t hash() const noexcept { return address ^ std::rotl(caller, 17); }
  };
  struct Step {
    std::uintptr_t latest = 0;  // of an address itself: the caller seen last
    std::uint32_t distance = 0;
#if !defined(__x86_64__)
    std::uint32_t slot = 0;  // distance of its end
#endif
  };
  using Steps = base::AppendOnlyMap<Pair, Step, 8192, 64, base::AddedBy::kOneThread>;
  struct Frame {
    std::uintptr_t address;
    std::uintptr_t stack;
  };

  // What was found from a site; no more than the frames asked for (they do not change).
  struct Path {
    Frame site{0, 0};
    unsigned frames = 0;  // asked for
    unsigned count = 0;   // found
    std::uint64_t hash = 0;
    std::array<Frame, kMostFrames> slots{};  // what lies where: `stack` is just above it
  };

  static std::size_t place_of(std::uintptr_t address, std::uintptr_t stack) noexcept {
    return (address ^ address >> 6 ^ stack >> 4) % kPaths;
  }
  // As step() for all of a path. It reads words of other functions' frames, which the sanitizers
  // would report.
  __attribute__((no_sanitize("address"), no_sanitize("thread"))) static bool unchanged(
      const Path& path) noexcept {
    std::uintptr_t changed = 0;
    const Frame* const end = path.slots.data() + path.count;
    for (const Frame* slot = path.slots.data(); slot != end; ++slot)
      changed |= reinterpret_cast<const std::uintptr_t*>(slot->stack)[-1] ^ slot->address;
    return changed == 0;
  }
  std::uint64_t hash_slow(Path& path, std::uintptr_t address, std::uintptr_t stack,
                          unsigned frames) noexcept;
  // The end of the slot with the caller's address; both as distances from a frame's stack pointer.
  static std::uint32_t slot_end(const Step& step) noexcept {
#if defined(__x86_64__)
    return step.distance;
#else
    return step.slot;
#endif
  }
  bool find_slot(Frame frame, Frame caller, Step& step) noexcept;
  bool step(Frame& frame, std::uintptr_t& slot_end) noexcept;
  std::uint64_t unwind(Frame site, unsigned frames) noexcept;
  void learn(const Frame* frames, unsigned count, bool ended) noexcept;
  bool on_stack(std::uintptr_t slot) noexcept {
    return slot >= stack_begin_ && slot < stack_end_;
  }
  void find_stack() noexcept;

  std::uintptr_t stack_begin_ = 0;
  std::uintptr_t stack_end_ = 0;
  bool stack_known_ = false;
  std::uint64_t unwinds_ = 0;
  std::array<Path, kPaths> paths_{};
  Steps steps_;
};

}  // namespace refrain::mpi
