#include "base/mpi_roles.h"

#include <algorithm>
#include <array>

namespace refrain::base {
namespace {

struct Named {
  std::string_view name;
  OTF2_RegionRole role;
};

// Sorted by name; without "MPI_", in lower case.
constexpr std::array kRoles = {
    Named{"allgather", OTF2_REGION_ROLE_COLL_ALL2ALL},
    Named{"allgatherv", OTF2_REGION_ROLE_COLL_ALL2ALL},
    Named{"allreduce", OTF2_REGION_ROLE_COLL_ALL2ALL},
    Named{"alltoall", OTF2_REGION_ROLE_COLL_ALL2ALL},
    Named{"alltoallv", OTF2_REGION_ROLE_COLL_ALL2ALL},
    Named{"alltoallw", OTF2_REGION_ROLE_COLL_ALL2ALL},
    Named{"barrier", OTF2_REGION_ROLE_BARRIER},
    Named{"bcast", OTF2_REGION_ROLE_COLL_ONE2ALL},
    Named{"exscan", OTF2_REGION_ROLE_COLL_OTHER},
    Named{"gather", OTF2_REGION_ROLE_COLL_ALL2ONE},
    Named{"gatherv", OTF2_REGION_ROLE_COLL_ALL2ONE},
    Named{"reduce", OTF2_REGION_ROLE_COLL_ALL2ONE},
    Named{"reduce_scatter", OTF2_REGION_ROLE_COLL_ALL2ALL},
    Named{"reduce_scatter_block", OTF2_REGION_ROLE_COLL_ALL2ALL},
    Named{"scan", OTF2_REGION_ROLE_COLL_OTHER},
    Named{"scatter", OTF2_REGION_ROLE_COLL_ONE2ALL},
    Named{"scatterv", OTF2_REGION_ROLE_COLL_ONE2ALL},
};

// All names with one of these prefixes are of that kind; longer prefixes first.
constexpr std::array kFamilies = {
    Named{"file_open", OTF2_REGION_ROLE_FILE_IO_METADATA},
    Named{"file_close", OTF2_REGION_ROLE_FILE_IO_METADATA},
    Named{"file_delete", OTF2_REGION_ROLE_FILE_IO_METADATA},
    Named{"file_set", OTF2_REGION_ROLE_FILE_IO_METADATA},
    Named{"file_get", OTF2_REGION_ROLE_FILE_IO_METADATA},
    Named{"file_preallocate", OTF2_REGION_ROLE_FILE_IO_METADATA},
    Named{"file_sync", OTF2_REGION_ROLE_FILE_IO_METADATA},
    Named{"file_", OTF2_REGION_ROLE_FILE_IO},
    Named{"win_create_", OTF2_REGION_ROLE_FUNCTION},
    Named{"win_delete_", OTF2_REGION_ROLE_FUNCTION},
    Named{"win_get_", OTF2_REGION_ROLE_FUNCTION},
    Named{"win_set_", OTF2_REGION_ROLE_FUNCTION},
    Named{"win_call_", OTF2_REGION_ROLE_FUNCTION},
    Named{"win_", OTF2_REGION_ROLE_RMA},
    Named{"accumulate", OTF2_REGION_ROLE_RMA},
    Named{"raccumulate", OTF2_REGION_ROLE_RMA},
    Named{"compare_and_swap", OTF2_REGION_ROLE_RMA},
    Named{"fetch_and_op", OTF2_REGION_ROLE_RMA},
    Named{"get_accumulate", OTF2_REGION_ROLE_RMA},
    Named{"rget_accumulate", OTF2_REGION_ROLE_RMA},
    Named{"sendrecv", OTF2_REGION_ROLE_POINT2POINT},
    Named{"isendrecv", OTF2_REGION_ROLE_POINT2POINT},
    Named{"start", OTF2_REGION_ROLE_POINT2POINT},
    Named{"wait", OTF2_REGION_ROLE_POINT2POINT},
    Named{"test_cancelled", OTF2_REGION_ROLE_FUNCTION},
    Named{"test", OTF2_REGION_ROLE_POINT2POINT},
    Named{"mpi polls", OTF2_REGION_ROLE_POINT2POINT},
    Named{"request_", OTF2_REGION_ROLE_POINT2POINT},
    Named{"pready", OTF2_REGION_ROLE_POINT2POINT},
    Named{"parrived", OTF2_REGION_ROLE_POINT2POINT},
};

constexpr std::array<std::string_view, 26> kPointToPoint = {
    "bsend",      "buffer_attach", "buffer_detach", "cancel",     "ibsend",     "improbe",
    "imrecv",     "iprobe",        "irecv",         "irsend",     "isend",      "issend",
    "mprobe",     "mrecv",         "precv",         "probe",      "psend",      "recv",
    "rsend",      "send",          "ssend",         "ssend_init", "bsend_init", "send_init",
    "rsend_init", "recv_init"};

constexpr std::array<std::string_view, 4> kOneSided = {"get", "put", "rget", "rput"};

bool drop_end(std::string_view& name, std::string_view end) {
  if (!name.ends_with(end)) return false;
  name.remove_suffix(end.size());
  return true;
}

OTF2_RegionRole collective_role(std::string_view name) {
  const auto found = std::find_if(kRoles.begin(), kRoles.end(),
                                  [&](const Named& each) { return each.name == name; });
  if (found == kRoles.end()) return OTF2_REGION_ROLE_UNKNOWN;
  return found->role;
}

}  // namespace

OTF2_RegionRole role_of_mpi(std::string_view procedure) noexcept {
  std::array<char, 64> lower{};
  // Open MPI 4 has MPI-4's persistent collectives as MPIX_X_init.
  if (procedure.starts_with("MPIX_") && procedure.ends_with("_init"))
    procedure.remove_prefix(5);
  if (procedure.starts_with("MPI_")) procedure.remove_prefix(4);
  if (procedure.size() > lower.size()) return OTF2_REGION_ROLE_FUNCTION;
  std::transform(procedure.begin(), procedure.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  std::string_view name(lower.data(), procedure.size());
  drop_end(name, "_c");
  drop_end(name, "_init");
  if (std::find(kPointToPoint.begin(), kPointToPoint.end(), name) != kPointToPoint.end())
    return OTF2_REGION_ROLE_POINT2POINT;
  if (std::find(kOneSided.begin(), kOneSided.end(), name) != kOneSided.end())
    return OTF2_REGION_ROLE_RMA;
  for (const Named& family : kFamilies)
    if (name.starts_with(family.name)) return family.role;
  if (OTF2_RegionRole role = collective_role(name); role != OTF2_REGION_ROLE_UNKNOWN)
    return role;
  if (name.starts_with("i")) name.remove_prefix(1);
  if (name.starts_with("neighbor_")) name.remove_prefix(9);
  const OTF2_RegionRole role = collective_role(name);
  if (role == OTF2_REGION_ROLE_UNKNOWN) return OTF2_REGION_ROLE_FUNCTION;
  return role;
}

OTF2_RegionRole role_of_mpi(std::string_view procedure, OTF2_RegionRole defined) noexcept {
  switch (defined) {
    case OTF2_REGION_ROLE_POINT2POINT:
    case OTF2_REGION_ROLE_BARRIER:
    case OTF2_REGION_ROLE_COLL_ONE2ALL:
    case OTF2_REGION_ROLE_COLL_ALL2ONE:
    case OTF2_REGION_ROLE_COLL_ALL2ALL:
    case OTF2_REGION_ROLE_COLL_OTHER:
    case OTF2_REGION_ROLE_RMA:
    case OTF2_REGION_ROLE_FILE_IO:
    case OTF2_REGION_ROLE_FILE_IO_METADATA:
      return defined;
    default:
      return role_of_mpi(procedure);
  }
}

}  // namespace refrain::base
