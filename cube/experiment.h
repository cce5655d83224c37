// An experiment in Cube's sense: values of metrics for call paths and locations.
//
// Place in the flow: ARCHITECTURE.md, stage 5; made by write_cube.h, written by cubex_file.h.
// Shapes: everything is known by its index, which is also its number in the file. A parent stands before
// its children. A location belongs to a process, that to a node of the machine.
// Units: as the metric says. Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"

namespace refrain::cube {

inline constexpr std::uint32_t kNone = 0xffffffff;

struct Metric {
  // Of the values. Those of children and other locations are added; of kMinimum and kMaximum the minimum and the maximum
  // one is taken.
  enum class Type { kCount, kSeconds, kMinimum, kMaximum };
  std::string name;  // unique; by this one tools know it
  std::string title;
  std::string unit;
  std::string description;
  Type type = Type::kCount;
  bool inclusive = false;  // values of a call path contain those of the paths below it
  std::uint32_t parent = kNone;

  bool is_count() const { return type == Type::kCount; }
};

struct Region {
  std::string name;
  std::string canonical;
  std::string file;
  std::uint32_t line = 0;  // 0: not known
  std::string paradigm;    // in Score-P's words: "openmp"
  std::string role;        // likewise: "parallel"
};

struct CallPath {
  std::uint32_t parent = kNone;
  std::uint32_t region = 0;
};

struct Process {
  std::string name;
  std::uint32_t rank = 0;
  std::uint32_t node = 0;
};

struct Location {
  std::string name;
  std::uint32_t number = 0;  // in its process
  std::uint32_t process = 0;
};

struct Experiment {
  // The values of a metric: for each call path none, or one for each location. Those of counts are numbers, all others
  // the bits of a double.
  using Row = std::vector<std::uint64_t>;
  using Values = std::vector<Row>;

  std::string creator;
  std::string machine;
  std::vector<Metric> metrics;
  std::vector<Region> regions;
  std::vector<CallPath> paths;
  std::vector<std::string> nodes;  // of the machine: hosts
  std::vector<Process> processes;
  std::vector<Location> locations;  // in the order of their processes
  std::vector<Values> values;       // by metric

  // All metrics, call paths and locations are known before.
  void add(std::uint32_t metric, PathId path, LocationId location, std::uint64_t count);
  // Adds, or takes the minimum or the maximum.
  void add(std::uint32_t metric, PathId path, LocationId location, double value);
  // Of a metric that is no count.
  void set(std::uint32_t metric, PathId path, LocationId location, double value);

 private:
  std::uint64_t& at(std::uint32_t metric, PathId path, LocationId location);
};

// What stands for no value: it does not change what it is combined with. Values are not negative: 0
// is that of a maximum, too (CubeLib's own, the smallest double, looks like an error to cube_sanity).
std::uint64_t neutral(Metric::Type type) noexcept;

// Score-P's words for roles and paradigms of regions, as its profiles have them.
//
// Thread-safety: pure. Source: Score-P 8.4, SCOREP_PublicTypes.h, and how it maps them to OTF2's.

const char* role_word(std::uint32_t role) noexcept;          // OTF2_RegionRole
const char* paradigm_word(std::uint32_t paradigm) noexcept;  // OTF2_Paradigm

}  // namespace refrain::cube
