#include "reader/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/texts.h"
#include "reader/otf2_callbacks.h"

namespace refrain::reader {

std::uint32_t call_site(const TraceEvent& enter) noexcept {
  for (std::uint32_t i = 0; i < enter.attributes; ++i) {
    const ExtraValue& value = enter.extras[enter.metrics + i];
    if (value.type == OTF2_TYPE_SOURCE_CODE_LOCATION)
      return static_cast<std::uint32_t>(value.bits);
  }
  return kNone;
}

const char* event_name(EventKind kind) noexcept {
  static constexpr const char* kNames[] = {
#define REFRAIN_NAME(name) #name,
      REFRAIN_TRACE_EVENTS(REFRAIN_NAME)
#undef REFRAIN_NAME
  };
  return kind < EventKind::kCount ? kNames[static_cast<unsigned>(kind)] : "Unknown";
}

}  // namespace refrain::reader

namespace refrain::reader {
namespace {

constexpr std::uint64_t kDenseRefs = std::uint64_t{1} << 20;
constexpr std::uint32_t kMaxSteps = 64;  // up a system tree, which may be a circle

// Puts what was read in order; see trace.h.
class Resolver {
 public:
  // Moves the large parts out of `raw`.
  Resolver(RawDefinitions& raw, TraceDefinitions& out) : raw_(raw), out_(out) {}

  void run() {
    regions();
    contexts();
    locations();
    groups();
    ranks();
    order();
    comms();
    for (const auto& [ref, group] : raw_.groups)  // also those that only RMA events name
      if (group.paradigm == OTF2_PARADIGM_MPI && group.type == OTF2_GROUP_TYPE_COMM_GROUP)
        out_.group_table.add(ref, group_of(ref));
    for (const auto& [ref, from] : raw_.windows) {
      out_.window_table.add(ref, static_cast<std::uint32_t>(out_.windows.size()));
      out_.windows.push_back({out_.text(from.name), 0, out_.comm_table.of(from.comm)});
    }
    for (const auto& [ref, from] : raw_.parameters) {
      out_.parameter_table.add(ref, static_cast<std::uint32_t>(out_.parameters.size()));
      out_.parameters.push_back({out_.text(from.name), from.type});
    }
    for (const auto& [ref, from] : raw_.attributes)
      out_.attributes[ref] = {out_.text(from.name), from.type};
    for (const auto& [ref, place] : raw_.places)
      out_.places[ref] = place.second == 0
                             ? out_.text(place.first)
                             : fmt::format("{}:{}", out_.text(place.first), place.second);
    files();
    metrics();
  }

 private:
  // A handle without a file may be one that a higher level has opened with another.
  void files() {
    for (const auto& [ref, handle] : raw_.io_handles) {
      auto at = raw_.io_handles.find(ref);
      for (std::uint32_t step = 0;
           step < kMaxSteps && !raw_.io_files.contains(at->second.file); ++step) {
        const auto parent = raw_.io_handles.find(at->second.parent);
        if (parent == raw_.io_handles.end()) break;
        at = parent;
      }
      const auto file = raw_.io_files.find(at->second.file);
      out_.io_files[ref] =
          out_.text(file != raw_.io_files.end() ? file->second : handle.name);
    }
  }

  void regions() {
    for (const auto& [ref, from] : raw_.regions) {
      out_.region_table.add(ref, static_cast<std::uint32_t>(out_.regions.size()));
      RegionInfo& region = out_.regions.emplace_back();
      region.name = out_.text(from.name);
      if (region.name.empty()) region.name = "region " + std::to_string(ref);
      region.file = out_.text(from.file);
      region.line = from.line;
      region.role = from.role;
      region.paradigm = from.paradigm;
      region.flags = from.flags;
    }
    if (!out_.is_refrain()) {  // which flushes nothing
      out_.flush_region = static_cast<std::uint32_t>(out_.regions.size());
      RegionInfo& flush = out_.regions.emplace_back();
      flush.name = "flush of the trace's buffer";
      flush.role = OTF2_REGION_ROLE_ARTIFICIAL;
      flush.paradigm = OTF2_PARADIGM_MEASUREMENT_SYSTEM;
    }
    out_.regions.emplace_back().name = "undefined region";
  }

