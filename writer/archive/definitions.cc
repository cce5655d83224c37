#include "writer/archive/definitions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "addresses/short_name.h"
#include "regions/region_table.h"
#include "writer/interpret/event_sink.h"

namespace refrain::writer {
namespace {

// Calls after the first failure do nothing; the first code is kept.
class Checked {
 public:
  void operator()(OTF2_ErrorCode code) {
    if (first_ == OTF2_SUCCESS) first_ = code;
  }
  OTF2_ErrorCode first() const { return first_; }

 private:
  OTF2_ErrorCode first_ = OTF2_SUCCESS;
};

std::string program_name(const ProcessFacts& process) {
  const std::string name = addresses::base_name(process.program);
  return name.empty() ? "program" : name;
}

std::string host_name(const ProcessFacts& process) {
  return process.host.empty() ? "node" : process.host;
}

class DefinitionWriter {
 public:
  DefinitionWriter(OTF2_GlobalDefWriter* writer, const DefinitionInput& input)
      : writer_(writer), in_(input) {}

  OTF2_ErrorCode write() {
    clock();
    attributes();
    system_tree();
    for (std::size_t i = 0; i < processes().size(); ++i) process(i);
    for (std::size_t i = 0; i < processes().size(); ++i) streams(i);
    regions();
    metrics();
    teams();
    contingents();
    // Calls may have been recorded before a killed process knew its rank.
    if (in_.comms != nullptr || !in_.regions->places().empty()) mpi_paradigm();
    if (in_.comms != nullptr) mpi();
    files();
    location_properties();
    flush_strings();
    return check_.first();
  }

 private:
  const std::vector<ProcessFacts>& processes() const { return in_.job->processes; }

  // Strings must come before what refers to them; each is written when first used.
  OTF2_StringRef text(const std::string& value) {
    const OTF2_StringRef ref = in_.strings->intern(value);
    flush_strings();
    return ref;
  }

  void flush_strings() {
    const auto& strings = in_.strings->strings();
    for (; written_ < strings.size(); ++written_)
      check_(OTF2_GlobalDefWriter_WriteString(
          writer_, static_cast<OTF2_StringRef>(written_), strings[written_]->c_str()));
  }

  void clock() {
    std::uint64_t start = kNever;
    std::uint64_t end = 0;
    std::uint64_t realtime = OTF2_UNDEFINED_TIMESTAMP;
    double rate = 1e9;
    for (const ProcessFacts& process : processes()) {
      if (process.blank) continue;
      // Rank 0's ticks are those of the archive.
      if (start == kNever) rate = process.ticks_per_second;
      if (process.global_start < start) {
        start = process.global_start;
        realtime = process.realtime_ns;
      }
      end = std::max(end, process.global_end);
    }
    if (start == kNever) start = 0;
    const auto resolution = static_cast<std::uint64_t>(std::llround(std::max(1.0, rate)));
    check_(OTF2_GlobalDefWriter_WriteClockProperties(
        writer_, resolution, start, end > start ? end - start : 0, realtime));
  }

  void attributes() {
    check_(OTF2_GlobalDefWriter_WriteParadigm(writer_, OTF2_PARADIGM_OPENMP, text("OpenMP"),
                                              OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN));
    check_(OTF2_GlobalDefWriter_WriteParameter(
        writer_, kIterationParameter, text("iteration"), OTF2_PARAMETER_TYPE_INT64));
    // Readers expect consecutive references.
    if (in_.comms != nullptr || !in_.regions->parameters().empty() || moves_data()) {
      check_(OTF2_GlobalDefWriter_WriteParameter(
          writer_, kBytesParameter, text("bytes moved"), OTF2_PARAMETER_TYPE_UINT64));
      check_(OTF2_GlobalDefWriter_WriteParameter(writer_, kPollsParameter, text("polls"),
                                                 OTF2_PARAMETER_TYPE_UINT64));
    }
    OTF2_ParameterRef parameter = kFirstUserParameter;
    for (const regions::ParameterDef& each : in_.regions->parameters())
      check_(OTF2_GlobalDefWriter_WriteParameter(
          writer_, parameter++, text(each.name),
          each.text ? OTF2_PARAMETER_TYPE_STRING : OTF2_PARAMETER_TYPE_INT64));
    check_(OTF2_GlobalDefWriter_WriteAttribute(
        writer_, kWrittenAttribute, text("written"),
        text("events of the iteration in the archive: 1 all, 2 some; absent: none"),
        OTF2_TYPE_UINT8));
    check_(OTF2_GlobalDefWriter_WriteAttribute(
        writer_, kCompleteAttribute, text("complete"),
        text("0: the loop was left or the process ended before the iteration's end"),
        OTF2_TYPE_UINT8));
    check_(OTF2_GlobalDefWriter_WriteAttribute(
        writer_, kEdgeAttribute, text("edge"),
        text("1: inside a gap, where a region that lies partly in the gap starts or ends"),
        OTF2_TYPE_UINT8));
  }

