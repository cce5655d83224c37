#include "tracer/mpi/callers.h"

#include <pthread.h>
#include <unwind.h>

#include <algorithm>

#include "tracer/mpi/mix.h"
#include "tracer/recorder/slow_path.h"

#define NOT_SANITIZED __attribute__((no_sanitize("address"), no_sanitize("thread")))

namespace refrain::mpi {
namespace {

// An unwind in progress: skips our own frames and collects `wanted` from the site on.
struct Walk {
  std::uintptr_t site_address;
  std::uintptr_t site_stack;
  unsigned wanted;
  unsigned count = 0;
  std::uintptr_t addresses[Callers::kMostFrames + 2];
  std::uintptr_t stacks[Callers::kMostFrames + 2];
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  const auto address = static_cast<std::uintptr_t>(_Unwind_GetIP(context));
  const auto stack = static_cast<std::uintptr_t>(_Unwind_GetCFA(context));
  if (walk.count == 0 && (address != walk.site_address || stack != walk.site_stack))
    return stack > walk.site_stack ? _URC_END_OF_STACK : _URC_NO_REASON;
  // Stacks grow downwards; whatever says otherwise is no frame.
  if (address == 0 || (walk.count > 0 && stack <= walk.stacks[walk.count - 1]))
    return _URC_END_OF_STACK;
  walk.addresses[walk.count] = address;
  walk.stacks[walk.count] = stack;
  return ++walk.count == walk.wanted ? _URC_END_OF_STACK : _URC_NO_REASON;
}

__attribute__((noinline)) Walk walk_from(std::uintptr_t address, std::uintptr_t stack,
                                         unsigned frames) noexcept {
  Walk walk{.site_address = address,
            .site_stack = stack,
            .wanted = std::min(frames, Callers::kMostFrames) + 1,
            .addresses = {},
            .stacks = {}};
  _Unwind_Backtrace(visit, &walk);
  return walk;
}

}  // namespace

// From a frame to its caller's. False: only an unwind can find it. An address of 0: there is none.
// It reads a word of another function's frame, which the sanitizers would report.
NOT_SANITIZED bool Callers::step(Frame& frame, std::uintptr_t& end) noexcept {
  Steps::Entry* entry = steps_.find({frame.address, 0});
  if (entry == nullptr || entry->value.distance == kVaries) return false;
  if (entry->value.distance == kOutermost) {
    frame.address = 0;
    return true;
  }
  const std::uintptr_t stack = frame.stack + entry->value.distance;
  end = frame.stack + slot_end(entry->value);
  const std::uintptr_t slot = end - sizeof(std::uintptr_t);
  if (!on_stack(slot)) return false;
  const std::uintptr_t caller = *reinterpret_cast<const std::uintptr_t*>(slot);
  if (caller != entry->value.latest) {
    if (caller == 0 || steps_.find({frame.address, caller}) == nullptr) return false;
    entry->value.latest = caller;
  }
  frame = {caller, stack};
  return true;
}

std::uint64_t Callers::hash(Site site, unsigned frames) noexcept {
  if (const Known path = known(site, frames); path.place != kPaths) [[likely]]
    return path.hash;
  const auto address = reinterpret_cast<std::uintptr_t>(site.returns_to);
  const auto stack = reinterpret_cast<std::uintptr_t>(site.stack);
  return hash_slow(paths_[place_of(address, stack)], address, stack, frames);
}

// The site as two arguments: as one it would be stored to memory even where it is not needed.
std::uint64_t Callers::hash_slow(Path& path, std::uintptr_t address, std::uintptr_t stack,
                                 unsigned frames) noexcept {
  const Frame site{address, stack};
  if (!stack_known_) find_stack();
  path = {};
  Path found{.site = site, .frames = frames};
  Frame frame = site;
  for (unsigned i = 0; i != frames; ++i) {
    std::uintptr_t end = 0;
    if (!step(frame, end)) return unwind(site, frames);
    if (frame.address == 0) break;
    found.slots[found.count++] = {frame.address, end};
    found.hash = mix(found.hash, frame.address);
  }
  path = found;
  return found.hash;
}

unsigned Callers::unwound(Site site, unsigned frames, std::uint64_t* addresses) noexcept {
  const recorder::SlowPath slow_path;
  Walk walk = walk_from(reinterpret_cast<std::uintptr_t>(site.returns_to),
                        reinterpret_cast<std::uintptr_t>(site.stack), frames);
  if (walk.count == 0) return 0;
  std::copy_n(walk.addresses + 1, walk.count - 1, addresses);
  return walk.count - 1;
}

std::uint64_t Callers::unwind(Frame site, unsigned frames) noexcept {
  const recorder::SlowPath slow_path;
  ++unwinds_;
  frames = std::min(frames, kMostFrames);
  Walk walk = walk_from(site.address, site.stack, frames);
  if (walk.count == 0) {
    walk.addresses[0] = site.address;
    walk.stacks[0] = site.stack;
    walk.count = 1;
  }
  Frame found[kMostFrames + 1];
  std::uint64_t hash = 0;
  for (unsigned i = 0; i != walk.count; ++i) {
    found[i] = {walk.addresses[i], walk.stacks[i]};
    if (i != 0) hash = mix(hash, found[i].address);
  }
  learn(found, walk.count, walk.count <= frames);
  return hash;
}

// Where in a frame its caller's address is. False: not known.
#if defined(__x86_64__)
bool Callers::find_slot(Frame, Frame, Step&) noexcept { return true; }
#else
NOT_SANITIZED bool Callers::find_slot(Frame frame, Frame caller, Step& step) noexcept {
  constexpr std::uintptr_t kWord = sizeof(std::uintptr_t);
  std::uint32_t found = 0;
  for (std::uintptr_t at = frame.stack; at + kWord <= caller.stack; at += kWord) {
    if (!on_stack(at)) return false;
    if (*reinterpret_cast<const std::uintptr_t*>(at) != caller.address) continue;
    if (found != 0) return false;
    found = static_cast<std::uint32_t>(at + kWord - frame.stack);
  }
  if (found == 0 || (step.slot != 0 && step.slot != found)) return false;
  step.slot = found;
  return true;
}
#endif

// `ended`: there is nothing above the last frame.
void Callers::learn(const Frame* frames, unsigned count, bool ended) noexcept {
  for (unsigned i = 0; i + 1 < count; ++i) {
    const std::uintptr_t caller = frames[i + 1].address;
    const std::uintptr_t distance = frames[i + 1].stack - frames[i].stack;
    Steps::Entry* entry = steps_.find_or_add({frames[i].address, 0});
    if (entry == nullptr || steps_.find_or_add({frames[i].address, caller}) == nullptr)
      return;
    if (entry->value.distance == 0 && distance < kOutermost)
      entry->value.distance = static_cast<std::uint32_t>(distance);
    else if (entry->value.distance != distance)
      entry->value.distance = kVaries;
    if (entry->value.distance != kVaries &&
        !find_slot(frames[i], frames[i + 1], entry->value))
      entry->value.distance = kVaries;
    entry->value.latest = caller;
  }
  if (!ended) return;
  Steps::Entry* last = steps_.find_or_add({frames[count - 1].address, 0});
  if (last == nullptr) return;
  last->value.distance = last->value.distance == 0 || last->value.distance == kOutermost
                             ? kOutermost
                             : kVaries;
}

// Of the calling thread. If the stack cannot be found, nothing is read from it.
void Callers::find_stack() noexcept {
  const recorder::SlowPath slow_path;
  stack_known_ = true;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0) {
    stack_begin_ = reinterpret_cast<std::uintptr_t>(begin);
    stack_end_ = stack_begin_ + bytes;
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace refrain::mpi