  void contexts() {
    for (const auto& [ref, from] : raw_.contexts) {
      out_.context_table.add(ref, static_cast<std::uint32_t>(out_.contexts.size()));
      const std::uint32_t region = out_.region_table.of(from.region);
      out_.contexts.push_back(
          {region != kNone ? region : static_cast<std::uint32_t>(out_.regions.size() - 1),
           kNone});
    }
    std::size_t i = 0;
    for (const auto& [ref, from] : raw_.contexts)
      out_.contexts[i++].parent = out_.context_table.of(from.parent);
  }

  std::uint32_t node_of(std::uint32_t tree_node) {
    std::uint32_t best = tree_node;
    std::uint32_t at = tree_node;
    for (std::uint32_t step = 0; step < kMaxSteps && raw_.nodes.contains(at); ++step) {
      if (raw_.shared_memory.contains(at)) {
        best = at;
        break;
      }
      at = raw_.nodes.at(at).parent;
    }
    const auto [found, is_new] =
        nodes_.try_emplace(best, static_cast<std::uint32_t>(out_.nodes.size()));
    if (is_new) {
      const auto node = raw_.nodes.find(best);
      out_.nodes.push_back(node == raw_.nodes.end() ? "node"
                                                    : out_.text(node->second.name));
    }
    return found->second;
  }

  // Locations of an accelerator are threads of the process that uses it.
  std::uint32_t process_of_group(std::uint32_t group) {
    const auto from = raw_.location_groups.find(group);
    if (from != raw_.location_groups.end() &&
        from->second.type != OTF2_LOCATION_GROUP_TYPE_PROCESS &&
        raw_.location_groups.contains(from->second.creator) &&
        raw_.location_groups.at(from->second.creator).type ==
            OTF2_LOCATION_GROUP_TYPE_PROCESS)
      group = from->second.creator;
    const auto [found, is_new] =
        processes_.try_emplace(group, static_cast<std::uint32_t>(out_.processes.size()));
    if (is_new) {
      ProcessInfo& process = out_.processes.emplace_back();
      process.ref = group;
      const auto known = raw_.location_groups.find(group);
      const bool defined = known != raw_.location_groups.end();
      process.name = defined ? out_.text(known->second.name) : std::string();
      if (process.name.empty()) process.name = "process " + std::to_string(group);
      process.node =
          node_of(defined ? known->second.node : OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    }
    return found->second;
  }

  void locations() {
    out_.location_groups = raw_.location_groups.size();
    for (const auto& [group, from] : raw_.location_groups)  // in the order of references
      if (from.type == OTF2_LOCATION_GROUP_TYPE_PROCESS && raw_.used_groups.contains(group))
        process_of_group(group);
    // Process by process: references may count threads first.
    std::vector<std::pair<std::uint32_t, std::uint64_t>> order;
    order.reserve(raw_.locations.size());
    for (const auto& [ref, from] : raw_.locations) order.emplace_back(from.group, ref);
    std::sort(order.begin(), order.end());
    for (const auto& [group, ref] : order) {
      const RawDefinitions::Location& from = raw_.locations.at(ref);
      const auto index = static_cast<std::uint32_t>(out_.locations.size());
      LocationInfo& location = out_.locations.emplace_back();
      location.ref = ref;
      location.name = out_.text(from.name);
      if (location.name.empty()) location.name = "location " + std::to_string(ref);
      location.type = from.type;
      location.events = from.events;
      location.process = ProcessId(process_of_group(from.group));
      const auto properties = raw_.location_properties.find(ref);
      if (properties != raw_.location_properties.end())
        location.properties = std::move(properties->second);
      for (const ExtraValue& each : location.properties) {
        if (each.bits == 0) continue;
        location.helper = location.helper || out_.text(each.ref) == "REFRAIN::HELPER";
        location.temporary =
            location.temporary || out_.text(each.ref) == "REFRAIN::TEMPORARY";
      }
      index_of_[ref] = index;
    }
  }

  // MPI's own order of processes: those at rank 0, 1, ... of all.
  void groups() {
    for (const auto& [ref, group] : raw_.groups) {
      if (group.type != OTF2_GROUP_TYPE_COMM_LOCATIONS ||
          group.paradigm != OTF2_PARADIGM_MPI)
        continue;
      for (const std::uint64_t member : group.members) {
        const auto found = index_of_.find(member);
        world_.push_back(found == index_of_.end() ? kNone
                                                  : out_.locations[found->second].process);
      }
      break;
    }
  }

  void ranks() {
    for (std::uint32_t rank = 0; rank < world_.size(); ++rank)
      if (world_[rank] != kNone && out_.processes[world_[rank]].rank == kNone)
        out_.processes[world_[rank]].rank = rank;
  }

  // By rank, those without one last; then numbers the threads.
  void order() {
    std::vector<std::uint32_t> order(out_.processes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return out_.processes[a].rank < out_.processes[b].rank;
    });
    std::vector<std::uint32_t> place(order.size());
    std::vector<ProcessInfo> sorted;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted.push_back(std::move(out_.processes[order[i]]));
    }
    out_.processes = std::move(sorted);
    for (std::uint32_t& process : world_)
      if (process != kNone) process = place[process];
    for (std::uint32_t i = 0; i < out_.locations.size(); ++i) {
      LocationInfo& location = out_.locations[i];
      location.process = ProcessId(place[location.process]);
      auto& threads = out_.processes[location.process].locations;
      location.thread = static_cast<std::uint32_t>(threads.size());
      threads.emplace_back(i);
    }
  }

