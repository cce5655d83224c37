// Functions whose stacks are walked in tests. walked_functions.cc is compiled several times: with and
// without frame pointers, with and without unwind tables; each time in a namespace of its own.
//
// Each calls `at_end` at its innermost place. All return what they were given, plus something.
#pragma once

namespace refrain::sampler::testing {

using AtEnd = int (*)(int);

struct WalkedFunctions {
  const char* name;
  int (*recursion)(int depth, AtEnd at_end);
  int (*variable_length)(int depth, AtEnd at_end);  // arrays of variable length, alloca
  int (*aligned_locals)(int depth,
                        AtEnd at_end);  // with a stack that is aligned to 64 bytes
  int (*many_registers)(int depth, AtEnd at_end);  // all that callees save are in use
  int (*many_arguments)(int depth, AtEnd at_end);  // some of them on the stack
  int (*sorting)(int depth, AtEnd at_end);         // called by qsort()
};

extern const WalkedFunctions kWithFramePointer;
extern const WalkedFunctions kWithoutFramePointer;
extern const WalkedFunctions kUnoptimized;
extern const WalkedFunctions kOnlyFramePointer;  // without tables
extern const WalkedFunctions kNothing;           // with neither

}  // namespace refrain::sampler::testing
