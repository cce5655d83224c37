#include "cube/experiment.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace refrain::cube {

std::uint64_t neutral(Metric::Type type) noexcept {
  if (type != Metric::Type::kMinimum) return 0;
  return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::max());
}

std::uint64_t& Experiment::at(std::uint32_t metric, PathId path, LocationId location) {
  values.resize(metrics.size());
  Values& rows = values[metric];
  rows.resize(paths.size());
  Row& row = rows[path];
  if (row.empty()) row.assign(locations.size(), neutral(metrics[metric].type));
  return row[location];
}

void Experiment::add(std::uint32_t metric, PathId path, LocationId location,
                     std::uint64_t count) {
  if (count != 0) at(metric, path, location) += count;
}

void Experiment::add(std::uint32_t metric, PathId path, LocationId location, double value) {
  std::uint64_t& bits = at(metric, path, location);
  const auto known = std::bit_cast<double>(bits);
  double now = known + value;
  if (metrics[metric].type == Metric::Type::kMinimum) now = std::min(known, value);
  if (metrics[metric].type == Metric::Type::kMaximum) now = std::max(known, value);
  bits = std::bit_cast<std::uint64_t>(now);
}

void Experiment::set(std::uint32_t metric, PathId path, LocationId location, double value) {
  at(metric, path, location) = std::bit_cast<std::uint64_t>(value);
}

const char* role_word(std::uint32_t role) noexcept {
  switch (role) {
    case OTF2_REGION_ROLE_FUNCTION:
      return "function";
    case OTF2_REGION_ROLE_WRAPPER:
      return "wrapper";
    case OTF2_REGION_ROLE_LOOP:
      return "loop";
    case OTF2_REGION_ROLE_CODE:
      return "code";
    case OTF2_REGION_ROLE_PARALLEL:
      return "parallel";
    case OTF2_REGION_ROLE_SECTIONS:
      return "sections";
    case OTF2_REGION_ROLE_SECTION:
      return "section";
    case OTF2_REGION_ROLE_WORKSHARE:
      return "workshare";
    case OTF2_REGION_ROLE_SINGLE:
      return "single";
    case OTF2_REGION_ROLE_SINGLE_SBLOCK:
      return "single sblock";
    case OTF2_REGION_ROLE_MASTER:
      return "master";
    case OTF2_REGION_ROLE_CRITICAL:
      return "critical";
    case OTF2_REGION_ROLE_CRITICAL_SBLOCK:
      return "critical sblock";
    case OTF2_REGION_ROLE_ATOMIC:
      return "atomic";
    case OTF2_REGION_ROLE_BARRIER:
      return "barrier";
    case OTF2_REGION_ROLE_IMPLICIT_BARRIER:
      return "implicit barrier";
    case OTF2_REGION_ROLE_FLUSH:
      return "flush";
    case OTF2_REGION_ROLE_ORDERED:
      return "ordered";
    case OTF2_REGION_ROLE_ORDERED_SBLOCK:
      return "ordered sblock";
    case OTF2_REGION_ROLE_TASK:
      return "task";
    case OTF2_REGION_ROLE_TASK_CREATE:
      return "task create";
    case OTF2_REGION_ROLE_TASK_WAIT:
      return "taskwait";
    case OTF2_REGION_ROLE_COLL_ONE2ALL:
      return "one2all";
    case OTF2_REGION_ROLE_COLL_ALL2ONE:
      return "all2one";
    case OTF2_REGION_ROLE_COLL_ALL2ALL:
      return "all2all";
    case OTF2_REGION_ROLE_COLL_OTHER:
      return "other collective";
    case OTF2_REGION_ROLE_FILE_IO:
      return "file io";
    case OTF2_REGION_ROLE_POINT2POINT:
      return "point2point";
    case OTF2_REGION_ROLE_RMA:
      return "rma";
    case OTF2_REGION_ROLE_DATA_TRANSFER:
      return "data transfer";
    case OTF2_REGION_ROLE_ARTIFICIAL:
      return "artificial";
    case OTF2_REGION_ROLE_THREAD_CREATE:
      return "thread create";
    case OTF2_REGION_ROLE_THREAD_WAIT:
      return "thread wait";
    case OTF2_REGION_ROLE_TASK_UNTIED:
      return "untied task";
    case OTF2_REGION_ROLE_ALLOCATE:
      return "allocate";
    case OTF2_REGION_ROLE_DEALLOCATE:
      return "deallocate";
    case OTF2_REGION_ROLE_REALLOCATE:
      return "reallocate";
    case OTF2_REGION_ROLE_FILE_IO_METADATA:
      return "file io metadata";
    default:
      return "unknown";
  }
}

const char* paradigm_word(std::uint32_t paradigm) noexcept {
  switch (paradigm) {
    case OTF2_PARADIGM_USER:
      return "user";
    case OTF2_PARADIGM_COMPILER:
      return "compiler";
    case OTF2_PARADIGM_OPENMP:
      return "openmp";
    case OTF2_PARADIGM_MPI:
      return "mpi";
    case OTF2_PARADIGM_MEASUREMENT_SYSTEM:
      return "measurement";
    case OTF2_PARADIGM_PTHREAD:
      return "pthread";
    case OTF2_PARADIGM_SAMPLING:
      return "sampling";
    default:
      return "unknown";
  }
}

}  // namespace refrain::cube
