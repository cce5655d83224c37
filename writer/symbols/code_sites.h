// The functions around a call in the program: its function, and those inlined there.
//
// Place in the flow: ARCHITECTURE.md, step 7, for where a loop is (writer/loops/loop_places.h).
// Thread-safety: none; uses the resolver that it was made with, which must live longer.
// Errors: an unknown site has no frames.
// Cost: each address is looked up once; as SymbolResolver.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "writer/symbols/symbol_resolver.h"

namespace refrain::writer {

// A function around a call, inlined or not.
struct CodeFrame {
  std::string function;
  std::string file;
  std::uint32_t line = 0;   // of what it calls
  std::uint64_t scope = 0;  // equal for equal instances of it
};

struct CodeSite {
  std::string module;  // file name
  // The function's code as it ran, and its place in the module.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;
  std::vector<CodeFrame> frames;  // outermost (the function itself) first
};

class CodeSites {
 public:
  explicit CodeSites(SymbolResolver& symbols);
  ~CodeSites();
  CodeSites(const CodeSites&) = delete;
  CodeSites& operator=(const CodeSites&) = delete;

  // For the call that returns to this address.
  const CodeSite& at_call(std::uint64_t return_address);
  // The file name of the module at an address; does not open the module.
  std::string module_of(std::uint64_t address) const;
  // Whether an instruction belongs to a frame's function, or to one inlined into it.
  bool contains(const CodeFrame& frame, std::uint64_t address) const;
  // The bytes of the function; empty if they are not available.
  std::vector<std::uint8_t> code(const CodeSite& site) const;

 private:
  struct Scopes;
  SymbolResolver& symbols_;
  std::unique_ptr<Scopes> scopes_;
  std::unordered_map<std::uint64_t, CodeSite> sites_;
};

}  // namespace refrain::writer