  std::uint32_t group_of(std::uint32_t ref) {
    const auto found = raw_.groups.find(ref);
    if (found == raw_.groups.end()) return kNone;
    const auto [at, is_new] =
        groups_.try_emplace(ref, static_cast<std::uint32_t>(out_.groups.size()));
    if (!is_new) return at->second;
    std::vector<ProcessId>& members = out_.groups.emplace_back();
    for (const std::uint64_t rank : found->second.members)
      members.emplace_back(rank < world_.size() ? world_[rank] : kNone);
    return at->second;
  }

  std::vector<GridDimension> grid_of(std::uint32_t comm, std::size_t members) const {
    const auto topology = raw_.cart_topologies.find(comm);
    if (topology == raw_.cart_topologies.end()) return {};
    std::vector<GridDimension> grid;
    std::uint64_t places = 1;
    for (const OTF2_CartDimensionRef dimension : topology->second) {
      const auto known = raw_.cart_dimensions.find(dimension);
      if (known == raw_.cart_dimensions.end() || known->second.first == 0) return {};
      places *= known->second.first;
      if (places > members) return {};
      grid.push_back({known->second.first, known->second.second});
    }
    return places == members ? grid : std::vector<GridDimension>();
  }

  void comms() {
    for (const auto& [ref, from] : raw_.comms) {
      out_.comm_table.add(ref, static_cast<std::uint32_t>(out_.comms.size()));
      CommInfo comm;
      comm.name = out_.text(from.name);
      if (comm.name.empty()) comm.name = "communicator " + std::to_string(ref);
      const auto group = raw_.groups.find(from.group);
      if (group != raw_.groups.end() && group->second.paradigm == OTF2_PARADIGM_MPI) {
        comm.of_processes = true;
        comm.self = group->second.type == OTF2_GROUP_TYPE_COMM_SELF;
        if (!comm.self) comm.group = group_of(from.group);
        if (from.remote != OTF2_UNDEFINED_GROUP) comm.remote = group_of(from.remote);
        if (comm.group != kNone && comm.remote == kNone)
          comm.grid = grid_of(ref, out_.groups[comm.group].size());
      }
      out_.comms.push_back(std::move(comm));
    }
  }

