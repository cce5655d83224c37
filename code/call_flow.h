// What is asked about two calls of one function: which loops are around them, and whether one can come after the other
// without another iteration. Of code that is mapped in this process, by return addresses.
//
// Place in the flow: ARCHITECTURE.md, stage 5, over code/block_graph.h, code/natural_loops.h and code/mapped_image.h, for
// who lives inside of a traced program and sees its call stacks.
//
// The graph of a function has its blocks, cut after each call. After a call of setjmp() control comes once more from each
// call that can be reached from there, so that a loop made by longjmp() is one. A part that was moved away
// (.cold) belongs to the function that it jumps back into.
// Thread-safety: none; one thread. Takes the loader's lock for a moment when a call lies in an object that was not seen before.
// Ownership: spans of loops live as long as this and the object that the code is in; those of jumps until the next call of jumps().
// Errors: none are reported. Where code cannot be decoded or memory runs out, there are no loops, all is forward, and trust is kNone.
// Cost: the first question about a function: 0.3 us an instruction (12 ms at most), and 3 to 7 ms more for the first name that is asked for of an
// object (mapped_image.h). What takes more than 40 000 instructions, with those of functions that are called, is not looked at (cut()). Later
// questions 20 ns; forward() linear in the function's blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "code/block_graph.h"
#include "code/disassembler.h"
#include "code/loop_words.h"
#include "code/mapped_image.h"
#include "code/natural_loops.h"

namespace refrain::code {

class CallFlow {
 public:
  enum class Trust : std::uint8_t {
    kWhole,    // all of the function was decoded
    kGuessed,  // some of it was not, or where a jump goes was guessed
    kNone      // nothing is known
  };

  CallFlow();
  ~CallFlow();
  CallFlow(const CallFlow&) = delete;
  CallFlow& operator=(const CallFlow&) = delete;

  // Without the disassembler nothing is known of x86-64 code.
  bool available() const noexcept { return disassembler_.available(); }

  // A call is given by its return address.
  // Headers of the loops around it, outermost first. Empty: none, or not known.
  std::span<const std::uint64_t> loops(std::uint64_t call) noexcept;
  // Something was asked of this call before: neither loops(), function() nor trust() changes anything then.
  bool knows(std::uint64_t call) const noexcept { return places_.contains(call); }
  // Start of the function that it is in; 0: not known.
  std::uint64_t function(std::uint64_t call) noexcept;
  Trust trust(std::uint64_t call) noexcept;
  // Returns true if, in one activation, the second call can come after the first without a back edge of the loops around both.
  // False for a call and itself, and for calls of two functions.
  bool forward(std::uint64_t from, std::uint64_t to) noexcept;
  // Begins of the functions that its function may jump to at its end, from there on (tail calls), also through the
  // linker's stubs; and of those that these jump to, 4 deep.
  std::span<const std::uint64_t> jumps(std::uint64_t call) noexcept;
  // Returns true if it may jump to a function through a pointer, which is not among these.
  bool jumps_anywhere(std::uint64_t call) noexcept;

  // What a loop around it carries: the one with this number in loops(). It is one word for all calls in the loop, but values of
  // late calls are not to be compared with others (loop_words.h).
  struct Carried {
    LoopWord word;
    bool known = false;
    bool late = false;
  };
  Carried carried(std::uint64_t call, std::size_t loop) noexcept;

  // Start of the one function that it calls; 0: it calls through a pointer, or is not known.
  std::uint64_t callee(std::uint64_t call) noexcept;

  // How many functions were too long to be looked at.
  std::size_t cut() const noexcept { return cut_; }

  // The function with this address in it is not looked at. Python's interpreter is left out without that, where it is exported.
  void exclude(std::uint64_t address) noexcept;
  // Forgets what belonged to objects that were unloaded. To be called after dlclose(); new objects are found without.
  void refresh() noexcept;

 private:
  struct Object;
  struct Function;
  struct Place {
    Function* function = nullptr;  // null: not known
    Node node = kNoNode;           // that ends with the call
    std::uint64_t begin = 0;       // of the function, also if it is not looked at
  };
  struct JumpsOfCall {
    std::vector<std::uint64_t> to;
    bool anywhere = false;
    bool settled = false;  // all slots were filled
  };

  Place place(std::uint64_t call) noexcept;
  Place find(std::uint64_t call);
  // Returns true if a jump leads into a function, but not to its start.
  static bool into_midst(Object& object, std::uint64_t target);
  Object* object_at(std::uint64_t address);
  void list_objects();
  void find_interpreter(const MappedImage& image);
  bool never_returns(std::string_view name);
  Function* analysed(Object& object, const FunctionRange& range);
  const JumpsOfCall* jumps_of(std::uint64_t call) noexcept;
  void add_jumps(const Function& function, const std::vector<Node>& from, unsigned depth,
                 JumpsOfCall& out);

  const Disassembler disassembler_;
  std::vector<std::unique_ptr<Object>> objects_;
  std::size_t cut_ = 0;
  std::uint64_t loaded_ = 0;  // counts of the loader
  std::uint64_t unloaded_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Function>> functions_;  // by begin
  std::unordered_map<std::uint64_t, Place> places_;                         // by call
  std::unordered_map<std::uint64_t, JumpsOfCall> jumps_;
  std::unordered_set<std::uint64_t> excluded_;  // begins
  std::unordered_map<std::string, bool>
      never_returns_;  // functions of other objects, by name
};

}  // namespace refrain::code
