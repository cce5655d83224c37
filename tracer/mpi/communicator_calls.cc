#include "tracer/mpi/communicator_calls.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "base/append_only_map.h"
#include "tracer/mpi/communicators.h"
#include "tracer/mpi/message_tables.h"
#include "tracer/mpi/mpi_header.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/notices.h"

#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Comm_remote_size
#pragma weak PMPI_Comm_test_inter
#pragma weak PMPI_Comm_group
#pragma weak PMPI_Comm_remote_group
#pragma weak PMPI_Group_translate_ranks
#pragma weak PMPI_Group_union
#pragma weak PMPI_Group_size
#pragma weak PMPI_Group_free
#pragma weak PMPI_Topo_test
#pragma weak PMPI_Cartdim_get
#pragma weak PMPI_Cart_get
#pragma weak PMPI_Graph_neighbors_count
#pragma weak PMPI_Graph_neighbors
#pragma weak PMPI_Dist_graph_neighbors_count
#pragma weak PMPI_Dist_graph_neighbors

namespace refrain::mpi {

using recorder::Clock;
using runtime::g_session;
using runtime::t_thread;

namespace {

MPI_Group g_world_group = MPI_GROUP_NULL;
int g_world_size = 0;

// Ranks in MPI_COMM_WORLD of a group, which is freed; empty if some are not in it.
std::vector<int> world_ranks(MPI_Group group) {
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> own(static_cast<std::size_t>(size));
  std::vector<int> world(own.size());
  std::iota(own.begin(), own.end(), 0);
  const bool ok = PMPI_Group_translate_ranks(group, size, own.data(), g_world_group,
                                             world.data()) == MPI_SUCCESS;
  PMPI_Group_free(&group);
  for (const int rank : world)
    if (!ok || rank == MPI_UNDEFINED) return {};
  return world;
}

struct Members {
  spool::MpiCommKind kind = spool::kMpiCommIntra;
  int rank = 0;
  std::vector<int> local;
  std::vector<int> remote;
};

// False if some members are not of this job.
bool find_members(MPI_Comm comm, Members& members) {
  int inter = 0;
  MPI_Group group = MPI_GROUP_NULL;
  if (g_world_group == MPI_GROUP_NULL ||
      PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
      PMPI_Comm_rank(comm, &members.rank) != MPI_SUCCESS ||
      PMPI_Comm_group(comm, &group) != MPI_SUCCESS)
    return false;
  members.local = world_ranks(group);
  if (members.local.empty()) return false;
  if (inter == 0) return true;
  members.kind = spool::kMpiCommInter;
  if (PMPI_Comm_remote_group(comm, &group) != MPI_SUCCESS) return false;
  members.remote = world_ranks(group);
  return !members.remote.empty();
}

void append_numbers(std::string& text, const std::vector<int>& numbers) {
  for (const int number : numbers) text += " " + std::to_string(number);
}

void put(spool::Kind kind, std::uint64_t payload, std::uint8_t sub, std::uint64_t a48) {
  g_session->put_fact(t_thread.recorder,
                      spool::record_words(kind, Clock::now(), payload, sub, a48));
}
void put(spool::TextKey key, const std::string& text) {
  g_session->put_fact(t_thread.recorder, key, text);
}

void report(const Communicator& comm, const Members& members, std::uint64_t parent) {
  put(spool::kMpiComm, comm.identity, comm.kind, comm_and_rank(comm.number, comm.rank));
  put(spool::kMpiMembers, parent, 0, comm_and_rank(comm.number, comm.size));
  if (comm.rank != 0) return;
  std::string text = std::to_string(comm.number);
  append_numbers(text, members.local);
  if (!members.remote.empty()) text += " /";
  append_numbers(text, members.remote);
  put(spool::kTextMembers, text);
}

void find_cart(MPI_Comm like, Communicator& comm) {
  int dimensions = 0;
  if (PMPI_Cartdim_get(like, &dimensions) != MPI_SUCCESS) return;
  comm.in_degree = comm.out_degree = 2 * dimensions;
  const auto n = static_cast<std::size_t>(dimensions);
  std::vector<int> sizes(n);
  std::vector<int> periods(n);
  std::vector<int> coordinates(n);
  if (PMPI_Cart_get(like, dimensions, sizes.data(), periods.data(), coordinates.data()) !=
      MPI_SUCCESS)
    return;
  if (std::ranges::any_of(periods, [](int period) { return period != 0; }))
    comm.grid = std::make_unique<const PeriodicGrid>(sizes, periods, coordinates);
  std::string text = std::to_string(comm.number) + " cart " + std::to_string(dimensions);
  append_numbers(text, periods);
  append_numbers(text, sizes);
  append_numbers(text, coordinates);
  put(spool::kTextTopology, text);
}

void find_graph(MPI_Comm like, Communicator& comm) {
  int count = 0;
  if (PMPI_Graph_neighbors_count(like, comm.rank, &count) != MPI_SUCCESS) return;
  comm.in_degree = comm.out_degree = count;
  std::vector<int> neighbours(static_cast<std::size_t>(count));
  if (PMPI_Graph_neighbors(like, comm.rank, count, neighbours.data()) != MPI_SUCCESS)
    return;
  std::string text = std::to_string(comm.number) + " graph " + std::to_string(count);
  append_numbers(text, neighbours);
  put(spool::kTextTopology, text);
}

void find_dist_graph(MPI_Comm like, Communicator& comm) {
  int weighted = 0;
  if (PMPI_Dist_graph_neighbors_count(like, &comm.in_degree, &comm.out_degree, &weighted) !=
      MPI_SUCCESS)
    return;
  std::vector<int> in(static_cast<std::size_t>(comm.in_degree));
  std::vector<int> out(static_cast<std::size_t>(comm.out_degree));
  std::vector<int> in_weights(in.size() + 1);
  std::vector<int> out_weights(out.size() + 1);
  if (PMPI_Dist_graph_neighbors(like, comm.in_degree, in.data(), in_weights.data(),
                                comm.out_degree, out.data(),
                                out_weights.data()) != MPI_SUCCESS)
    return;
  std::string text =
      std::to_string(comm.number) + " dist_graph " + std::to_string(in.size());
  append_numbers(text, in);
  text += " " + std::to_string(out.size());
  append_numbers(text, out);
  put(spool::kTextTopology, text);
}

void find_topology(MPI_Comm like, Communicator& comm) {
  int topology = MPI_UNDEFINED;
  if (comm.kind == spool::kMpiCommInter || PMPI_Topo_test(like, &topology) != MPI_SUCCESS)
    return;
  if (topology == MPI_CART) find_cart(like, comm);
  if (topology == MPI_GRAPH) find_graph(like, comm);
  if (topology == MPI_DIST_GRAPH) find_dist_graph(like, comm);
}

// Enters a communicator with the members of `like`; not yet reported. Null if that fails.
Communicator* add(Handle handle, MPI_Comm like, std::uint64_t parent, std::uint64_t tag,
                  Members& members) {
  if (!find_members(like, members)) return nullptr;
  // The sides of an intercommunicator have different parents.
  if (members.kind == spool::kMpiCommInter) parent = 0;
  const auto size = static_cast<int>(members.local.size());
  return g_communicators.add(
      {.handle = handle,
       .kind = members.kind,
       .worldwide = members.kind != spool::kMpiCommInter && size == g_world_size,
       .rank = members.rank,
       .size = size,
       .remote_size = static_cast<int>(members.remote.size()),
       .parent = parent,
       .members = members.remote.empty() ? hash_members(members.local)
                                         : hash_members(members.local, members.remote),
       .tag = tag});
}

Communicator* enter(Handle handle, MPI_Comm like, std::uint64_t parent,
                    spool::MpiCommKind kind, std::uint64_t tag = 0) {
  Members members;
  members.kind = kind;
  Communicator* comm = add(handle, like, parent, tag, members);
  if (comm == nullptr) return nullptr;
  report(*comm, members, comm->kind == spool::kMpiCommInter ? 0 : parent);
  if (kind == spool::kMpiCommIntra) find_topology(like, *comm);
  return comm;
}

// Groups that one-sided communication has named: by members, their number plus one.
base::AppendOnlyMap<std::uint64_t, std::atomic<std::uint32_t>, 4096, 16> g_groups;
std::mutex g_groups_made;

// The same for equal groups; 0: empty, or with processes of other jobs. Allocates nothing.
std::uint64_t hash_group(MPI_Group group) noexcept {
  constexpr int kStep = 64;
  int size = 0;
  if (g_world_group == MPI_GROUP_NULL || PMPI_Group_size(group, &size) != MPI_SUCCESS ||
      size == 0)
    return 0;
  std::array<int, kStep> own{}, world{};
  std::uint64_t hash = mix(0x67726f7570, static_cast<std::uint32_t>(size));
  for (int first = 0; first < size; first += kStep) {
    const int count = std::min(kStep, size - first);
    std::iota(own.begin(), own.begin() + count, first);
    if (PMPI_Group_translate_ranks(group, count, own.data(), g_world_group, world.data()) !=
        MPI_SUCCESS)
      return 0;
    for (int i = 0; i < count; ++i) {
      if (world[static_cast<std::size_t>(i)] == MPI_UNDEFINED) return 0;
      hash = mix(hash, static_cast<std::uint32_t>(world[static_cast<std::size_t>(i)]));
    }
  }
  return hash == 0 ? 1 : hash;
}

void record_made_together(Call& call) noexcept {
  const Communicator& parent = *call.comm();
  if (!parent.known()) return;
  call.put_at_leave(spool::kMpiCollective, collective_payload(parent, 0),
                    spool::kMpiCreateHandle, comm_and_rank(parent.number, -1), 0, 0);
  if (parent.worldwide) pass_anchor(call);
}

}  // namespace

std::uint16_t number_of_group(MPI_Group group) noexcept {
  const std::uint64_t members = hash_group(group);
  auto* const known = members == 0 ? nullptr : g_groups.find_or_add(members);
  if (known == nullptr) return kNoCommunicator;
  // Acquire: pairs with the release below.
  if (const std::uint32_t number = known->value.load(std::memory_order_acquire))
    return static_cast<std::uint16_t>(number - 1);
  const recorder::SlowPath slow_path;
  const std::lock_guard lock(g_groups_made);
  if (const std::uint32_t number = known->value.load())
    return static_cast<std::uint16_t>(number - 1);
  try {
    Members found;
    MPI_Group copy = MPI_GROUP_NULL;  // world_ranks() frees what it gets
    if (PMPI_Group_union(group, MPI_GROUP_EMPTY, &copy) != MPI_SUCCESS)
      return kNoCommunicator;
    found.local = world_ranks(copy);
    if (found.local.empty()) return kNoCommunicator;
    const Communicator* entry =
        g_communicators.add({.handle = kNameless,
                             .kind = spool::kMpiCommGroup,
                             .worldwide = false,
                             .rank = 0,
                             .size = static_cast<int>(found.local.size()),
                             .remote_size = 0,
                             .parent = 0,
                             .members = members});
    if (entry == nullptr) return kNoCommunicator;
    report(*entry, found, 0);
    known->value.store(std::uint32_t{entry->number} + 1, std::memory_order_release);
    return entry->number;
  } catch (const std::exception&) {
    g_tables_failed.store(true);
    return kNoCommunicator;
  }
}

void record_window_collective(Call& call, spool::MpiCollective operation) noexcept {
  const Communicator& window = *call.comm();
  call.put_at_leave(spool::kMpiCollective,
                    std::uint64_t{window.next_collective() & 0x7fffffff} << 1, operation,
                    comm_and_rank(window.number, -1), 0, 0);
}

bool enter_world(MPI_Comm world) noexcept {
  try {
    if (PMPI_Comm_group(world, &g_world_group) != MPI_SUCCESS ||
        PMPI_Comm_size(world, &g_world_size) != MPI_SUCCESS)
      return false;
    return enter(handle_of(world), world, 0, spool::kMpiCommWorld) != nullptr &&
           (world != MPI_COMM_WORLD || enter(handle_of(MPI_COMM_SELF), MPI_COMM_SELF, 0,
                                             spool::kMpiCommSelf) != nullptr);
  } catch (const std::exception&) {
    g_tables_failed.store(true);
    return false;
  }
}

const Communicator* enter_communicator(Call& call, MPI_Comm made, MPI_Comm like,
                                       std::uint64_t tag) noexcept {
  const recorder::SlowPath slow_path;
  try {
    return enter(handle_of(made), like, call.comm()->identity, spool::kMpiCommIntra, tag);
  } catch (const std::exception&) {
    g_tables_failed.store(true);
    return nullptr;
  }
}

void CommMade::after(int result) noexcept {
  if (result != MPI_SUCCESS || !call_) return;
  record_made_together(call_);
  if (*made_ != MPI_COMM_NULL) enter_communicator(call_, *made_, *made_);
}

GroupCommMade::GroupCommMade(Call& call, const MPI_Comm* made, const char* tag) noexcept
    : CommMade(call, made), tag_(0) {
  if (!call || tag == nullptr) return;
  for (const char* at = tag; *at != 0; ++at)
    tag_ = mix(tag_, static_cast<unsigned char>(*at));
}

void GroupCommMade::after(int result) noexcept {
  if (result == MPI_SUCCESS && call_ && *made_ != MPI_COMM_NULL)
    enter_communicator(call_, *made_, *made_, tag_);
}

void CommIdup::after(int result) noexcept {
  if (result != MPI_SUCCESS || !call_) return;
  enter_communicator(call_, *made_, parent_);
  keep_request(request_, Request{});
}

void HandleNamed::after(int result) noexcept {
  if (result != MPI_SUCCESS || !call_ || !call_.comm()->known()) return;
  const recorder::SlowPath slow_path;
  try {
    put(spool::kTextCommName, std::to_string(call_.comm()->number) + " " + name_);
  } catch (const std::exception&) {
  }
}

void WinMade::after(int result) noexcept {
  if (result != MPI_SUCCESS || !call_) return;
  record_made_together(call_);
  const recorder::SlowPath slow_path;
  try {
    Members members;
    const Communicator* window =
        add(handle_of(*made_), comm_, call_.comm()->identity, 0, members);
    if (window != nullptr && call_.comm()->known()) {
      put(spool::kMpiComm, window->identity, spool::kMpiCommWindow,
          comm_and_rank(window->number, call_.comm()->rank));
      put(spool::kMpiMembers, call_.comm()->identity, 0, comm_and_rank(window->number, 0));
    }
  } catch (const std::exception&) {
    g_tables_failed.store(true);
  }
}

void WinFreed::after(int result) noexcept {
  if (result != MPI_SUCCESS || !call_ || !freed_->known()) return;
  record_window_collective(call_, spool::kMpiDestroyHandle);
  g_communicators.remove(freed_);
}

void Spawn::after(int result) noexcept {
  static std::atomic<bool> reported{false};
  if (result != MPI_SUCCESS || !call_ || reported.exchange(true)) return;
  if (call_.comm()->rank == 0)
    runtime::warn("the processes that MPI_Comm_spawn makes are not traced");
}

}  // namespace refrain::mpi
