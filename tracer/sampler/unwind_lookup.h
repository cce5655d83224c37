// From an address of code to what the unwind tables of its object say of the function there.
//
// Place in the flow: under stack_walk.h.
// Thread-safety: pure; safe in signal handlers: _dl_find_object() of glibc 2.35 and newer takes no lock.
// With older C libraries no object is found (have_object_lookup()).
// Ownership: ranges point into the object's tables. They stay mapped while the function is on a
// stack.
// Errors: damaged tables, or tables of another form than linkers write: not found. Nothing is read
// outside of the object's mappings.
// Cost: about 20 ns for the object; a binary search and the headers of two entries.
// Source: Linux Standard Base, ".eh_frame" and ".eh_frame_hdr".
#pragma once

#include <cstdint>

#include "tracer/sampler/table_cursor.h"

namespace refrain::sampler {

struct CodeObject {
  std::uintptr_t begin = 0;  // of its mapping, or of one of several with holes between them
  std::uintptr_t end = 0;
  std::uintptr_t index = 0;     // .eh_frame_hdr; 0: it has none
  const char* file = nullptr;   // the loader's name; empty: the program itself
  std::uintptr_t identity = 0;  // differs from that of other objects at this address
};

bool have_object_lookup() noexcept;
bool find_object(std::uintptr_t address, CodeObject& object) noexcept;

// How the frames of a function are unwound: the entry of the function (FDE) and the one it has in
// common with others (CIE).
struct FrameProgram {
  std::uintptr_t function_begin = 0;
  ByteRange common;  // DW_CFA_ instructions
  ByteRange own;
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = -8;
  std::uint64_t return_register = 16;
  bool signal_frame = false;
};

// False: there is no entry for the address.
bool find_frame_program(const CodeObject& object, std::uintptr_t address,
                        FrameProgram& program) noexcept;

}  // namespace refrain::sampler
