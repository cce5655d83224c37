// Finds the unit and the functions of an address in the debug information of a program.
//
// Place in the flow: ARCHITECTURE.md, stage 5, under addresses and code/loop_lines.h.
// Thread-safety: none; one user at a time. Ownership: the modules of libdwfl must live
// longer.
// Errors: what has no debug information is not found.
// Cost: a unit is read once, when the first of its addresses is asked for; then logarithmic.
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace refrain::code {

// Names of C++, and of procedures in gfortran's modules: "__solver_MOD_step" is
// solver::step.
std::string demangled(const char* name);

// Also of what the entry is an instance of. Null: it has none.
const char* attribute_text(Dwarf_Die* die, unsigned name);

// The name as in the source: with namespace or module; Fortran's external procedures
// without the underscore that the linker sees.
std::string function_of(Dwarf_Die* scope);

struct SourceLine {
  const char* file = nullptr;  // full path as the compiler knew it; null: unknown
  std::uint32_t line = 0;
  std::vector<std::uint32_t> begun =
      {};  // of whose statements one begins at this very address
};

// `address`: in the debug information.
SourceLine line_of(Dwarf_Die* unit, std::uint64_t address);

// A line with a number that begins at another address than the one asked for.
struct OtherLine {
  SourceLine line;
  std::uint64_t address = 0;
};
// The nearest ones before an address, not before `begin`, and after it, before `end`. Null files: there is none.
OtherLine line_before(Dwarf_Die* unit, std::uint64_t address, std::uint64_t begin);
OtherLine line_after(Dwarf_Die* unit, std::uint64_t address, std::uint64_t end);

// Where an inlined function was called.
SourceLine call_of(Dwarf_Die* unit, Dwarf_Die* inlined);

// Finds the compilation unit of an address. libdwfl looks only into .debug_aranges, which
// clang does not write: where that fails, the ranges of all units are read, once a module.
class UnitIndex {
 public:
  // `bias`: what an address has more than in the debug information.
  Dwarf_Die* find(Dwfl_Module* module, std::uint64_t address, Dwarf_Addr& bias);

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    Dwarf_Die unit;
  };
  struct Units {
    Dwarf_Addr bias = 0;
    std::vector<Range> ranges;
  };

  static void read(Dwfl_Module* module, Units& units);

  std::unordered_map<Dwfl_Module*, Units> modules_;
  Dwarf_Die unit_{};
};

// The symbols of modules by addresses of code, chosen as dwfl_module_addrinfo() does, which looks at all of them for each
// address (LAMMPS' library: 80 000). A module is read once, when the first of its addresses is asked for.
class SymbolIndex {
 public:
  struct Symbol {
    const char* name = nullptr;  // lives as long as the module; null: there is none
    std::uint64_t begin = 0;
  };
  Symbol find(Dwfl_Module* module, std::uint64_t address);

 private:
  struct Entry {
    std::uint64_t begin;
    std::uint64_t end;    // begin: without a size
    std::uint64_t reach;  // the greatest end up to here
    int rank;             // of symbols with the same begin
    int number;           // in the module
  };
  // Local symbols count where no other one has the address.
  struct Symbols {
    std::vector<Entry> global;
    std::vector<Entry> local;
  };

  static void read(Dwfl_Module* module, Symbols& to);

  std::unordered_map<Dwfl_Module*, Symbols> modules_;
};

// The functions of units by their code. A unit is read once, when the first of its
// addresses is asked for: that passes over all of its entries, because few compilers say
// where the next sibling is. (libdw's dwarf_getscopes() does so for each address, and does
// not look into gfortran's modules.)
class FunctionIndex {
 public:
  // The functions around an address of the debug information, innermost first, up to the
  // one whose code it is.
  std::vector<Dwarf_Die> scopes(Dwarf_Die* unit, std::uint64_t address);
  // That one alone; null: none.
  const Dwarf_Die* function(Dwarf_Die* unit, std::uint64_t address);

 private:
  struct Function {
    std::uint64_t begin;
    std::uint64_t end;
    Dwarf_Die die;
  };
  // How far a unit was searched: what most functions need comes first.
  enum class Depth { kNothing, kUnit, kClasses, kFunctions };
  struct Unit {
    Depth looked = Depth::kNothing;
    std::vector<Function> functions;  // by begin

    const Function* find(std::uint64_t address) const;
  };

  static void add(Dwarf_Die* unit, Unit& to);
  static void walk(Dwarf_Die* around, Unit& to);
  static void add_inlined(Dwarf_Die* around, std::uint64_t address,
                          std::vector<Dwarf_Die>& out);

  std::unordered_map<const void*, Unit> units_;
};

}  // namespace refrain::code
