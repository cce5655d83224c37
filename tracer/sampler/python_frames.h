// The functions of Python code that a C function of the interpreter runs.
//
// Place in the flow: under call_walk.h. CPython 3.11 runs calls from Python code to Python code in one C frame, so that a walk of the
// stack sees none of them. That frame has a record in it (_PyCFrame) of the innermost one, and each has a link to its caller: these
// are frames of the call path like others, in place of the C frame.
//
// Which versions: below. Of others the C frame stays what it is.
// Without the interpreter's lock: a thread that is in a call has its own frames, and what these hold (their code), as they are. Which C
// frames have a record, and where, is learned from the thread's state (PyGILState_GetThisThreadState(), which only reads a
// variable of the thread). Frames of generators and of threads are no different. The first ones are read by a
// system call that fails where a load would crash; when all was as expected there, by loads.
//
// A function that returns has no link to it any more while what it had is destroyed, which may call Python code, and MPI. It still lies
// behind its caller on the thread's stack of frames (not where it is the first of a part of that), and counts as the innermost.
//
// A place is a number: of the function, and of the unit in its bytecode (code/bytecode.h). A function is known by what is in it,
// so that code which is made again is the same. Of a frame are compared: its instruction, its caller, and the name and the table of lines
// of the code there. (Code that was freed, with other code of the same name and size of tables at all its addresses, would be taken for it. To hold
// references instead would need the interpreter's lock.)
//
// Thread-safety: one thread. Ownership: allocates when it meets an interpreter, and for each function that is new.
// Errors: what is not as expected has no frames.
// Cost: 5 ns a frame that was there before; a new function a microsecond an instruction.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// CPython in memory: where its interpreter is, and what is read of its objects.
//
// Place in the flow: under PythonFrames and tracer/runtime/python_places.h, which say when what may be read.
// Which versions: 3.11, whose structures are written down here; an interpreter is asked for its version before anything is
// believed. Others are none.
// Thread-safety: pure. Ownership: copies what it returns. Errors: what cannot be read is empty, or 0.

namespace refrain::sampler {

struct PythonInterpreter {
  std::uint64_t begin = 0;  // of its code; 0: there is none
  std::uint64_t end = 0;
  void* (*state)() = nullptr;   // of the calling thread
  std::uint64_t code_type = 0;  // the address of code objects' type
};

// In the object whose code is there.
PythonInterpreter interpreter_in(std::uint64_t begin, std::uint64_t end);

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

namespace refrain::sampler {

struct CallFrame {
  std::uint64_t place = 0;  // return address into the function
  std::uint64_t base =
      0;  // just below its canonical frame address; 0: nothing is known further out
  bool operator==(const CallFrame&) const = default;
};

struct StackWord {
  static constexpr std::uint64_t kBelow = 1;  // in `address`: the word below it counts, too
  std::uint64_t address;
  std::uint64_t below;
  std::uint64_t word;
};

class PythonFrames {
 public:
  // Of a C function that a place is in.
  enum class Runs : std::uint8_t {
    kNothing,
    kMaybe,  // not known
    kPython,
  };
  using Interpreter = PythonInterpreter;
  // Of one walk, from the inside outwards.
  struct Walk {
    std::uint64_t entry = 0;  // the outermost frame of the function that was read last
    bool settled = true;      // of each function it is known whether it runs Python code
  };
  struct Source {
    std::string_view function, file;
    std::uint32_t offset = 0;  // of the loop in the function
    std::uint32_t first_line = 0, last_line = 0;
  };

  PythonFrames() noexcept;
  ~PythonFrames();
  PythonFrames(const PythonFrames&) = delete;
  PythonFrames& operator=(const PythonFrames&) = delete;

  // A return address that no walk has seen yet: kNothing or kMaybe.
  Runs at(std::uint64_t place) noexcept;
  // Of the function with the stack [`stack`, `cfa`): the frames that it runs, innermost first, up to `room`, with
  // the function's own address as base, and the words that tell whether they are the same, to be read in their order: up to
  // two for each, and one more. 0: none. kMaybe becomes what it is; where it stays, that may be known later.
  unsigned read(Runs& runs, std::uint64_t stack, std::uint64_t cfa, CallFrame* out,
                unsigned room, StackWord*& word, Walk& walk) noexcept;

  // Code was unloaded.
  void forget() noexcept;

  static bool is_place(std::uint64_t place) noexcept { return (place & kPlace) != 0; }
  // As code/call_flow.h; headers of loops are places, too.
  std::span<const std::uint64_t> loops(std::uint64_t place) const noexcept;
  static std::uint64_t function(std::uint64_t place) noexcept { return place & ~kUnit; }
  bool forward(std::uint64_t from, std::uint64_t to) const noexcept;
  // Valid as long as this.
  Source source(std::uint64_t header) const noexcept;
  // The same of a call, with its line.
  Source source_of_call(std::uint64_t place) const noexcept;

  // For tests: where no interpreter is.
  void set(const Interpreter& interpreter) noexcept;

 private:
  static constexpr std::uint64_t kPlace = std::uint64_t{1} << 61;  // no address has it
  static constexpr unsigned kUnitBits = 24;
  static constexpr std::uint64_t kUnit = (std::uint64_t{1} << kUnitBits) - 1;

  struct Function;
  struct Known;

  std::uint64_t left_behind(std::uint64_t frame, std::uint64_t entry) const noexcept;
  bool copy(std::uint64_t from, void* to, std::size_t bytes) const noexcept;
  std::uint64_t record_in(std::uint64_t state, std::uint64_t stack, std::uint64_t cfa,
                          bool& known) const noexcept;
  std::uint64_t place_of(std::uint64_t code, std::uint64_t instruction, std::uint64_t name,
                         std::uint64_t lines) noexcept;
  std::uint64_t learn(std::uint64_t code, std::uint64_t instruction);
  std::uint32_t number_of(std::uint64_t code);
  const Function* function_at(std::uint64_t place) const noexcept;

  Interpreter interpreter_;
  std::uint64_t record_below_ = 0;  // canonical frame addresses; 0: not known
  bool trusted_ = false;            // frames were as expected
  std::uint64_t not_one_[4] = {};   // objects that have no interpreter
  unsigned not_ones_ = 0;
  std::unique_ptr<Known> known_;  // when there is an interpreter
};

}  // namespace refrain::sampler
