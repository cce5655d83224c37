#include "convert/paraver_regions.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/mpi_roles.h"

namespace refrain::convert {
namespace {

constexpr std::uint64_t kFirstOtherCall = 1001;

bool is_mpi(const reader::RegionInfo& region) {
  return region.paradigm == OTF2_PARADIGM_MPI || region.name.starts_with("MPI_");
}

bool is_io(OTF2_RegionRole role) {
  return role == OTF2_REGION_ROLE_FILE_IO || role == OTF2_REGION_ROLE_FILE_IO_METADATA;
}

class Classifier {
 public:
  explicit Classifier(const reader::TraceDefinitions& definitions)
      : definitions_(definitions) {}

  ParaverRegions run() {
    for (std::uint32_t i = 0; i < definitions_.regions.size(); ++i)
      out_.regions.push_back(classify(definitions_.regions[i], i + 1));
    return std::move(out_);
  }

 private:
  ParaverRegion classify(const reader::RegionInfo& region, std::uint64_t number) {
    if (region.is_loop) return {.type = kTypeIteration, .value = ++loops_, .is_loop = true};
    if (is_mpi(region)) return mpi(region);
    if (region.paradigm == OTF2_PARADIGM_OPENMP) return openmp(region, number);
    ParaverRegion user{.type = kTypeUserFunction, .value = number, .has_line = true};
    if (is_io(region.role)) user.state = kIoState;
    return user;
  }

  ParaverRegion mpi(const reader::RegionInfo& region) {
    OTF2_RegionRole role = base::role_of_mpi(region.name);
    if (role == OTF2_REGION_ROLE_FUNCTION && region.role != OTF2_REGION_ROLE_UNKNOWN)
      role = region.role;
    const MpiCall call = classify_mpi(region.name, role);
    std::uint64_t value = paraver_mpi_call(region.name);
    if (value == 0) {
      const auto [at, is_new] =
          other_values_.try_emplace(region.name, kFirstOtherCall + other_values_.size());
      value = at->second;
      out_.other_calls[value] = region.name;
    }
    return {.type = kTypeMpi + static_cast<std::uint32_t>(call.cls),
            .value = value,
            .is_mpi = true,
            .state = static_cast<std::uint8_t>(call.state)};
  }

  // What threads do for devices, and devices themselves.
  static ParaverRegion device(const reader::RegionInfo& region, std::uint64_t number) {
    const std::string what = region.name.substr(0, region.name.find(" @"));
    ParaverRegion out{.type = kTypeTarget, .value = number, .has_line = true};
    if (what.ends_with(" target") || what.ends_with(" enter data") ||
        what.ends_with(" exit data") || what.ends_with(" update")) {
      out.state = kSynchronisation;
    } else if (what.ends_with(" submit") || what.ends_with(" kernel")) {
      out.type = kTypeKernel;
      if (what.ends_with(" submit")) out.state = kForkJoin;
    } else {
      out.type = kTypeTargetData;
      out.state = kMemoryTransfer;
    }
    return out;
  }

  static ParaverRegion openmp(const reader::RegionInfo& region, std::uint64_t number) {
    if (region.name.starts_with("!$omp target")) return device(region, number);
    switch (region.role) {
      case OTF2_REGION_ROLE_PARALLEL:
        return {.type = kTypeFunction, .value = number, .has_line = true};
      case OTF2_REGION_ROLE_LOOP:
        return {.type = kTypeWorksharing, .value = 4};
      case OTF2_REGION_ROLE_SECTIONS:
        return {.type = kTypeWorksharing, .value = 5};
      case OTF2_REGION_ROLE_SINGLE:
        return {.type = kTypeWorksharing, .value = 6};
      case OTF2_REGION_ROLE_WORKSHARE:
        return {.type = kTypeWorkshare, .value = 1};
      case OTF2_REGION_ROLE_BARRIER:
      case OTF2_REGION_ROLE_IMPLICIT_BARRIER:
      case OTF2_REGION_ROLE_TASK_WAIT:
        return waiting(region, number);
      case OTF2_REGION_ROLE_TASK:
      case OTF2_REGION_ROLE_TASK_UNTIED:
        return {.type = kTypeTask, .value = number, .has_line = true};
      case OTF2_REGION_ROLE_TASK_CREATE:
        return {
            .type = kTypeTaskCreate, .value = number, .has_line = true, .state = kForkJoin};
      case OTF2_REGION_ROLE_CRITICAL:
        return {.type = kTypeCritical, .value = 1, .state = kSynchronisation};
      case OTF2_REGION_ROLE_ATOMIC:
        return {.type = kTypeAtomic, .value = 1, .state = kSynchronisation};
      case OTF2_REGION_ROLE_MASTER:
        return {.type = kTypeMaster, .value = 1};
      default:
        return other(region, number);
    }
  }

