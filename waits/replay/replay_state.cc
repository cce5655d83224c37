#include "waits/replay/replay_state.h"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>

#include "base/mpi_roles.h"
#include "base/pthread_calls.h"

namespace refrain::waits {

void Problems::add(const Problems& others) {
  sends_without_receive += others.sends_without_receive;
  receives_without_send += others.receives_without_send;
  unknown_ends += others.unknown_ends;
  incomplete_collectives += others.incomplete_collectives;
  mixed_collectives += others.mixed_collectives;
  unknown_collectives += others.unknown_collectives;
  lone_epochs += others.lone_epochs;
  leaves_without_enter += others.leaves_without_enter;
  enters_without_leave += others.enters_without_leave;
  clock_violations += others.clock_violations;
  worst_violation = std::max(worst_violation, others.worst_violation);
  gaps += others.gaps;
}

std::vector<std::string> Problems::lines(double ticks_per_second) const {
  std::vector<std::string> out;
  const auto say = [&](std::uint64_t count, const char* what) {
    if (count != 0) out.push_back(fmt::format("{} {}", count, what));
  };
  say(sends_without_receive,
      "sends have no receive in the archive: their late receivers are unknown");
  say(receives_without_send,
      "receives have no send in the archive: their late senders are unknown");
  say(unknown_ends, "ends of messages name a partner or communicator that is not defined");
  say(incomplete_collectives,
      "collective operations lack a member in the archive: their waits are unknown");
  say(mixed_collectives,
      "collective operations are named differently by their members: they were left out");
  say(unknown_collectives,
      "ends of collective operations are on communicators without known members: they were left out");
  say(lone_epochs,
      "epochs of one-sided communication lack the other side's: their waits are unknown");
  say(leaves_without_enter, "leaves have no enter: they were ignored");
  say(enters_without_leave,
      "enters have no leave: their regions end with the region around them or the run");
  if (clock_violations != 0)
    out.push_back(fmt::format(
        "{} effects precede their causes, by at most {:.3g} us: clocks differ, and "
        "shorter waits are uncertain",
        clock_violations, static_cast<double>(worst_violation) / ticks_per_second * 1e6));
  return out;
}

}  // namespace refrain::waits

namespace refrain::waits {
namespace {

using Special = RegionKind::Special;

bool begins_with(std::string_view name,
                 std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](std::string_view each) { return name.starts_with(each); });
}

bool is_collective_io(std::string_view name) {
  return name.find("_all") != std::string_view::npos ||
         name.find("_ordered") != std::string_view::npos;
}

BaseMetric window_metric(std::string_view name) {
  if (begins_with(name, {"win_create", "win_allocate", "win_free", "win_attach",
                         "win_detach", "win_shared_query"}))
    return kMpiMgmtWin;
  if (begins_with(name, {"win_fence", "win_post", "win_start", "win_complete", "win_wait",
                         "win_test"}))
    return kMpiRmaSyncActive;
  if (begins_with(name, {"win_lock", "win_unlock", "win_flush", "win_sync"}))
    return kMpiRmaSyncPassive;
  return name.starts_with("win_") ? kMpiManagement : kMpiRmaCommunication;
}

BaseMetric management_metric(std::string_view name) {
  if (begins_with(name, {"init", "finalize"}) &&
      !begins_with(name, {"initialized", "finalized"}))
    return kMpiInitExit;
  if (begins_with(name, {"comm_", "cart_", "graph_", "dist_graph", "intercomm_", "group_"}))
    return kMpiMgmtComm;
  return kMpiManagement;
}

BaseMetric mpi_metric(OTF2_RegionRole role, std::string_view name) {
  switch (role) {
    case OTF2_REGION_ROLE_POINT2POINT:
      return kMpiPoint2Point;
    case OTF2_REGION_ROLE_BARRIER:
      return kMpiSyncCollective;
    case OTF2_REGION_ROLE_COLL_ONE2ALL:
    case OTF2_REGION_ROLE_COLL_ALL2ONE:
    case OTF2_REGION_ROLE_COLL_ALL2ALL:
    case OTF2_REGION_ROLE_COLL_OTHER:
      return kMpiCollective;
    case OTF2_REGION_ROLE_RMA:
      return window_metric(name);
    case OTF2_REGION_ROLE_FILE_IO:
      return is_collective_io(name) ? kMpiIoCollective : kMpiIoIndividual;
    case OTF2_REGION_ROLE_FILE_IO_METADATA:
      return kMpiMgmtFile;
    default:
      return management_metric(name);
  }
}

RegionKind mpi_kind(const reader::RegionInfo& region) {
  const std::string procedure = reader::mpi_procedure(region.name);
  std::string lower(procedure);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  std::string_view name(lower);
  if (name.starts_with("mpi_")) name.remove_prefix(4);
  RegionKind kind;
  kind.mpi = true;
  kind.metric = mpi_metric(base::role_of_mpi(procedure, region.role), name);
  kind.multiple = begins_with(name, {"waitall", "waitany", "waitsome"});
  kind.test = begins_with(name, {"test", "mpi polls", "request_get_status", "win_test"});
  kind.neighbours = begins_with(name, {"neighbor_", "ineighbor_"});
  if (name == "init" || name == "init_thread") kind.special = Special::kMpiInit;
  if (name == "win_start") kind.special = Special::kRmaStart;
  if (name == "win_post") kind.special = Special::kRmaPost;
  if (name == "win_complete") kind.special = Special::kRmaComplete;
  if (name == "win_wait" || name == "win_test") kind.special = Special::kRmaWait;
  if (name == "finalize") kind.special = Special::kMpiFinalize;
  return kind;
}

