// All regions of the archive, defined once: names, roles, places in the source.
//
// Place in the flow: ARCHITECTURE.md, stage 5: made from the scans of all locations before
// the first event is written; the definitions are written from it at the end.
// Equal definitions are merged, whatever addresses (and processes) they come from.
// Thread-safety: const after it was built; find() from any number of threads.
// Cost: find() is one hash lookup. Building resolves each distinct address once.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "addresses/resolver.h"
#include "filters/region_filter.h"
#include "regions/region_class.h"
#include "spool/journal.h"

namespace refrain::regions {

inline constexpr std::uint32_t kNoRegion = std::numeric_limits<std::uint32_t>::max();

struct RegionDef {
  std::string name;
  std::string canonical;
  std::string description;
  std::string file;
  std::uint32_t line = 0;
  RegionClass cls = RegionClass::kNone;  // kNone: the iterations of a loop
  bool filtered = false;
  // The name that filters match, where it differs from the archive's; until it is interned.
  std::string linkage_name = {};
  std::string source_file = {};

  // Regions with equal identities are the same.
  std::string identity() const;
};

// A place in the source from which MPI was called.
struct SourcePlace {
  std::string
      file;  // without debug information the function (or object) and the offset in it
  std::uint32_t line = 0;  // 0: the same

  std::string identity() const;  // "cg.c:48"; without a line the file alone
};

// How a process' numbers change when those of all processes are known.
struct RegionNumbers {
  std::vector<std::uint32_t> regions;
  std::vector<std::uint32_t> places;
  std::vector<std::uint32_t> parameters;
};

// A parameter of the program's regions.
struct ParameterDef {
  std::string name;
  bool text = false;  // its values are strings

  std::string identity() const;
};

// Of calls on files.
inline constexpr RegionKey kFileParameter{RegionClass::kFileName, 0};
inline constexpr RegionKey kOffsetParameter{RegionClass::kFileName, 1};

// Region of each of a process' keys and loops.
class ProcessRegions {
 public:
  std::uint32_t find(RegionKey key) const noexcept;
  std::uint32_t of_loop(std::uint32_t loop) const noexcept;
  // Number in RegionTable::parameters().
  std::uint32_t parameter(RegionKey key) const noexcept;
  // Number in RegionTable::places() of a call's site; kNoRegion if it is not known.
  std::uint32_t place_of_site(std::uint64_t address) const noexcept;
  void renumber(const RegionNumbers& numbers);

 private:
  friend class RegionTable;
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_loop_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_site_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_parameter_;
};

class RegionTable {
 public:
  explicit RegionTable(const filters::RegionFilter& filter) : filter_(filter) {}

  // `keys`: RegionKey::packed(), any order. `inner`: address of a parallel region's call
  // -> address of some construct inside it.
  ProcessRegions add_process(std::vector<std::uint64_t> keys,
                             const std::map<std::uint64_t, std::uint64_t>& inner,
                             const spool::Journal& journal, addresses::Resolver& resolver);

  // The iterations of its loops, by their numbers in the journal.
  void add_loops(ProcessRegions& process, std::map<std::uint32_t, RegionDef> loops);

  const std::vector<RegionDef>& regions() const noexcept { return regions_; }
  const std::vector<SourcePlace>& places() const noexcept { return places_; }
  const std::vector<ParameterDef>& parameters() const noexcept { return parameters_; }
  // Replaces the regions by those of all processes, which must include its own.
  RegionNumbers adopt(std::vector<RegionDef> regions, std::vector<SourcePlace> places,
                      std::vector<ParameterDef> parameters);

 private:
  std::uint32_t intern_place(const addresses::Place& where);
  std::uint32_t intern(RegionDef def);
  std::uint32_t intern_parameter(ParameterDef def);

  const filters::RegionFilter& filter_;
  std::vector<RegionDef> regions_;
  std::map<std::string, std::uint32_t> ids_;
  std::vector<SourcePlace> places_;
  std::vector<ParameterDef> parameters_;
  std::map<std::string, std::uint32_t> place_ids_;
  std::map<std::string, std::uint32_t> parameter_ids_;
};

// The texts that ProgramBegin refers to: the program's path and its arguments.
std::vector<std::string> program_texts(const spool::Journal& journal);

// The file of MPI's regions.
inline constexpr const char* kMpiFile = "MPI";

// A construct of OpenMP by the place that it is called from, and a function by its own address.
RegionDef define_construct(RegionKey key, const addresses::Place& where);
RegionDef define_function(const addresses::Place& function, std::uint64_t address);

// Returns true if the filter leaves the region out.
bool is_left_out(const filters::RegionFilter& filter, const RegionDef& region);

// OTF2_RegionRole: of a call of MPI by its name, else that of its class. Cost: as base::role_of_mpi().
std::uint8_t role_of(const RegionDef& region) noexcept;
// Where something is, as users write it: "cg.c:120", or "main+0x12".
std::string place_of(const addresses::Place& where);

// A function by its own address.
std::string function_name(const addresses::Place& function, std::uint64_t address);

// Likewise of one that a thread executes, in short.
std::string thread_name(const addresses::Place& function, std::uint64_t address);

// The name of an event in a loop's body, as that of its region.
std::string body_event_name(const spool::LoopBodyEvent& event,
                            const spool::Journal& journal, addresses::Resolver& resolver);

}  // namespace refrain::regions