  // Tools give a taskwait the role of a barrier, or a separate one.
  static ParaverRegion waiting(const reader::RegionInfo& region, std::uint64_t number) {
    const auto named = [&region](const char* text) {
      return region.name.find(text) != std::string::npos;
    };
    ParaverRegion out{.type = kTypeBarrier, .value = 1, .state = kSynchronisation};
    if (named("taskgroup")) {
      out.type = kTypeTaskgroup;
    } else if (named("taskwait") || region.role == OTF2_REGION_ROLE_TASK_WAIT) {
      out.type = kTypeTaskwait;
    }
    // The wait inside such a region, where a trace has a separate region for it.
    const std::string construct = region.name.substr(0, region.name.find(" @"));
    if (construct.ends_with(" wait")) {
      out.type = kTypeOtherOmp;
      out.value = number;
    }
    return out;
  }

  // Locks, blocks of code inside them, ...
  static ParaverRegion other(const reader::RegionInfo& region, std::uint64_t number) {
    ParaverRegion out{.type = kTypeOtherOmp, .value = number};
    const bool lock = region.name.find("set_lock") != std::string::npos ||
                      region.name.find("nest_lock") != std::string::npos;
    if (lock || region.role == OTF2_REGION_ROLE_ARTIFICIAL ||
        region.role == OTF2_REGION_ROLE_ORDERED || region.role == OTF2_REGION_ROLE_FLUSH)
      out.state = kSynchronisation;
    return out;
  }

  const reader::TraceDefinitions& definitions_;
  ParaverRegions out_;
  std::uint64_t loops_ = 0;
  std::map<std::string, std::uint64_t> other_values_;
};

}  // namespace

ParaverRegions paraver_regions(const reader::TraceDefinitions& definitions) {
  return Classifier(definitions).run();
}

}  // namespace refrain::convert

