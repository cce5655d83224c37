// The caller of a frame that has no unwind tables: by the frame pointer, and for the innermost frame by
// the top of the stack.
//
// Place in the flow: under stack_walk.h; code made while the program runs, and code without tables.
// How: an address is taken for a caller's only if the bytes before it are a call instruction. They
// are read by stack_memory.h's checked way; where that is forbidden, the address must have an entry
// in unwind tables. A function that neither keeps a frame pointer nor has just been called is not
// seen through, and callers may be left out where the register holds the frame pointer of a function further out.
// Thread-safety: pure; safe in signal handlers; changes errno.
// Cost: two or three system calls.
#pragma once

#include "tracer/sampler/frame_registers.h"
#include "tracer/sampler/stack_memory.h"

namespace refrain::sampler {

// Leaves only kProgramCounter, kStackPointer, kFramePointer known. False: no caller was found.
bool guess_caller(bool innermost, StackMemory& memory, FrameRegisters& registers) noexcept;

// For tests: whether `before`, the 8 bytes before an address, end with a call instruction.
bool ends_with_call(const unsigned char* before) noexcept;

}  // namespace refrain::sampler
