// Which functions of the source an instruction belongs to, and to which of their lines:
// the function whose code it is, and those inlined there.
//
// Place in the flow: ARCHITECTURE.md, stage 5, for code/loop_lines.h. Addresses are those of the file.
// Thread-safety: none; one user at a time. Ownership: texts and modules are libdw's, which
// must live longer.
// Errors: without debug information there are no frames.
// Cost: a function is read once; then logarithmic.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "code/debug_index.h"

namespace refrain::code {

struct SourceFrame {
  const void* scope = nullptr;  // equal for equal instances of a function
  const char* file = nullptr;   // of what follows; null: unknown
  std::uint32_t line = 0;       // 0: unknown
};

class SourceScopes {
 public:
  // `bias`: what the module's addresses in libdwfl have more than those of the file.
  SourceScopes(Dwfl_Module* module, std::uint64_t bias);
  ~SourceScopes();
  SourceScopes(const SourceScopes&) = delete;
  SourceScopes& operator=(const SourceScopes&) = delete;

  // Outermost (the function itself) first; the line of a frame is where the next one is
  // called, or the instruction itself.
  std::vector<SourceFrame> at(std::uint64_t address);
  std::string function(const void* scope) const;
  // The line of its declaration; 0: unknown.
  std::uint32_t declared_at(const void* scope) const;
  // Whether the line with which a loop begins may be left out of the loop: in Fortran.
  bool loops_begin_outside(const void* scope) const;

 private:
  struct Function;
  Function* function_at(Dwarf_Die* unit, std::uint64_t address);

  Dwfl_Module* module_;
  std::uint64_t bias_;
  UnitIndex units_;
  FunctionIndex functions_;
  std::unordered_map<const void*, std::unique_ptr<Function>> known_;
  std::unordered_map<const void*, Dwarf_Die> scopes_;
};

}  // namespace refrain::code
