#include "convert/paraver_regions.h"

#include "base/mpi_roles.h"
#include "convert/paraver_numbers.h"

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