// Who has a lock is a region inside of the wait for it.
RegionKind pthread_kind(const reader::RegionInfo& region) {
  switch (base::pthread_call(region.name)) {
    case base::PthreadCall::kLock:
      return {.metric = kPthreadLockApi};
    case base::PthreadCall::kCondition:
      return {.metric = kPthreadConditional};
    case base::PthreadCall::kJoin:
      return {.metric = kPthreadSynchronization};
    default:
      return {.metric = kPthreadManagement};
  }
}

RegionKind openmp_kind(const reader::RegionInfo& region) {
  RegionKind kind;
  const auto names = [&](const char* what) {
    return region.name.find(what) != std::string::npos;
  };
  // Score-P and Refrain give them the role of a barrier, others one of their own. A taskgroup waits for its own tasks
  // only, and theirs.
  if (names("omp target")) {
    const std::string what = region.name.substr(0, region.name.find(" @"));
    const bool construct = what.ends_with(" target") || what.ends_with(" enter data") ||
                           what.ends_with(" exit data") || what.ends_with(" update");
    kind.metric = construct ? kOmpTarget
                  : what.ends_with(" submit") || what.ends_with(" kernel")
                      ? kOmpTargetSubmit
                      : kOmpTargetData;
    return kind;
  }
  const bool taskwait = names("omp taskwait");
  if (taskwait || names("omp taskgroup") || region.role == OTF2_REGION_ROLE_TASK_WAIT) {
    kind.metric = kOmpTaskwait;
    if (taskwait) kind.special = Special::kTaskwait;
    return kind;
  }
  switch (region.role) {
    case OTF2_REGION_ROLE_PARALLEL:
      kind.special = Special::kParallel;
      return kind;
    case OTF2_REGION_ROLE_BARRIER:
      kind.special = Special::kBarrier;
      kind.explicit_barrier = true;
      kind.metric = kOmpEbarrier;
      return kind;
    case OTF2_REGION_ROLE_IMPLICIT_BARRIER:
      kind.special = Special::kBarrier;
      kind.metric = kOmpIbarrier;
      return kind;
    case OTF2_REGION_ROLE_CRITICAL:
    case OTF2_REGION_ROLE_ATOMIC:
      kind.special = Special::kCritical;
      kind.metric = kOmpCritical;
      return kind;
    case OTF2_REGION_ROLE_ORDERED:
      kind.metric = kOmpOrdered;
      return kind;
    case OTF2_REGION_ROLE_FLUSH:
      kind.metric = kOmpFlush;
      return kind;
    case OTF2_REGION_ROLE_TASK_CREATE:
      kind.metric = kOmpTime;
      return kind;
    default:
      break;
  }
  const std::string_view name = region.name;
  if (begins_with(name, {"omp_set_lock", "omp_set_nest_lock", "omp_unset_lock",
                         "omp_unset_nest_lock", "omp_test_lock", "omp_test_nest_lock",
                         "omp_init_lock", "omp_init_nest_lock", "omp_destroy_"})) {
    kind.metric = kOmpLockApi;
    kind.special = Special::kLock;
  }
  return kind;
}

}  // namespace

RegionKind kind_of(const reader::RegionInfo& region) {
  if (region.is_loop) return {.ignored = true};
  if (region.paradigm == OTF2_PARADIGM_MPI) return mpi_kind(region);
  if (region.paradigm == OTF2_PARADIGM_OPENMP) return openmp_kind(region);
  if (region.paradigm == OTF2_PARADIGM_PTHREAD) return pthread_kind(region);
  // The tool's own: no execution of the program.
  if (region.paradigm == OTF2_PARADIGM_MEASUREMENT_SYSTEM) return {.metric = kTime};
  return {};
}

std::vector<RegionKind> kinds_of(const reader::TraceDefinitions& definitions) {
  std::vector<RegionKind> kinds;
  kinds.reserve(definitions.regions.size());
  for (const reader::RegionInfo& region : definitions.regions)
    kinds.push_back(kind_of(region));
  return kinds;
}

void ReplayState::begin(const reader::TraceDefinitions& of, PatternSet& patterns) {
  definitions = &of;
  kinds = kinds_of(of);
  locations.resize(of.locations.size());
  processes.resize(of.processes.size());
  for (std::uint32_t i = 0; i < locations.size(); ++i) {
    const reader::LocationInfo& info = of.locations[i];
    LocationState& at = locations[i];
    at.process = info.process;
    at.thread = info.thread;
    at.only_in_regions = info.only_in_regions();
    at.counts = info.is_thread() && info.process < processes.size();
    if (at.counts && processes[at.process].primary == kNone)
      processes[at.process].primary = LocationId(i);
  }
  severities = std::make_unique<Severities>(
      locations.size(), patterns.tree().metrics.size(), of.ticks_per_second);
  patterns.charge_to(*severities);
}

void ReplayState::forget_times(LocationId location) {
  LocationState& at = locations[location];
  for (std::vector<std::uint64_t>* row : {&at.own, &at.skipped, &at.visits, &at.squares,
                                          &at.without_message, &at.own_without_message})
    *row = {};
  severities->forget(location);
}

}  // namespace refrain::waits
