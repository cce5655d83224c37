// The summary of a run: exact counts and times of all regions of one process by call path, whether
// their events are in the archive or not; one file a process in the archive's directory "summary".
//
// Place in the flow: ARCHITECTURE.md, stage 5 (written) and 6 (read). The format is in
// docs/reference/summary.md: JSON, so that scripts can read it.
// Units: ticks of the process' clock, bytes. Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file_use.h"
#include "base/memory_sample.h"
#include "base/memory_use.h"
#include "base/result.h"
#include "base/shared_vector.h"
#include "base/thread_use.h"
#include "summary/flow_graph.h"
#include "summary/iteration_rows.h"

namespace refrain::summary {

struct RunSummary {
  static constexpr std::uint32_t kNone = 0xffffffff;

  struct Region {
    std::uint32_t reference = kNone;  // in the archive
    std::string name;
    std::string file;
    std::uint32_t line = 0;
    std::uint32_t role = 0;      // OTF2_RegionRole
    std::uint32_t paradigm = 0;  // OTF2_Paradigm
    std::string canonical = {};  // empty: as the name
    bool operator==(const Region&) const = default;
  };
  enum class Kind : std::uint32_t {
    kRegion = 0,
    kFork =
        1,  // opens a team and waits for its end, around the region itself: no region of the
            // archive
    kOther = 2,  // regions that found no place under their parent
  };
  struct Node {
    std::uint32_t parent =
        kNone;  // index, smaller than its own; kNone: the location itself
    std::uint32_t region = kNone;  // index
    Kind kind = Kind::kRegion;
    std::uint32_t site = kNone;  // index: where the call was made
    bool operator==(const Node&) const = default;
  };
  struct Sums {
    std::uint64_t visits = 0;
    std::uint64_t time = 0;
    std::uint64_t least = 0;  // duration of a visit
    std::uint64_t greatest = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t messages_sent = 0;
    std::uint64_t messages_received = 0;
    // Of regions inside whose node had no place, not even as kOther.
    std::uint64_t time_elsewhere = 0;
    std::uint64_t regions_elsewhere = 0;
    bool operator==(const Sums&) const = default;
  };
  // `to` came `count` times after `from`, a sibling, or first in `from`, its parent.
  struct Edge {
    std::uint32_t from = kNone;  // kNone: first of all
    std::uint32_t to = 0;
    std::uint64_t count = 0;
    bool operator==(const Edge&) const = default;
  };
  struct Location {
    std::uint64_t reference = 0;  // in the archive
    std::uint32_t number = 0;     // in the process
    bool primary = false;
    std::vector<Sums> sums;  // by node; of kNone's elsewhere there are `outside`
    Sums outside;
    std::vector<Edge> edges;
    FlowGraph flow;
    IterationRows iterations = {};  // none: not known
    // One of the OpenMP runtime's own threads, that execute target constructs with nowait: its time counts in
    // regions only.
    bool helper = false;
    // Of threads that the program begins itself: there is one in its regions only, and no time outside of them.
    bool temporary = false;
    base::ThreadUse use = {};  // of its threads; all 0: not known
    // Where it was when its process was killed: the node of the innermost region that was open, and since when (ticks). kNone: in no
    // region, or the process has ended.
    std::uint32_t killed_in = kNone;
    std::uint64_t killed_since = 0;
    bool only_in_regions() const noexcept { return helper || temporary; }
    bool operator==(const Location&) const = default;
  };

  static constexpr std::size_t kMaxMemorySamples = 128;

  std::uint32_t process = 0;
  std::uint32_t processes = 0;  // that have summaries in the archive; 0: not known
  std::uint32_t rank = kNone;   // in MPI_COMM_WORLD
  std::string host;
  std::string program;
  bool complete = true;  // the process has ended in an orderly way
  bool exited = false;   // it has not, but by exit(), while an event was recorded
  std::uint64_t peak_memory_bytes = 0;  // the largest resident set; 0: not known
  std::uint64_t memory_bytes =
      0;  // the resident set at the end, or where a killed one was last looked at
  // Now and then, where outermost iterations began; at most kMaxMemorySamples.
  std::vector<base::MemorySample> memory = {};
  double ticks_per_second = 1e9;
  std::uint64_t begin = 0;  // of recording
  std::uint64_t end = 0;
  // Those of processes of one program may be shared. There may be more regions than nodes name.
  base::SharedVector<Region> regions;
  std::vector<std::string> sites;  // "file:line"
  base::SharedVector<Node> nodes;
  std::vector<SummaryLoop> loops;        // those that have rows of iterations
  std::vector<SummaryCounter> counters;  // of the rows
  std::vector<Location> locations;
  // What it did with files, most time first; none: not counted. The last one may be of all that had no place, without a path.
  std::vector<base::UsedFile> files = {};
  base::MemoryCalls allocations = {};  // from_bytes 0: not counted
  // In the archive: threads that had no memory for a call tree. What they did is not counted here.
  std::vector<std::uint64_t> locations_without;

  bool operator==(const RunSummary&) const = default;
};

// As the file has it.
std::string to_text(const RunSummary& summary);
// With or without rows of iterations, which may be most of a summary.
enum class Iterations : bool { kLeave, kRead };
base::Result<RunSummary> summary_from_text(const std::string& text,
                                           Iterations iterations = Iterations::kRead);

// Where the summary of a process lies in an archive's directory.
std::string summary_path(const std::string& archive, std::uint32_t process);
// Makes the file.
base::Result<> write_summary(const std::string& archive, const RunSummary& summary);
// Of all processes, in their order; none if there are none. One that is damaged is left out, and named (base/notes.h); how many
// are missing is said, too.
base::Result<std::vector<RunSummary>> read_summaries(
    const std::string& archive, Iterations iterations = Iterations::kLeave);

}  // namespace refrain::summary
