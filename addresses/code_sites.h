// The functions around a call in the program: its function, and those inlined there; and the
// loops of its function.
//
// Place in the flow: ARCHITECTURE.md, stage 5, for where a loop is (writer/loops/loop_places.h).
// Thread-safety: none; uses the resolver that it was made with, which must live longer.
// Errors: an unknown site has no frames.
// Cost: each address is looked up once; as Resolver.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "addresses/resolver.h"
#include "code/program_loops.h"

namespace refrain::addresses {

// A function around a call, inlined or not.
struct CodeFrame {
  std::string function;
  std::string file;
  std::uint32_t line = 0;       // of what it calls
  const void* scope = nullptr;  // equal for equal instances of it; as in code::SourcePlace
};

struct CodeSite {
  std::string module;       // file name
  std::uint64_t begin = 0;  // of the function's code, as it ran
  std::string path;
  // The call's address in the module's file, and what addresses had more when it ran.
  std::uint64_t address = 0;
  std::uint64_t bias = 0;
  std::vector<CodeFrame> frames;  // outermost (the function itself) first
};

class CodeSites {
 public:
  explicit CodeSites(Resolver& symbols);
  ~CodeSites();
  CodeSites(const CodeSites&) = delete;
  CodeSites& operator=(const CodeSites&) = delete;

  // For the call that returns to this address.
  const CodeSite& at_call(std::uint64_t return_address);
  // The file name of the module at an address; does not open the module.
  std::string module_of(std::uint64_t address) const;
  // The loops of the site's function in the machine code; null if they are not known.
  const code::FunctionLoops* loops(const CodeSite& site);

 private:
  Resolver& symbols_;
  std::unordered_map<std::string, std::unique_ptr<code::ProgramLoops>> programs_;
  std::unordered_map<std::uint64_t, CodeSite> sites_;
};

}  // namespace refrain::addresses