  bool moves_data() const {
    return std::any_of(processes().begin(), processes().end(),
                       [](const ProcessFacts& each) { return !each.streams.empty(); });
  }

  void system_tree() {
    check_(OTF2_GlobalDefWriter_WriteSystemTreeNode(
        writer_, 0, text("machine"), text("machine"), OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (const ProcessFacts& process : processes()) {
      const std::string host = host_name(process);
      const auto next = static_cast<OTF2_SystemTreeNodeRef>(nodes_.size() + 1);
      if (!nodes_.try_emplace(host, next).second) continue;
      check_(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer_, next, text(host),
                                                      text("node"), 0));
      check_(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(
          writer_, next, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
    }
  }

  std::string process_name(const ProcessFacts& process) const {
    return process.rank != kNever ? "MPI Rank " + std::to_string(process.rank)
                                  : program_name(process);
  }

  static std::string thread_name(const ProcessFacts& process, std::size_t index) {
    if (index == process.primary) return "Master thread";
    const LocationFacts& facts = process.locations[index];
    return (facts.plain != 0    ? "Thread "
            : facts.helper != 0 ? "OpenMP helper thread "
                                : "OpenMP thread ") +
           std::to_string(index) + (facts.function.empty() ? "" : ": " + facts.function) +
           (facts.name.empty() ? "" : " (" + facts.name + ")");
  }

  void process(std::size_t index) {
    const ProcessFacts& process = processes()[index];
    const auto group = static_cast<OTF2_LocationGroupRef>(index);
    check_(OTF2_GlobalDefWriter_WriteLocationGroup(
        writer_, group, text(process_name(process)), OTF2_LOCATION_GROUP_TYPE_PROCESS,
        nodes_[host_name(process)], OTF2_UNDEFINED_LOCATION_GROUP));
    const std::uint64_t first = locations_.size();
    for (std::size_t i = 0; i < process.locations.size(); ++i) {
      const std::string name = thread_name(process, i);
      locations_.push_back(location_reference(first, i));
      check_(OTF2_GlobalDefWriter_WriteLocation(
          writer_, locations_.back(), text(name), OTF2_LOCATION_TYPE_CPU_THREAD,
          process.locations[i].archive_events, group));
    }
  }

  // Devices come after all processes, in the order of their process.
  void streams(std::size_t index) {
    const ProcessFacts& process = processes()[index];
    for (const StreamFacts& stream : process.streams) {
      if (stream.number == 0) {
        const std::string name = "Device " + std::to_string(stream.device);
        check_(OTF2_GlobalDefWriter_WriteLocationGroup(
            writer_, static_cast<OTF2_LocationGroupRef>(processes().size() + devices_++),
            text(name), OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, nodes_[host_name(process)],
            static_cast<OTF2_LocationGroupRef>(index)));
      }
      check_(OTF2_GlobalDefWriter_WriteLocation(
          writer_, stream_reference(locations_.size(), streams_++, stream.number),
          text("Device " + std::to_string(stream.device) + ", from " +
               thread_name(process, stream.thread)),
          OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, stream.events,
          static_cast<OTF2_LocationGroupRef>(processes().size() + devices_ - 1)));
    }
  }

  void regions() {
    std::uint32_t ref = 0;
    for (const regions::RegionDef& region : in_.regions->regions()) {
      const bool loop = region.cls == regions::RegionClass::kNone;
      // One bit: python3-otf2 has no name for two.
      const OTF2_RegionFlag flags = loop ? OTF2_REGION_FLAG_PHASE : OTF2_REGION_FLAG_NONE;
      check_(OTF2_GlobalDefWriter_WriteRegion(
          writer_, ref++, text(region.name), text(region.canonical),
          text(region.description), regions::role_of(region),
          regions::paradigm_of(region.cls), flags, text(region.file), region.line, 0));
    }
  }

  // Values accumulate from the start of a location; they come before enters and leaves.
  void metrics() {
    OTF2_MetricMemberRef member = 0;
    for (std::size_t i = 0; i < in_.metrics->size(); ++i) {
      std::vector<OTF2_MetricMemberRef> members;
      for (const spool::Metric& metric : (*in_.metrics)[i]) {
        const bool papi = metric.name.find('_') == std::string::npos ||
                          metric.name.rfind("PAPI_", 0) == 0 ||
                          metric.name.find(':') != std::string::npos;
        check_(OTF2_GlobalDefWriter_WriteMetricMember(
            writer_, member, text(metric.name), text(""),
            papi ? OTF2_METRIC_TYPE_PAPI : OTF2_METRIC_TYPE_RUSAGE,
            OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL,
            metric.unit == "ns" ? -9 : 0, text(metric.unit == "ns" ? "s" : metric.unit)));
        members.push_back(member++);
      }
      check_(OTF2_GlobalDefWriter_WriteMetricClass(
          writer_, static_cast<OTF2_MetricRef>(i),
          static_cast<std::uint8_t>(members.size()), members.data(),
          OTF2_METRIC_SYNCHRONOUS_STRICT, OTF2_RECORDER_KIND_CPU));
    }
  }

  // All locations are members of the paradigm; a team is a group of their ranks in it.
  void teams() {
    std::vector<std::uint64_t> members = locations_;
    check_(OTF2_GlobalDefWriter_WriteGroup(
        writer_, 0, text("OpenMP locations"), OTF2_GROUP_TYPE_COMM_LOCATIONS,
        OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE,
        static_cast<std::uint32_t>(members.size()), members.data()));
    OTF2_GroupRef group = 1;
    std::uint64_t first = 0;
    for (const ProcessFacts& process : processes()) {
      for (const auto& team : process.teams) {
        members = team;
        for (std::uint64_t& member : members) member += first;
        const OTF2_StringRef name = text("OpenMP team " + std::to_string(group));
        check_(OTF2_GlobalDefWriter_WriteGroup(
            writer_, group, name, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_OPENMP,
            OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(members.size()),
            members.data()));
        check_(OTF2_GlobalDefWriter_WriteComm(writer_, group - 1, name, group,
                                              OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
        ++group;
      }
      first += process.locations.size();
    }
  }

  void mpi_paradigm() {
    check_(write_mpi_paradigm(writer_, in_.regions->places(),
                              [this](const std::string& value) { return text(value); }));
  }

  void mpi() {
    MpiDefinitionInput input;
    input.comms = in_.comms;
    input.text = [this](const std::string& value) { return text(value); };
    std::uint64_t teams = 0;
    std::uint64_t first = 0;
    for (const ProcessFacts& process : processes()) {
      teams += process.teams.size();
      if (process.rank != kNever)
        input.locations.push_back(location_reference(first, process.primary));
      first += process.locations.size();
    }
    for (const ProcessFacts& process : processes())
      if (!process.contingent.empty()) ++teams;
    input.first_comm = static_cast<OTF2_CommRef>(teams);
    input.first_group = next_group_;
    check_(write_mpi_definitions(writer_, input));
  }

  // Threads that the program begins, by process: numbered after the teams of OpenMP. Before them the group that they are ranks of.
  void contingents() {
    std::vector<std::uint64_t> all;
    std::vector<std::vector<std::uint64_t>> ranks;  // by contingent
    std::uint64_t first = 0, teams = 0;
    for (const ProcessFacts& process : processes()) {
      if (!process.contingent.empty()) ranks.emplace_back();
      for (const std::uint64_t location : process.contingent) {
        ranks.back().push_back(all.size());
        all.push_back(locations_[first + location]);
      }
      first += process.locations.size();
      teams += process.teams.size();
    }
    next_group_ = first_mpi_group(teams, ranks.size());
    if (ranks.empty()) return;
    check_(OTF2_GlobalDefWriter_WriteParadigm(writer_, OTF2_PARADIGM_PTHREAD,
                                              text("POSIX threads"),
                                              OTF2_PARADIGM_CLASS_THREAD_CREATE_WAIT));
    check_(OTF2_GlobalDefWriter_WriteGroup(
        writer_, static_cast<OTF2_GroupRef>(teams + 1), text("POSIX threads locations"),
        OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_PTHREAD, OTF2_GROUP_FLAG_NONE,
        static_cast<std::uint32_t>(all.size()), all.data()));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto comm = static_cast<OTF2_CommRef>(teams + i);
      const OTF2_StringRef name = text("threads of process " + std::to_string(i));
      check_(OTF2_GlobalDefWriter_WriteGroup(
          writer_, comm + 2, name, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_PTHREAD,
          OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(ranks[i].size()),
          ranks[i].data()));
      check_(OTF2_GlobalDefWriter_WriteComm(writer_, comm, name, comm + 2,
                                            OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    }
  }

  // As Score-P has them. Which files of different nodes are one is not known: equal paths are.
  void files() {
    if (std::ranges::all_of(processes(), [](const ProcessFacts& process) {
          return process.handles.empty();
        }))
      return;
    constexpr OTF2_IoParadigmRef kPosix = 0, kStreams = 1;
    const auto paradigm = [this](OTF2_IoParadigmRef ref, const char* id, const char* name,
                                 OTF2_IoParadigmFlag flags) {
      check_(OTF2_GlobalDefWriter_WriteIoParadigm(writer_, ref, text(id), text(name),
                                                  OTF2_IO_PARADIGM_CLASS_SERIAL, flags, 0,
                                                  nullptr, nullptr, nullptr));
    };
    paradigm(kPosix, "POSIX", "POSIX I/O", OTF2_IO_PARADIGM_FLAG_OS);
    paradigm(kStreams, "ISOC", "ISO C I/O", OTF2_IO_PARADIGM_FLAG_NONE);
    std::unordered_map<std::string, OTF2_IoFileRef> files;
    OTF2_IoHandleRef ref = 0;
    for (const ProcessFacts& process : processes())
      for (const HandleFacts& handle : process.handles) {
        OTF2_IoFileRef file = OTF2_UNDEFINED_IO_FILE;
        if (!handle.path.empty()) {
          const auto [at, is_new] =
              files.try_emplace(handle.path, static_cast<OTF2_IoFileRef>(files.size()));
          file = at->second;
          if (is_new)
            check_(OTF2_GlobalDefWriter_WriteIoRegularFile(writer_, file, text(handle.path),
                                                           0));
        }
        check_(OTF2_GlobalDefWriter_WriteIoHandle(
            writer_, ref, text("descriptor " + std::to_string(handle.descriptor)), file,
            handle.stream != 0 ? kStreams : kPosix,
            handle.pre_created != 0 ? OTF2_IO_HANDLE_FLAG_PRE_CREATED
                                    : OTF2_IO_HANDLE_FLAG_NONE,
            OTF2_UNDEFINED_COMM, OTF2_UNDEFINED_IO_HANDLE));
        // How it was opened is not known.
        if (handle.pre_created != 0)
          check_(OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState(
              writer_, ref, OTF2_IO_ACCESS_MODE_READ_WRITE, OTF2_IO_STATUS_FLAG_NONE));
        ++ref;
      }
  }

  void property(OTF2_LocationRef location, const std::string& name, std::uint64_t value) {
    OTF2_AttributeValue content;
    content.uint64 = value;
    check_(OTF2_GlobalDefWriter_WriteLocationProperty(
        writer_, location, text("REFRAIN::" + name), OTF2_TYPE_UINT64, content));
  }

  void mpi_properties(OTF2_LocationRef location, const MpiCounts& counts) {
    property(location, "SENDS", counts.sends);
    property(location, "SENDS_DROPPED", counts.sends_dropped);
    property(location, "RECEIVES", counts.receives);
    property(location, "RECEIVES_DROPPED", counts.receives_dropped);
    property(location, "BYTES_SENT", counts.bytes_sent);
    property(location, "BYTES_RECEIVED", counts.bytes_received);
  }

  // Start and end of OpenMP's threads are properties: as OTF2 events they would belong to a
  // create/wait paradigm, whose readers look for the ThreadCreate that OpenMP does not
  // have; as a region they would be at the bottom of every call path of a worker.
  void location_properties() {
    auto next = locations_.begin();
    for (const ProcessFacts& process : processes()) {
      for (std::size_t i = 0; i < process.locations.size(); ++i) {
        const OTF2_LocationRef location = *next++;
        const LocationFacts& facts = process.locations[i];
        if (i == process.primary) property(location, "PRIMARY", 1);
        if (facts.helper != 0) property(location, "HELPER", 1);
        if (!facts.function.empty()) property(location, "TEMPORARY", 1);
        property(location, "EVENTS_SEEN", facts.events_seen);
        property(location, "EVENTS_WRITTEN", facts.events_written);
        property(location, "THREADS_BEGUN", facts.threads_begun);
        property(location, "THREADS_ENDED", facts.threads_ended);
        if (facts.threads_begun != 0) {
          property(location, "THREAD_BEGIN_TICKS", facts.thread_begin_ticks);
          property(location, "KERNEL_THREAD", facts.kernel_thread);
        }
        if (facts.threads_ended != 0)
          property(location, "THREAD_END_TICKS", facts.thread_end_ticks);
        if (process.uses_mpi) mpi_properties(location, facts.mpi);
        for (std::size_t cause = 0; cause < spool::kLossCauses; ++cause)
          if (facts.lost[cause] != 0)
            property(location, std::string("LOST::") + spool::kLossNames[cause],
                     facts.lost[cause]);
      }
    }
  }

  OTF2_GlobalDefWriter* writer_;
  const DefinitionInput& in_;
  Checked check_;
  std::size_t written_ = 0;
  std::vector<OTF2_LocationRef> locations_;  // process by process
  std::size_t devices_ = 0;
  std::uint64_t streams_ = 0;
  OTF2_GroupRef next_group_ = 0;  // of MPI's
  std::unordered_map<std::string, OTF2_SystemTreeNodeRef> nodes_;
};

}  // namespace

OTF2_StringRef StringTable::intern(const std::string& text) {
  const auto [at, is_new] =
      ids_.try_emplace(text, static_cast<OTF2_StringRef>(order_.size()));
  if (is_new) order_.push_back(&at->first);
  return at->second;
}

OTF2_ErrorCode write_definitions(OTF2_GlobalDefWriter* writer,
                                 const DefinitionInput& input) {
  return DefinitionWriter(writer, input).write();
}

namespace {

constexpr const char* kDefinitionsFailed = "cannot write definitions";

void write_location(Otf2Archive& archive, std::uint64_t ref,
                    const LocalDefinitions& process) {
  OTF2_DefWriter* writer = OTF2_Archive_GetDefWriter(archive.get(), ref);
  if (writer == nullptr) {
    archive.check(OTF2_ERROR_FILE_CAN_NOT_OPEN, kDefinitionsFailed);
    return;
  }
  if (process.offsets != nullptr)
    for (const auto& offset : *process.offsets)
      archive.check(
          OTF2_DefWriter_WriteClockOffset(writer, offset.ticks, offset.offset_ticks,
                                          static_cast<double>(offset.error_ticks)),
          kDefinitionsFailed);
  archive.check(OTF2_Archive_CloseDefWriter(archive.get(), writer), kDefinitionsFailed);
}

}  // namespace

void write_local_definitions(Otf2Archive& archive,
                             const std::vector<LocalDefinitions>& processes) {
  archive.check(OTF2_Archive_OpenDefFiles(archive.get()), kDefinitionsFailed);
  for (const LocalDefinitions& process : processes)
    for (const OTF2_LocationRef location : process.locations)
      if (archive.error().empty()) write_location(archive, location, process);
  if (archive.error().empty())
    archive.check(OTF2_Archive_CloseDefFiles(archive.get()), kDefinitionsFailed);
}

namespace {

class MpiDefinitions {
 public:
  MpiDefinitions(OTF2_GlobalDefWriter* writer, const MpiDefinitionInput& input)
      : writer_(writer), in_(input), next_group_(input.first_group) {}

  OTF2_ErrorCode write() {
    const OTF2_StringRef name = in_.text("MPI locations");
    check(OTF2_GlobalDefWriter_WriteGroup(
        writer_, next_group_++, name, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
        OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(in_.locations.size()),
        in_.locations.data()));
    // First, so that their references follow from the table alone (MpiContext::group_of()).
    for (const GroupEntry& each : in_.comms->groups)
      new_group(OTF2_GROUP_TYPE_COMM_GROUP, each.members);
    const auto& comms = in_.comms->comms;
    written_.resize(comms.size());
    for (std::size_t i = 0; i < comms.size(); ++i) comm(i);
    for (std::size_t i = 0; i < comms.size(); ++i) topology(i);
    for (std::size_t i = 0; i < in_.comms->windows.size(); ++i) window(i);
    return first_;
  }

 private:
  void check(OTF2_ErrorCode code) {
    if (first_ == OTF2_SUCCESS) first_ = code;
  }

  OTF2_CommRef reference(std::size_t index) const {
    return in_.first_comm + static_cast<OTF2_CommRef>(index);
  }

  static std::string name_of(const CommFacts& facts, std::size_t index) {
    if (!facts.name.empty()) return facts.name;
    if (facts.kind == spool::kMpiCommWorld) return "MPI_COMM_WORLD";
    if (facts.kind == spool::kMpiCommSelf) return "MPI_COMM_SELF";
    return "communicator " + std::to_string(index);
  }

  // Equal groups are one.
  OTF2_GroupRef group(OTF2_GroupType type, const RankList& ranks) {
    const auto known = groups_.find({type, ranks});
    return known != groups_.end() ? known->second : new_group(type, ranks);
  }

  OTF2_GroupRef new_group(OTF2_GroupType type, const RankList& ranks) {
    groups_.try_emplace({type, ranks}, next_group_);
    const std::vector<std::uint64_t> members = ranks.expanded<std::uint64_t>();
    const OTF2_StringRef name = in_.text(
        type == OTF2_GROUP_TYPE_COMM_SELF ? "MPI_COMM_SELF"
                                          : "MPI group " + std::to_string(groups_.size()));
    check(OTF2_GlobalDefWriter_WriteGroup(
        writer_, next_group_, name, type, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
        static_cast<std::uint32_t>(members.size()), members.data()));
    return next_group_++;
  }

  OTF2_CommRef parent_of(std::size_t index) const {
    const std::uint32_t parent = in_.comms->comms[index].parent;
    return parent == kNoRank ? OTF2_UNDEFINED_COMM : reference(parent);
  }

  // A communicator made from an intercommunicator (MPI_Intercomm_merge) has no parent:
  // readers look for it among the others.
  OTF2_CommRef intra_parent_of(std::size_t index) const {
    const std::uint32_t parent = in_.comms->comms[index].parent;
    const bool inter = parent != kNoRank && parent < in_.comms->comms.size() &&
                       in_.comms->comms[parent].facts.kind == spool::kMpiCommInter;
    return inter ? OTF2_UNDEFINED_COMM : parent_of(index);
  }

  // What a communicator refers to comes before it: readers look it up at once.
  void comm(std::size_t index) {
    if (written_[index]) return;
    written_[index] = true;
    const std::uint32_t parent = in_.comms->comms[index].parent;
    if (parent != kNoRank && parent < written_.size()) comm(parent);
    const CommFacts& facts = in_.comms->comms[index].facts;
    const OTF2_StringRef name = in_.text(name_of(facts, index));
    if (facts.kind == spool::kMpiCommInter) {
      const OTF2_GroupRef a = group(OTF2_GROUP_TYPE_COMM_GROUP, facts.members);
      const OTF2_GroupRef b = group(OTF2_GROUP_TYPE_COMM_GROUP, facts.remote);
      const OTF2_CommRef common =
          parent_of(index) == OTF2_UNDEFINED_COMM ? reference(0) : parent_of(index);
      check(OTF2_GlobalDefWriter_WriteInterComm(writer_, reference(index), name, a, b,
                                                common, OTF2_COMM_FLAG_NONE));
      return;
    }
    const OTF2_GroupRef members = facts.kind == spool::kMpiCommSelf
                                      ? group(OTF2_GROUP_TYPE_COMM_SELF, {})
                                      : group(OTF2_GROUP_TYPE_COMM_GROUP, facts.members);
    check(OTF2_GlobalDefWriter_WriteComm(writer_, reference(index), name, members,
                                         intra_parent_of(index), OTF2_COMM_FLAG_NONE));
  }

  // Ranks lie row by row in a grid, as MPI prescribes.
  void topology(std::size_t index) {
    const CommFacts& facts = in_.comms->comms[index].facts;
    const CartGrid grid = cart_grid(facts.topology);
    const auto dimensions = static_cast<std::uint8_t>(grid.sizes.size());
    std::uint64_t places = 1;
    for (const std::uint32_t size : grid.sizes) places *= size;
    if (dimensions == 0 || places != facts.members.size()) return;
    std::vector<OTF2_CartDimensionRef> refs;
    for (std::size_t i = 0; i < dimensions; ++i) {
      refs.push_back(next_dimension_);
      check(OTF2_GlobalDefWriter_WriteCartDimension(
          writer_, next_dimension_++, in_.text("dimension " + std::to_string(i)),
          grid.sizes[i],
          grid.periodic[i] ? OTF2_CART_PERIODIC_TRUE : OTF2_CART_PERIODIC_FALSE));
    }
    check(OTF2_GlobalDefWriter_WriteCartTopology(
        writer_, next_topology_, in_.text(name_of(facts, index)), reference(index),
        dimensions, refs.data()));
    for (std::uint32_t rank = 0; rank < places; ++rank) {
      std::vector<std::uint32_t> coordinates(dimensions);
      std::uint32_t rest = rank;
      for (std::size_t i = dimensions; i-- > 0; rest /= grid.sizes[i])
        coordinates[i] = rest % grid.sizes[i];
      check(OTF2_GlobalDefWriter_WriteCartCoordinate(writer_, next_topology_, rank,
                                                     dimensions, coordinates.data()));
    }
    ++next_topology_;
  }

  void window(std::size_t index) {
    const std::string& own = in_.comms->windows[index].name;
    const OTF2_StringRef name =
        in_.text(own.empty() ? "window " + std::to_string(index) : own);
    check(OTF2_GlobalDefWriter_WriteRmaWin(writer_, static_cast<OTF2_RmaWinRef>(index),
                                           name, reference(in_.comms->windows[index].comm),
                                           OTF2_RMA_WIN_FLAG_NONE));
  }

  OTF2_GlobalDefWriter* writer_;
  const MpiDefinitionInput& in_;
  OTF2_ErrorCode first_ = OTF2_SUCCESS;
  std::map<std::pair<OTF2_GroupType, RankList>, OTF2_GroupRef> groups_;
  OTF2_GroupRef next_group_;
  std::vector<bool> written_;  // by communicator
  OTF2_CartDimensionRef next_dimension_ = 0;
  OTF2_CartTopologyRef next_topology_ = 0;
};

}  // namespace

OTF2_ErrorCode write_mpi_definitions(OTF2_GlobalDefWriter* writer,
                                     const MpiDefinitionInput& input) {
  return MpiDefinitions(writer, input).write();
}

OTF2_ErrorCode write_mpi_paradigm(
    OTF2_GlobalDefWriter* writer, const std::vector<regions::SourcePlace>& places,
    const std::function<OTF2_StringRef(const std::string&)>& text) {
  OTF2_ErrorCode first = OTF2_SUCCESS;
  const auto check = [&first](OTF2_ErrorCode code) {
    if (first == OTF2_SUCCESS) first = code;
  };
  check(OTF2_GlobalDefWriter_WriteParadigm(writer, OTF2_PARADIGM_MPI, text("MPI"),
                                           OTF2_PARADIGM_CLASS_PROCESS));
  const OTF2_StringRef name = text("call_site");
  const OTF2_StringRef description = text("where MPI was called");
  check(OTF2_GlobalDefWriter_WriteAttribute(writer, kCallSiteAttribute, name, description,
                                            OTF2_TYPE_SOURCE_CODE_LOCATION));
  for (std::size_t i = 0; i < places.size(); ++i)
    check(OTF2_GlobalDefWriter_WriteSourceCodeLocation(
        writer, static_cast<OTF2_SourceCodeLocationRef>(i), text(places[i].file),
        places[i].line));
  return first;
}

}  // namespace refrain::writer
