// Turns code addresses of the traced process into names, files and lines.
//
// Place in the flow: ARCHITECTURE.md, stage 5. Works from the module table in the journal
// and the files of the program, not from a living process, so also after its death. A
// module whose build id differs from the one that ran is not used: its addresses get the
// module's name and an offset.
//
// Thread-safety: none; one thread resolves.
// Ownership: returned references live as long as the resolver.
// Errors: for an unknown address the Place's function is empty or "module+0x...";
// complaints() lists the modules that could not be used. Throws only when memory runs out.
// Cost: each distinct address is resolved once. A module is opened when its first address
// is asked for; its debug information is searched in the file itself and where code/debug_files.h
// says, never over the network.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace refrain::addresses {

struct Place {
  std::string
      function;  // as in the source, demangled; of the innermost inlined call, but for those in the
                 // C++ library's headers
  std::string linkage;     // its linkage name, if it has one
  std::string elf_symbol;  // of the machine code that contains the address
  std::string file;        // full path as the compiler knew it; empty: unknown
  std::uint32_t line = 0;
  std::string module;  // file name of the executable or library
};

// What a thread of std::thread executes, where that has no name of its own: "f()::{lambda()#1}" of std::thread's function around it. Empty: it
// is another function. Pure.
std::string thread_function(const Place& function);

// One executable mapping, from a kTextModule text.
struct Module {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // in the file
  std::string build_id;      // hex, empty: none
  std::string path;
};

// Parses "start end offset build-id path" (hex); false if the text is damaged.
bool parse_module(std::string_view text, Module& module);

class Resolver {
 public:
  explicit Resolver(const std::vector<std::string>& module_texts);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // The symbol at an address; for a return address use at_call().
  const Place& at(std::uint64_t address);
  // The function with the call that returns to this address. Of a call that opens a parallel region the line is
  // that of the region's function, where that is known; an address may stand for a line of Python code (spool::kTextModule).
  const Place& at_call(std::uint64_t return_address);

  // Where an address is that stands for a line of Python code; null: it does not.
  const Place* python(std::uint64_t address) const noexcept;

  const std::vector<std::string>& complaints() const noexcept;

  struct Impl;

 private:
  friend class CodeSites;
  // Of a call that opens a parallel region; null: it does not, or that is not known.
  const Place* region_function(std::uint64_t return_address);
  std::unique_ptr<Impl> impl_;
  std::unordered_map<std::uint64_t, Place> cache_;
  std::unordered_map<std::uint64_t, std::uint64_t>
      region_functions_;  // by where calls return to
  std::unordered_map<std::uint64_t, Place> region_calls_;
  struct PythonPlace {
    Place place;
    std::uint64_t call = 0;  // whose line comes first, if it has one
  };
  std::unordered_map<std::uint64_t, PythonPlace> python_;
};

}  // namespace refrain::addresses
