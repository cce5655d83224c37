// CPython in memory: where its interpreter is, and what is read of its objects.
//
// Place in the flow: under python_frames.h and tracer/runtime/python_places.h, which say when what may be read.
// Which versions: 3.11, whose structures are written down here; an interpreter is asked for its version before anything is
// believed. Others are none.
// Thread-safety: pure. Ownership: copies what it returns. Errors: what cannot be read is empty, or 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::sampler {

struct PythonInterpreter {
  std::uint64_t begin = 0;  // of its code; 0: there is none
  std::uint64_t end = 0;
  void* (*state)() = nullptr;   // of the calling thread
  std::uint64_t code_type = 0;  // the address of code objects' type
};

// In the library `file` (of the program itself: empty), whose code is there. Takes the loader's lock.
PythonInterpreter interpreter_in(const char* file, std::uint64_t begin, std::uint64_t end);

// CPython 3.11 on 64 bits: cpython/pystate.h, internal/pycore_frame.h, cpython/code.h, and objects with them.
namespace python {

inline constexpr std::uint64_t kStateRecord = 56;   // PyThreadState.cframe
inline constexpr std::uint64_t kStateThread = 152;  // .thread_id
inline constexpr std::uint64_t kStatePart =
    296;  // .datastack_chunk; behind it .datastack_top and .datastack_limit
inline constexpr std::uint64_t kStateFirst = 336;       // .root_cframe
inline constexpr std::uint64_t kRecordFrame = 8;        // _PyCFrame.current_frame
inline constexpr std::uint64_t kRecordPrevious = 16;    // .previous
inline constexpr std::uint64_t kFrameCode = 32;         // _PyInterpreterFrame.f_code
inline constexpr std::uint64_t kFrameInstruction = 56;  // .prev_instr
struct FrameWords {                                     // from f_code on
  std::uint64_t code;
  std::uint64_t object;
  std::uint64_t previous;
  std::uint64_t instruction;
  std::uint32_t top;
  bool is_entry;
  char owner;
};
static_assert(sizeof(FrameWords) == 40);
inline constexpr std::uint64_t kFrameBytes = 72;      // before the first variable
inline constexpr std::uint64_t kCodeStack = 68;       // PyCodeObject.co_stacksize
inline constexpr std::uint64_t kCodeVariables = 76;   // .co_nlocalsplus
inline constexpr std::uint64_t kCodeExceptions = 40;  // .co_exceptiontable
inline constexpr std::uint64_t kCodeFirstLine = 72;   // .co_firstlineno
inline constexpr std::uint64_t kCodeFile = 112;       // .co_filename
inline constexpr std::uint64_t kCodeName = 128;       // .co_qualname
inline constexpr std::uint64_t kCodeLines = 136;      // .co_linetable, behind it
inline constexpr std::uint64_t kCodeUnits = 184;      // .co_code_adaptive
struct ObjectHead {
  std::uint64_t references;
  std::uint64_t type;
  std::uint64_t size;  // of those that have one
};
inline constexpr std::uint64_t kBytes = 32;      // PyBytesObject.ob_sval
inline constexpr std::uint64_t kTextState = 32;  // PyASCIIObject.state
inline constexpr std::uint64_t kAscii = 48;
inline constexpr std::uint64_t kUnicode = 72;

inline constexpr std::uint64_t kMaxBytes = 1 << 21;
inline constexpr std::uint64_t kMaxText = 4096;

void put_utf8(std::string& out, std::uint32_t code);

// `copy(from, to, bytes)`: false where it cannot be read. May throw std::bad_alloc.
template <typename Copy>
class Reader {
 public:
  explicit Reader(Copy copy) : copy_(copy) {}

  std::uint64_t word(std::uint64_t at) const {
    std::uint64_t value = 0;
    return copy_(at, &value, sizeof value) ? value : 0;
  }
  std::vector<std::uint8_t> bytes_at(std::uint64_t at, std::uint64_t bytes) const {
    std::vector<std::uint8_t> out(bytes < kMaxBytes ? bytes : kMaxBytes);
    if (!copy_(at, out.data(), out.size())) out.clear();
    return out;
  }
  // Of an object that is bytes, or a text; 0: empty.
  std::vector<std::uint8_t> bytes_of(std::uint64_t object) const {
    return object == 0 ? std::vector<std::uint8_t>()
                       : bytes_at(object + kBytes, word(object + 16));
  }
  std::string text_of(std::uint64_t object) const {
    std::string out;
    if (object == 0) return out;
    const auto state = static_cast<std::uint32_t>(word(object + kTextState));
    const unsigned width = state >> 2 & 7;
    const bool compact = (state & 32) != 0;
    if (!compact || (width != 1 && width != 2 && width != 4)) return out;
    std::uint64_t length = word(object + 16);
    if (length > kMaxText) length = kMaxText;
    const auto units =
        bytes_at(object + ((state & 64) != 0 ? kAscii : kUnicode), length * width);
    for (std::size_t i = 0; i + width <= units.size(); i += width) {
      std::uint32_t each = 0;
      for (unsigned byte = 0; byte != width; ++byte)
        each |= std::uint32_t{units[i + byte]} << 8 * byte;
      put_utf8(out, each);
    }
    return out;
  }

 private:
  Copy copy_;
};

}  // namespace python

}  // namespace refrain::sampler
