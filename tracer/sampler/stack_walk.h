// Who called whom: the return addresses on an interrupted thread's stack, found in a signal handler.
//
// Place in the flow: ARCHITECTURE.md, stage 3: what a sample of the program is made of.
// How: from frame to frame by the unwind tables that compilers write for exceptions (.eh_frame), read
// with an interpreter of our own: `_dl_find_object()` finds the object of an address without a lock
// (frame_rules.h, rule_cache.h). Where there are no tables: by the frame pointer (guess_caller()); a C
// library older than glibc 2.35 has no such function, and all goes by frame pointers.
// Thread-safety: all; safe in signal handlers on any stack with 4 KiB left. No allocation, no lock,
// no stdio; errno is kept. It does not trust what is on the stack (stack_memory.h).
// Errors: a walk that cannot go on ends with kUnknownCaller. Code that is being unloaded by another
// thread while it is on this stack is the program's error, and ours.
// Cost (//test/measure:walk_report, stack of 33 frames): 20 ns a frame; 0.3 us where the processor's
// caches hold nothing of it; 2.3 us the first time. 0.2 us where the stack is read by system calls. 3 KiB of stack.
// On aarch64 rules are made anew each time (0.3 us a frame), and code without tables has no callers but those of
// its innermost function.
// Source: psABI for AMD64; DWARF 5, section 6.4; Linux Standard Base.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "tracer/sampler/frame_registers.h"
#include "tracer/sampler/stack_memory.h"

namespace refrain::sampler {

enum class WalkEnd : std::uint8_t {
  kOutermost,      // of the thread: all callers are there
  kUnknownCaller,  // no tables, or no sense
  kTooDeep,        // there is at least one more
};

struct Walk {
  unsigned count = 0;
  WalkEnd end = WalkEnd::kUnknownCaller;
};

// `frames`, room for `most` (at least 1): first the instruction that was about to run, then return
// addresses from the inside to the outside. `bounds`: of the thread that was interrupted, the
// calling one.
Walk walk_stack(const ucontext_t& context, StackBounds bounds, std::uint64_t* frames,
                unsigned most) noexcept;

// Of the calling thread, from a call on that is in progress: where it returns to, `returns_to`, and then where its callers do. Only `returns_to`
// if that is not among the kOwnFrames innermost frames. `most`: kMaxCallers at most.
inline constexpr unsigned kOwnFrames = 6;
inline constexpr unsigned kMaxCallers = 32;
Walk walk_callers(std::uint64_t returns_to, StackBounds bounds, std::uint64_t* frames,
                  unsigned most) noexcept;

// The caller of a frame that has no unwind tables: by the frame pointer, and for the innermost frame by
// the top of the stack.
//
// Place in the flow: code made while the program runs, and code without tables.
// How: an address is taken for a caller's only if the bytes before it are a call instruction. They
// are read by stack_memory.h's checked way; where that is forbidden, the address must have an entry
// in unwind tables. A function that neither keeps a frame pointer nor has just been called is not
// seen through, and callers may be left out where the register holds the frame pointer of a function further out.
// Thread-safety: pure; safe in signal handlers; changes errno.
// Cost: two or three system calls.

// Leaves only kProgramCounter, kStackPointer, kFramePointer known. False: no caller was found.
bool guess_caller(bool innermost, StackMemory& memory, FrameRegisters& registers) noexcept;

// For tests: whether `before`, the 8 bytes before an address, end with a call instruction.
bool ends_with_call(const unsigned char* before) noexcept;

}  // namespace refrain::sampler
