// What an OTF2 archive defines, put in order for those who write other formats: processes
// in the order of their ranks, threads numbered in them, references resolved to indices.
//
// Place in the flow: ARCHITECTURE.md, stages 6 and 7; read once by archive_stream.h.
// Shapes: kNone means undefined. An archive may define nonsense: a dangling reference
// becomes an empty name or kNone, never an error.
// Thread-safety: plain values.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "reader/trace_event.h"

namespace refrain::reader {

// From a reference of the archive to an index; dense ones by a table.
class RefTable {
 public:
  void add(std::uint64_t ref, std::uint32_t index);
  std::uint32_t of(std::uint64_t ref) const noexcept {
    if (ref < dense_.size()) return dense_[ref];
    return sparse_.empty() ? kNone : slow(ref);
  }

 private:
  std::uint32_t slow(std::uint64_t ref) const noexcept;
  std::vector<std::uint32_t> dense_;
  std::unordered_map<std::uint64_t, std::uint32_t> sparse_;
};

struct RegionInfo {
  std::string name;
  std::string file;
  std::uint32_t line = 0;
  OTF2_RegionRole role = OTF2_REGION_ROLE_UNKNOWN;
  OTF2_Paradigm paradigm = OTF2_PARADIGM_UNKNOWN;
  OTF2_RegionFlag flags = OTF2_REGION_FLAG_NONE;
  bool is_loop = false;  // detected by Refrain: an enter is an iteration
};

struct LocationInfo {
  std::uint64_t ref = 0;
  std::string name;
  OTF2_LocationType type = OTF2_LOCATION_TYPE_CPU_THREAD;
  std::uint64_t events = 0;            // as defined, which may be wrong
  ProcessId process{};                 // index
  std::uint32_t thread = 0;            // in its process
  std::vector<ExtraValue> properties;  // `ref`: their name, a string; as they were defined
  // One of the OpenMP runtime's own threads, says the archive: its time counts in regions only.
  bool helper = false;
};

struct ProcessInfo {
  std::uint32_t ref = 0;  // of its location group
  std::string name;
  std::uint32_t node = 0;      // index
  std::uint32_t rank = kNone;  // of MPI
  std::vector<LocationId> locations;
};

struct GridDimension {
  std::uint32_t size = 1;
  bool periodic = false;
};

struct CommInfo {
  std::string name;
  bool self = false;             // each process alone
  bool of_processes = false;     // MPI and the like; else a team of threads
  std::uint32_t group = kNone;   // index in `groups`
  std::uint32_t remote = kNone;  // of an intercommunicator: the other group
  // Cartesian: ranks lie row by row, as MPI prescribes. As many places as members; else empty.
  std::vector<GridDimension> grid;
};

struct NamedInfo {
  std::string name;
  std::uint8_t type = 0;       // OTF2_Type or OTF2_ParameterType
  std::uint32_t comm = kNone;  // of windows
};

struct MetricInfo {
  std::string name;
  std::string unit;
  OTF2_MetricType type = OTF2_METRIC_TYPE_OTHER;
  OTF2_MetricMode mode = OTF2_METRIC_ABSOLUTE_POINT;
};

struct MarkerInfo {
  std::uint64_t ns = 0;
  std::uint64_t duration_ns = 0;
  std::string category;
  std::string text;
  LocationId location{kNone};  // kNone: of the whole trace or a group
};

// Which OpenMP runtime ran the program's regions: "libgomp", "LLVM's libomp", or the name that another one gives. Empty:
// none, or not known. Of an archive's properties.
std::string openmp_runtime(const std::map<std::string, std::string>& properties);
// Of a program linked with libgomp what that means for its times and regions; else empty.
std::string openmp_note(const std::map<std::string, std::string>& properties);

struct TraceDefinitions {
  std::uint64_t ticks_per_second = 1'000'000'000;
  std::uint64_t base_ticks = 0;   // time zero
  std::uint64_t end_ticks = 0;    // by the definitions
  std::uint64_t realtime_ns = 0;  // of time zero; 0: not known
  std::string machine;
  std::string creator;
  std::map<std::string, std::string> properties;  // of the anchor file
  std::unordered_map<std::uint32_t, std::string> strings;
  std::vector<RegionInfo> regions;  // the last one: any that is not defined
  std::vector<LocationInfo> locations;
  std::vector<ProcessInfo> processes;  // that have locations
  std::size_t location_groups = 0;     // defined, also those without locations
  std::vector<std::string> nodes;
  std::vector<CommInfo> comms;
  std::vector<std::vector<ProcessId>> groups;  // processes by rank
  std::vector<NamedInfo> windows;
  std::vector<NamedInfo> parameters;
  std::vector<MetricInfo> metrics;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> metric_classes;
  std::unordered_map<std::uint32_t, NamedInfo> attributes;
  std::unordered_map<std::uint32_t, std::string> places;  // source code locations
  std::vector<MarkerInfo> markers;                        // by time
  RefTable region_table, comm_table, window_table, parameter_table, group_table;

  bool is_refrain() const { return properties.contains("REFRAIN::VERSION"); }
  // Recorded by `refrain run --summary-only`: there are no events, and no marks of iterations.
  bool summary_only() const;
  std::uint64_t ns(std::uint64_t ticks) const noexcept;  // nearest; 0 before time zero
  std::uint64_t duration_ns(std::uint64_t ticks) const noexcept;  // so many ticks
  // Whether a region that begins then continues one that ended: enters and leaves of Refrain's archives
  // are ticks apart where the program's were not.
  bool adjoins(std::uint64_t end_ns, std::uint64_t begin_ns) const noexcept;
  const std::string& text(std::uint32_t ref) const noexcept;
  // The process that is `rank` in a communicator, as process `self` sees it, or kNone.
  ProcessId process_of(std::uint32_t comm, std::uint32_t rank,
                       ProcessId self) const noexcept;
  // A value of an attribute or a metric, in words.
  std::string value_text(std::uint8_t type, std::uint64_t bits) const;
};

// Which definitions are read. Without groups, members of communicators and ranks are not known
// (processes are in the order of their references); groups take memory for each member of each
// communicator.
enum class DefinitionChoice { kAll, kWithoutGroups };

// Reads the global definitions, without those of the anchor file. Not OTF2_SUCCESS: they
// cannot be read.
OTF2_ErrorCode read_trace_definitions(OTF2_Reader* reader, DefinitionChoice which,
                                      TraceDefinitions& definitions);
// Which regions are loops that Refrain detected. After the properties are known.
void mark_loops(TraceDefinitions& definitions);
// Markers are optional; unreadable ones are left out. After base_ticks is known.
void read_markers(OTF2_Reader* reader, TraceDefinitions& definitions);

}  // namespace refrain::reader