namespace refrain::convert {
namespace {

// The number of a call is its index here. Without "MPI_", in lower case.
constexpr const char* kCalls[] = {
    "",
    "send",
    "recv",
    "isend",
    "irecv",
    "wait",
    "waitall",
    "bcast",
    "barrier",
    "reduce",
    "allreduce",
    "alltoall",
    "alltoallv",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "comm_rank",
    "comm_size",
    "comm_create",
    "comm_dup",
    "comm_split",
    "comm_group",
    "comm_free",
    "comm_remote_group",
    "comm_remote_size",
    "comm_test_inter",
    "comm_compare",
    "scan",
    "init",
    "finalize",
    "bsend",
    "ssend",
    "rsend",
    "ibsend",
    "issend",
    "irsend",
    "test",
    "cancel",
    "sendrecv",
    "sendrecv_replace",
    "cart_create",
    "cart_shift",
    "cart_coords",
    "cart_get",
    "cart_map",
    "cart_rank",
    "cart_sub",
    "cartdim_get",
    "dims_create",
    "graph_get",
    "graph_map",
    "graph_create",
    "graph_neighbors",
    "graphdims_get",
    "graph_neighbors_count",
    "topo_test",
    "waitany",
    "waitsome",
    "probe",
    "iprobe",
    "win_create",
    "win_free",
    "put",
    "get",
    "accumulate",
    "win_fence",
    "win_start",
    "win_complete",
    "win_post",
    "win_wait",
    "win_test",
    "win_lock",
    "win_unlock",
    "pack",
    "unpack",
    "op_create",
    "op_free",
    "reduce_scatter",
    "attr_delete",
    "attr_get",
    "attr_put",
    "group_difference",
    "group_excl",
    "group_free",
    "group_incl",
    "group_intersection",
    "group_rank",
    "group_range_excl",
    "group_range_incl",
    "group_size",
    "group_translate_ranks",
    "group_union",
    "group_compare",
    "intercomm_create",
    "intercomm_merge",
    "keyval_free",
    "keyval_create",
    "abort",
    "error_class",
    "errhandler_create",
    "errhandler_free",
    "errhandler_get",
    "error_string",
    "errhandler_set",
    "get_processor_name",
    "initialized",
    "wtick",
    "wtime",
    "address",
    "bsend_init",
    "buffer_attach",
    "buffer_detach",
    "request_free",
    "recv_init",
    "send_init",
    "get_count",
    "get_elements",
    "pack_size",
    "rsend_init",
    "ssend_init",
    "start",
    "startall",
    "testall",
    "testany",
    "test_cancelled",
    "testsome",
    "type_commit",
    "type_contiguous",
    "type_extent",
    "type_free",
    "type_hindexed",
    "type_hvector",
    "type_indexed",
    "type_lb",
    "type_size",
    "type_struct",
    "type_ub",
    "type_vector",
    "file_open",
    "file_close",
    "file_read",
    "file_read_all",
    "file_write",
    "file_write_all",
    "file_read_at",
    "file_read_at_all",
    "file_write_at",
    "file_write_at_all",
    "comm_spawn",
    "comm_spawn_multiple",
    "request_get_status",
    "ireduce",
    "iallreduce",
    "ibarrier",
    "ibcast",
    "ialltoall",
    "ialltoallv",
    "iallgather",
    "iallgatherv",
    "igather",
    "igatherv",
    "iscatter",
    "iscatterv",
    "ireduce_scatter",
    "iscan",
    "reduce_scatter_block",
    "ireduce_scatter_block",
    "alltoallw",
    "ialltoallw",
    "get_accumulate",
    "dist_graph_create",
    "neighbor_allgather",
    "ineighbor_allgather",
    "neighbor_allgatherv",
    "ineighbor_allgatherv",
    "neighbor_alltoall",
    "ineighbor_alltoall",
    "neighbor_alltoallv",
    "ineighbor_alltoallv",
    "neighbor_alltoallw",
    "ineighbor_alltoallw",
    "fetch_and_op",
    "compare_and_swap",
    "win_flush",
    "win_flush_all",
    "win_flush_local",
    "win_flush_local_all",
    "mprobe",
    "improbe",
    "mrecv",
    "imrecv",
    "comm_split_type",
    "file_write_all_begin",
    "file_write_all_end",
    "file_read_all_begin",
    "file_read_all_end",
    "file_write_at_all_begin",
    "file_write_at_all_end",
    "file_read_at_all_begin",
    "file_read_at_all_end",
    "file_read_ordered",
    "file_read_ordered_begin",
    "file_read_ordered_end",
    "file_read_shared",
    "file_write_ordered",
    "file_write_ordered_begin",
    "file_write_ordered_end",
    "file_write_shared",
    "comm_dup_with_info",
    "dist_graph_create_adjacent",
    "comm_create_group",
    "exscan",
    "iexscan",
};

// PAPI's presets in the order of their codes, without "PAPI_".
constexpr const char* kPresets[] = {
    "L1_DCM",  "L1_ICM",  "L2_DCM",  "L2_ICM",  "L3_DCM",  "L3_ICM",  "L1_TCM",  "L2_TCM",
    "L3_TCM",  "CA_SNP",  "CA_SHR",  "CA_CLN",  "CA_INV",  "CA_ITV",  "L3_LDM",  "L3_STM",
    "BRU_IDL", "FXU_IDL", "FPU_IDL", "LSU_IDL", "TLB_DM",  "TLB_IM",  "TLB_TL",  "L1_LDM",
    "L1_STM",  "L2_LDM",  "L2_STM",  "BTAC_M",  "PRF_DM",  "L3_DCH",  "TLB_SD",  "CSR_FAL",
    "CSR_SUC", "CSR_TOT", "MEM_SCY", "MEM_RCY", "MEM_WCY", "STL_ICY", "FUL_ICY", "STL_CCY",
    "FUL_CCY", "HW_INT",  "BR_UCN",  "BR_CN",   "BR_TKN",  "BR_NTK",  "BR_MSP",  "BR_PRC",
    "FMA_INS", "TOT_IIS", "TOT_INS", "INT_INS", "FP_INS",  "LD_INS",  "SR_INS",  "BR_INS",
    "VEC_INS", "RES_STL", "FP_STAL", "TOT_CYC", "LST_INS", "SYC_INS", "L1_DCH",  "L2_DCH",
    "L1_DCA",  "L2_DCA",  "L3_DCA",  "L1_DCR",  "L2_DCR",  "L3_DCR",  "L1_DCW",  "L2_DCW",
    "L3_DCW",  "L1_ICH",  "L2_ICH",  "L3_ICH",  "L1_ICA",  "L2_ICA",  "L3_ICA",  "L1_ICR",
    "L2_ICR",  "L3_ICR",  "L1_ICW",  "L2_ICW",  "L3_ICW",  "L1_TCH",  "L2_TCH",  "L3_TCH",
    "L1_TCA",  "L2_TCA",  "L3_TCA",  "L1_TCR",  "L2_TCR",  "L3_TCR",  "L1_TCW",  "L2_TCW",
    "L3_TCW",  "FML_INS", "FAD_INS", "FDV_INS", "FSQ_INS", "FNV_INS", "FP_OPS",  "SP_OPS",
    "DP_OPS",  "VEC_SP",  "VEC_DP",  "REF_CYC"};

constexpr std::uint32_t kPresetBase = 42'000'000;
constexpr std::uint32_t kNativeBase = 44'000'000;

std::string lower_name(std::string_view procedure) {
  const std::size_t prefix = procedure.starts_with("MPI_")    ? 4
                             : procedure.starts_with("MPIX_") ? 5
                                                              : 0;
  std::string name(procedure.substr(prefix));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::uint32_t find_call(const std::string& name) {
  for (std::uint32_t i = 1; i < std::size(kCalls); ++i)
    if (name == kCalls[i]) return i;
  return 0;
}

}  // namespace

std::uint32_t paraver_mpi_call(std::string_view procedure) {
  std::string name = lower_name(procedure);
  if (name == "init_thread") return kParaverInit;
  // The variants with large counts, and names that were removed from MPI.
  if (name.ends_with("_c")) name.resize(name.size() - 2);
  if (name == "comm_set_errhandler") name = "errhandler_set";
  if (name == "get_address") name = "address";
  if (name == "comm_create_errhandler") name = "errhandler_create";
  if (name == "type_create_struct") name = "type_struct";
  if (name == "type_create_hvector") name = "type_hvector";
  if (name == "type_create_hindexed") name = "type_hindexed";
  return find_call(name);
}

std::uint32_t paraver_counter(const std::string& name) {
  if (name.starts_with("PAPI_"))
    for (std::uint32_t i = 0; i < std::size(kPresets); ++i)
      if (name.compare(5, std::string::npos, kPresets[i]) == 0) return kPresetBase + i;
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const unsigned char c : name) hash = (hash ^ c) * 16777619;
  return kNativeBase + ((hash ^ hash >> 16) & 0xffff);
}

MpiCall classify_mpi(std::string_view procedure, OTF2_RegionRole role) {
  const std::string name = lower_name(procedure);
  const bool immediate = name.starts_with("i") && !name.starts_with("init");
  const auto has = [&](std::string_view part) {
    return name.find(part) != std::string::npos;
  };
  switch (role) {
    case OTF2_REGION_ROLE_POINT2POINT:
      if (has("sendrecv")) return {MpiClass::kPointToPoint, 16};
      if (has("probe") || name.starts_with("test")) return {MpiClass::kPointToPoint, 6};
      if (name.starts_with("wait")) return {MpiClass::kPointToPoint, 8};
      if (has("_init") || has("buffer_") || has("request_") || has("start") ||
          has("cancel"))
        return {MpiClass::kPointToPoint, 15};
      if (has("recv")) return {MpiClass::kPointToPoint, immediate ? 11U : 3U};
      if (has("send")) return {MpiClass::kPointToPoint, immediate ? 10U : 4U};
      return {MpiClass::kPointToPoint, 15};
    case OTF2_REGION_ROLE_BARRIER:
    case OTF2_REGION_ROLE_COLL_ALL2ALL:
    case OTF2_REGION_ROLE_COLL_ALL2ONE:
    case OTF2_REGION_ROLE_COLL_ONE2ALL:
    case OTF2_REGION_ROLE_COLL_OTHER:
      return {MpiClass::kCollective, 13};
    case OTF2_REGION_ROLE_RMA:
      return {MpiClass::kOneSided, 15};
    case OTF2_REGION_ROLE_FILE_IO:
    case OTF2_REGION_ROLE_FILE_IO_METADATA:
      return {MpiClass::kIo, 12};
    default:
      return {MpiClass::kOther, 15};
  }
}

}  // namespace refrain::convert
