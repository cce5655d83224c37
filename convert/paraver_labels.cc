#include "convert/paraver_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "convert/paraver_regions.h"

namespace refrain::convert {
namespace {

struct State {
  const char* name;
  int red, green, blue;
};

constexpr State kStates[] = {{"Idle", 117, 195, 255},
                             {"Running", 0, 0, 255},
                             {"Not created", 255, 255, 255},
                             {"Waiting a message", 255, 0, 0},
                             {"Blocking Send", 255, 0, 174},
                             {"Synchronization", 179, 0, 0},
                             {"Test/Probe", 0, 255, 0},
                             {"Scheduling and Fork/Join", 255, 255, 0},
                             {"Wait/WaitAll", 235, 0, 0},
                             {"Blocked", 0, 162, 0},
                             {"Immediate Send", 255, 0, 255},
                             {"Immediate Receive", 100, 100, 177},
                             {"I/O", 172, 174, 41},
                             {"Group Communication", 255, 144, 26},
                             {"Tracing Disabled", 2, 255, 177},
                             {"Others", 192, 224, 0},
                             {"Send Receive", 66, 66, 66},
                             {"Memory transfer", 255, 0, 96}};

// A label is the rest of its line.
std::string label(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

using Values = std::vector<std::pair<std::uint64_t, std::string>>;

class PcfWriter {
 public:
  PcfWriter(TextFile& file, const reader::TraceDefinitions& definitions,
            const ParaverRegions& regions)
      : file_(file), definitions_(definitions), regions_(regions) {}

  void write(const std::vector<std::uint32_t>& metric_types) {
    head();
    types({{kTypeApplication, "Application"}}, {{0, "End"}, {1, "Begin"}});
    types({{kTypeFlush, "Flushing Traces"}}, {{0, "End"}, {1, "Begin"}});
    types({{kTypeTracing, "Tracing"}}, {{0, "Disabled"}, {1, "Enabled"}});
    loops();
    mpi();
    openmp();
    functions(kTypeUserFunction, "User function");
    counters(metric_types);
    places();
  }

 private:
  void head() {
    file_.text(
        "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n"
        "LOOK_BACK           100\nSPEED               1\nFLAG_ICONS          ENABLED\n"
        "NUM_OF_STATE_COLORS 1000\nYMAX_SCALE          37\n\n\n"
        "DEFAULT_SEMANTIC\n\nTHREAD_FUNC          State As Is\n\n\nSTATES\n");
    for (std::size_t i = 0; i < std::size(kStates); ++i)
      file_.text(fmt::format("{}    {}\n", i, kStates[i].name));
    file_.text("\n\nSTATES_COLOR\n");
    for (std::size_t i = 0; i < std::size(kStates); ++i)
      file_.text(fmt::format("{}    {{{},{},{}}}\n", i, kStates[i].red, kStates[i].green,
                             kStates[i].blue));
    file_.text("\n\n");
  }

  // Types with the same values are one block.
  void types(const std::vector<std::pair<std::uint32_t, std::string>>& types,
             const Values& values) {
    file_.text("EVENT_TYPE\n");
    for (const auto& [type, name] : types)
      file_.text(fmt::format("9    {}    {}\n", type, label(name)));
    if (!values.empty()) file_.text("VALUES\n");
    for (const auto& [value, name] : values)
      file_.text(fmt::format("{}      {}\n", value, label(name)));
    file_.text("\n\n");
  }

  void loops() {
    Values periods = {{0, "Non-periodic zone"}};
    for (std::size_t i = 0; i < regions_.regions.size(); ++i)
      if (regions_.regions[i].is_loop)
        periods.emplace_back(regions_.regions[i].value,
                             fmt::format("Period #{}: {}", regions_.regions[i].value,
                                         definitions_.regions[i].name));
    if (periods.size() == 1) return;
    types({{kTypeIteration, "Iteration of the outermost loop, from 1 on; 0: outside"}}, {});
    for (std::uint32_t level = 1; level <= kMaxLevels; ++level)
      types(
          {{kTypeInnerIteration + level,
            fmt::format("Iteration of a loop at level {}, from 1 on; 0: outside", level)}},
          {});
    types({{kTypePeriod, "Periodicity"}}, periods);
    types({{kTypeDetail, "Level of detail"}},
          {{0, "Not tracing"}, {1, "Profiling"}, {2, "Burst mode"}, {3, "Detail mode"}});
  }

  void mpi() {
    constexpr const char* kClasses[] = {"MPI Point-to-point", "MPI Collective Comm",
                                        "MPI Other", "MPI One-sided", "MPI I/O"};
    std::map<std::uint32_t, std::map<std::uint64_t, std::string>> used;
    for (std::size_t i = 0; i < regions_.regions.size(); ++i) {
      const ParaverRegion& region = regions_.regions[i];
      if (!region.is_mpi) continue;
      auto& calls = used[region.type];
      calls[0] = "Outside MPI";
      calls[region.value] = definitions_.regions[i].name;
    }
    for (const auto& [type, calls] : used)
      types({{type, kClasses[type - kTypeMpi - 1]}}, Values(calls.begin(), calls.end()));
    if (used.empty()) return;
    types({{kTypeBytesSent, "Send Size in MPI Global OP"},
           {kTypeBytesReceived, "Recv Size in MPI Global OP"},
           {kTypeRoot, "Root in MPI Global OP"}},
          {});
    Values comms;
    for (std::uint32_t i = 0; i < definitions_.comms.size(); ++i)
      if (definitions_.comms[i].of_processes && !definitions_.comms[i].self)
        comms.emplace_back(i + 1, definitions_.comms[i].name);
    for (std::uint32_t i = 0; i < definitions_.comms.size(); ++i)
      for (std::uint32_t process = 0;
           definitions_.comms[i].self && process < definitions_.processes.size(); ++process)
        comms.emplace_back(
            paraver_comm(definitions_, i, process),
            fmt::format("{} of task {}", definitions_.comms[i].name, process + 1));
    types({{kTypeComm, "Communicator in MPI Global OP"}}, comms);
  }

  void openmp() {
    types({{kTypeParallel, "Parallel (OMP)"}},
          {{0, "close"}, {1, "DO (open)"}, {2, "SECTIONS (open)"}, {3, "REGION (open)"}});
    types({{kTypeWorksharing, "Worksharing (OMP)"}},
          {{0, "End"}, {4, "DO"}, {5, "SECTIONS"}, {6, "SINGLE"}});
    const Values begin_end = {{0, "End"}, {1, "Begin"}};
    types({{kTypeBarrier, "OpenMP barrier"}}, begin_end);
    types({{kTypeTaskwait, "OpenMP taskwait"}}, begin_end);
    types({{kTypeTaskgroup, "OpenMP taskgroup"}}, begin_end);
    types({{kTypeCritical, "OpenMP critical"}}, begin_end);
    types({{kTypeAtomic, "OpenMP atomic"}}, begin_end);
    types({{kTypeWorkshare, "OpenMP workshare"}}, begin_end);
    types({{kTypeMaster, "OpenMP master"}}, begin_end);
    types({{kTypeTaskId, "OpenMP task identifier"}}, {});
    functions(kTypeFunction, "Executed OpenMP parallel function");
    functions(kTypeTask, "Executed OpenMP task function");
    functions(kTypeTaskCreate, "Instantiated OpenMP task function");
    functions(kTypeTarget, "OpenMP target construct");
    functions(kTypeTargetData, "OpenMP operation on data of a device");
    functions(kTypeKernel, "OpenMP kernel of a device");
    if (std::any_of(regions_.regions.begin(), regions_.regions.end(),
                    [](const auto& region) { return region.type == kTypeTargetData; }))
      types({{kTypeTargetBytes, "Bytes moved to or from a device"}}, {});
    functions(kTypeOtherOmp, "Other OpenMP construct");
  }

  void functions(std::uint32_t type, const std::string& name) {
    Values names = {{0, "End"}};
    Values lines = {{0, "End"}};
    for (std::size_t i = 0; i < regions_.regions.size(); ++i) {
      if (regions_.regions[i].type != type) continue;
      const reader::RegionInfo& region = definitions_.regions[i];
      names.emplace_back(regions_.regions[i].value, region.name);
      const std::string file = std::filesystem::path(region.file).filename();
      lines.emplace_back(regions_.regions[i].value,
                         fmt::format("{} ({})", region.line, file.empty() ? "?" : file));
    }
    if (names.size() == 1) return;
    types({{type, name}}, names);
    if (type != kTypeOtherOmp)
      types({{type + kLineOffset, name + " line and file"}}, lines);
  }

  void counters(const std::vector<std::uint32_t>& metric_types) {
    for (std::size_t i = 0; i < metric_types.size(); ++i) {
      const reader::MetricInfo& metric = definitions_.metrics[i];
      types({{metric_types[i], metric.name + (metric.unit.empty() || metric.unit == "#"
                                                  ? ""
                                                  : " [" + metric.unit + "]")}},
            {});
    }
  }

  // Where MPI was called.
  void places() {
    if (definitions_.places.empty()) return;
    Values places = {{0, "End"}};
    for (const auto& [ref, place] : definitions_.places)
      places.emplace_back(std::uint64_t{ref} + 1, place);
    std::sort(places.begin(), places.end());
    types({{kTypeCallLine, "Caller line at level 1"}}, places);
  }

  static constexpr std::uint32_t kMaxLevels = 8;
  TextFile& file_;
  const reader::TraceDefinitions& definitions_;
  const ParaverRegions& regions_;
};

}  // namespace

ParaverObjects paraver_objects(const reader::TraceDefinitions& definitions) {
  ParaverObjects objects;
  objects.cpus.resize(definitions.locations.size());
  objects.node_cpus.resize(definitions.nodes.size());
  std::vector<std::vector<std::uint32_t>> on_node(definitions.nodes.size());
  for (const reader::ProcessInfo& process : definitions.processes)
    on_node[process.node].insert(on_node[process.node].end(), process.locations.begin(),
                                 process.locations.end());
  for (std::uint32_t node = 0; node < on_node.size(); ++node)
    for (const std::uint32_t location : on_node[node]) {
      objects.cpu_nodes.push_back(node);
      objects.cpus[location] = static_cast<std::uint32_t>(objects.cpu_nodes.size());
      ++objects.node_cpus[node];
    }
  return objects;
}

std::vector<std::uint32_t> paraver_metric_types(
    const reader::TraceDefinitions& definitions) {
  std::vector<std::uint32_t> types;
  std::set<std::uint32_t> used;
  for (const reader::MetricInfo& metric : definitions.metrics) {
    std::uint32_t type = paraver_counter(metric.name);
    while (!used.insert(type).second) ++type;
    types.push_back(type);
  }
  return types;
}

std::uint64_t paraver_comm(const reader::TraceDefinitions& definitions, std::uint32_t comm,
                           std::uint32_t process) {
  if (comm >= definitions.comms.size() || !definitions.comms[comm].self)
    return std::uint64_t{comm} + 1;
  return definitions.comms.size() + 1 + process;
}

void write_pcf(TextFile& file, const reader::TraceDefinitions& definitions,
               const ParaverRegions& regions,
               const std::vector<std::uint32_t>& metric_types) {
  PcfWriter(file, definitions, regions).write(metric_types);
}

void write_row(TextFile& file, const reader::TraceDefinitions& definitions,
               const ParaverObjects& objects) {
  file.text(fmt::format("LEVEL CPU SIZE {}\n", objects.cpu_nodes.size()));
  for (std::size_t i = 0; i < objects.cpu_nodes.size(); ++i)
    file.text(
        fmt::format("{}.{}\n", i + 1, label(definitions.nodes[objects.cpu_nodes[i]])));
  file.text(fmt::format("\nLEVEL NODE SIZE {}\n", definitions.nodes.size()));
  for (const std::string& node : definitions.nodes) file.text(label(node) + "\n");
  file.text(fmt::format("\nLEVEL TASK SIZE {}\n", definitions.processes.size()));
  for (const reader::ProcessInfo& process : definitions.processes)
    file.text(label(process.name) + "\n");
  file.text(fmt::format("\nLEVEL THREAD SIZE {}\n", definitions.locations.size()));
  for (std::size_t task = 0; task < definitions.processes.size(); ++task)
    for (const std::uint32_t location : definitions.processes[task].locations)
      file.text(fmt::format("THREAD 1.{}.{} {}\n", task + 1,
                            definitions.locations[location].thread + 1,
                            label(definitions.locations[location].name)));
}

}  // namespace refrain::convert