  void metrics() {
    std::unordered_map<std::uint32_t, std::uint32_t> index;
    for (const auto& [ref, member] : raw_.metric_members) {
      index[ref] = static_cast<std::uint32_t>(out_.metrics.size());
      out_.metrics.push_back(
          {out_.text(member.name), out_.text(member.unit), member.type, member.mode});
    }
    for (const auto& [ref, members] : raw_.metric_classes) {
      auto& out = out_.metric_classes[ref];
      for (const std::uint32_t member : members) {
        const auto found = index.find(member);
        out.push_back(found == index.end() ? kNone : found->second);
      }
    }
    for (const auto& [ref, of_class] : raw_.metric_instances) {
      const auto found = out_.metric_classes.find(of_class);
      if (found != out_.metric_classes.end()) {
        const std::vector<std::uint32_t> members = found->second;
        out_.metric_classes[ref] = members;
      }
    }
  }

  RawDefinitions& raw_;
  TraceDefinitions& out_;
  std::unordered_map<std::uint32_t, std::uint32_t> nodes_, processes_, groups_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_of_;
  std::vector<std::uint32_t> world_;  // processes by MPI's rank
};

}  // namespace

void RefTable::add(std::uint64_t ref, std::uint32_t index) {
  if (ref >= kDenseRefs) {
    sparse_[ref] = index;
    return;
  }
  if (ref >= dense_.size()) dense_.resize(ref + 1, kNone);
  dense_[ref] = index;
}

std::uint32_t RefTable::slow(std::uint64_t ref) const noexcept {
  const auto found = sparse_.find(ref);
  return found == sparse_.end() ? kNone : found->second;
}

std::string mpi_procedure(std::string_view name) {
  constexpr std::size_t kPrefix = 4;
  const std::string_view all = name;
  if (name.starts_with("PMPI_") || name.starts_with("pmpi_")) name.remove_prefix(1);
  if (!name.starts_with("MPI_") && !name.starts_with("mpi_")) return std::string(all);
  name = name.substr(0, name.find_first_of("( ["));
  while (name.size() > kPrefix && name.ends_with('_')) name.remove_suffix(1);
  return "MPI_" + std::string(name.substr(kPrefix));
}

std::string openmp_runtime(const std::map<std::string, std::string>& properties) {
  const auto found = properties.find("REFRAIN::RUNTIME");
  if (found == properties.end()) return {};
  return found->second.starts_with("LLVM") ? "LLVM's libomp" : found->second;
}

std::string openmp_note(const std::map<std::string, std::string>& properties) {
  const std::string runtime = openmp_runtime(properties);
  if (properties.contains("REFRAIN::RUNTIME_FOR"))
    return runtime +
           " in place of libgomp; the program may be faster or slower than with it "
           "(--libomp none keeps libgomp)";
  return runtime == "libgomp"
             ? "libgomp, which has no tools interface: its regions are not recorded"
             : "";
}

std::string unrecorded_note(const std::map<std::string, std::string>& properties) {
  const auto found = properties.find("REFRAIN::THREADS_UNRECORDED");
  if (found == properties.end()) return {};
  return found->second + (found->second == "1" ? " thread was" : " threads were") +
         " not recorded at all, for want of memory or disk space: what the run did there is not counted";
}

base::Result<> TraceDefinitions::need_threads() const {
  std::uint64_t events = 0;
  for (const LocationInfo& location : locations) {
    if (location.is_thread()) return {};
    events += location.events;
  }
  if (locations.empty()) return base::Failure{archive + ": there are no threads in it"};
  return base::Failure{fmt::format(
      "{}: there are no threads in it; its {} events are those of {} locations of devices or of metrics, "
      "which 'refrain convert' reads",
      archive, events, locations.size())};
}

