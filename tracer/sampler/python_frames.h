// The functions of Python code that a C function of the interpreter runs.
//
// Place in the flow: under call_walk.h. CPython 3.11 runs calls from Python code to Python code in one C frame, so that a walk of the
// stack sees none of them. That frame has a record in it (_PyCFrame) of the innermost one, and each has a link to its caller: these
// are frames of the call path like others, in place of the C frame.
//
// Which versions: python_objects.h. Of others the C frame stays what it is.
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
#include <string_view>

#include "tracer/sampler/python_objects.h"

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