bool TraceDefinitions::summary_only() const {
  const auto found = properties.find("REFRAIN::SETTING::SUMMARY_ONLY");
  return found != properties.end() && found->second == "yes";
}

std::uint64_t TraceDefinitions::ns(std::uint64_t ticks) const noexcept {
  return ticks <= base_ticks ? 0 : duration_ns(ticks - base_ticks);
}

std::uint64_t TraceDefinitions::duration_ns(std::uint64_t passed) const noexcept {
  if (ticks_per_second == 1'000'000'000) return passed;
  constexpr std::uint64_t kNs = 1'000'000'000;
  if (passed < (std::uint64_t{1} << 34))
    return (passed * kNs + ticks_per_second / 2) / ticks_per_second;
  __extension__ using Wide = unsigned __int128;
  const Wide ns = (Wide{passed} * kNs + ticks_per_second / 2) / ticks_per_second;
  constexpr std::uint64_t kMax = std::uint64_t{1} << 62;
  return ns > kMax ? kMax : static_cast<std::uint64_t>(ns);
}

const std::string& TraceDefinitions::text(std::uint32_t ref) const noexcept {
  static const std::string kEmpty;
  const auto found = strings.find(ref);
  return found == strings.end() ? kEmpty : found->second;
}

ProcessId TraceDefinitions::process_of(std::uint32_t comm, std::uint32_t rank,
                                       ProcessId self) const noexcept {
  if (comm >= comms.size()) return ProcessId(kNone);
  const CommInfo& info = comms[comm];
  if (info.self) return rank == 0 ? self : ProcessId(kNone);
  if (info.group == kNone) return ProcessId(kNone);
  const auto* members = &groups[info.group];
  if (info.remote != kNone &&
      std::find(members->begin(), members->end(), self) != members->end())
    members = &groups[info.remote];
  return rank < members->size() ? (*members)[rank] : ProcessId(kNone);
}

std::string TraceDefinitions::value_text(std::uint8_t type, std::uint64_t bits) const {
  switch (type) {
    case OTF2_TYPE_INT8:
    case OTF2_TYPE_INT16:
    case OTF2_TYPE_INT32:
    case OTF2_TYPE_INT64:
      return std::to_string(static_cast<std::int64_t>(bits));
    case OTF2_TYPE_FLOAT:
      return fmt::format("{}", std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case OTF2_TYPE_DOUBLE:
      return fmt::format("{}", std::bit_cast<double>(bits));
    case OTF2_TYPE_STRING:
      return text(static_cast<std::uint32_t>(bits));
    case OTF2_TYPE_SOURCE_CODE_LOCATION: {
      const auto place = places.find(static_cast<std::uint32_t>(bits));
      return place != places.end() ? place->second : std::to_string(bits);
    }
    case OTF2_TYPE_REGION: {
      const RegionId region = RegionId(region_table.of(bits));
      return region != kNone ? regions[region].name : std::to_string(bits);
    }
    default:
      return std::to_string(bits);
  }
}

DefinitionsRead read_trace_definitions(OTF2_Reader* reader, DefinitionChoice which,
                                       std::uint64_t most, TraceDefinitions& definitions) {
  RawDefinitions raw;
  DefinitionsRead out;
  out.code =
      read_raw_definitions(reader, which == DefinitionChoice::kAll, most, raw, out.count);
  out.clock = raw.ticks_per_second != 0;
  if (raw.ticks_per_second != 0) definitions.ticks_per_second = raw.ticks_per_second;
  definitions.base_ticks = raw.offset_ticks;
  definitions.end_ticks = raw.offset_ticks + raw.length_ticks;
  if (definitions.end_ticks < raw.offset_ticks) definitions.end_ticks = raw.offset_ticks;
  if (raw.realtime_ns != OTF2_UNDEFINED_TIMESTAMP)
    definitions.realtime_ns = raw.realtime_ns;
  definitions.strings = std::move(raw.strings);
  Resolver(raw, definitions).run();
  return out;
}

bool TraceDefinitions::adjoins(std::uint64_t end_ns,
                               std::uint64_t begin_ns) const noexcept {
  constexpr std::uint64_t kMaxTicks = 3;
  const std::uint64_t most_ns = 1 + kMaxTicks * 1'000'000'000 / ticks_per_second;
  return end_ns <= begin_ns && begin_ns - end_ns <= (is_refrain() ? most_ns : 0);
}

void mark_loops(TraceDefinitions& definitions) {
  if (!definitions.is_refrain()) return;
  for (RegionInfo& region : definitions.regions)
    region.is_loop = (region.flags & OTF2_REGION_FLAG_PHASE) != 0;
}

namespace {

struct MarkerState {
  TraceDefinitions& definitions;
  std::unordered_map<std::uint64_t, std::uint32_t> locations;
  std::unordered_map<OTF2_MarkerRef, std::string> categories;
};

OTF2_CallbackCode on_kind(void* data, OTF2_MarkerRef self, const char*,
                          const char* category, OTF2_MarkerSeverity) {
  try {
    static_cast<MarkerState*>(data)->categories[self] = category != nullptr ? category : "";
    return OTF2_CALLBACK_SUCCESS;
  } catch (...) {
    return OTF2_CALLBACK_ERROR;
  }
}

OTF2_CallbackCode on_marker(void* data, OTF2_TimeStamp time, OTF2_TimeStamp duration,
                            OTF2_MarkerRef kind, OTF2_MarkerScope scope,
                            std::uint64_t reference, const char* text) {
  try {
    auto& state = *static_cast<MarkerState*>(data);
    const TraceDefinitions& definitions = state.definitions;
    MarkerInfo marker;
    marker.ns = definitions.ns(time);
    marker.duration_ns = definitions.ns(time + duration) - marker.ns;
    if (time + duration < time) marker.duration_ns = 0;
    marker.category = state.categories[kind];
    marker.text = base::clean_text(text != nullptr ? text : "");
    const auto location = state.locations.find(reference);
    if (scope == OTF2_MARKER_SCOPE_LOCATION && location != state.locations.end())
      marker.location = LocationId(location->second);
    state.definitions.markers.push_back(std::move(marker));
    return OTF2_CALLBACK_SUCCESS;
  } catch (...) {
    return OTF2_CALLBACK_ERROR;
  }
}

}  // namespace

void read_markers(OTF2_Reader* reader, TraceDefinitions& definitions) {
  OTF2_MarkerReader* markers = OTF2_Reader_GetMarkerReader(reader);
  if (markers == nullptr) return;
  MarkerState state{definitions, {}, {}};
  for (std::uint32_t i = 0; i < definitions.locations.size(); ++i)
    state.locations[definitions.locations[i].ref] = i;
  OTF2_MarkerReaderCallbacks* callbacks = OTF2_MarkerReaderCallbacks_New();
  if (callbacks != nullptr) {
    OTF2_MarkerReaderCallbacks_SetDefMarkerCallback(callbacks, on_kind);
    OTF2_MarkerReaderCallbacks_SetMarkerCallback(callbacks, on_marker);
    std::uint64_t count = 0;
    if (OTF2_Reader_RegisterMarkerCallbacks(reader, markers, callbacks, &state) ==
        OTF2_SUCCESS)
      OTF2_Reader_ReadAllMarkers(reader, markers, &count);
    OTF2_MarkerReaderCallbacks_Delete(callbacks);
  }
  OTF2_Reader_CloseMarkerReader(reader, markers);
  std::stable_sort(definitions.markers.begin(), definitions.markers.end(),
                   [](const MarkerInfo& a, const MarkerInfo& b) { return a.ns < b.ns; });
}

}  // namespace refrain::reader
