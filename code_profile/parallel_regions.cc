#include "code_profile/parallel_regions.h"

#include <algorithm>
#include <array>

namespace refrain::code_profile {

bool is_parallel(std::string_view function) {
  static constexpr std::array<std::string_view, 11> kBegins = {
      "__kmpc_fork_",    "__kmp_fork_call", "__kmp_GOMP_fork", "__kmpc_omp_task",
      "__kmpc_taskloop", "__kmp_invoke_",   "GOMP_parallel",   "GOMP_loop",
      "GOMP_task",       "GOMP_sections",   "GOMP_teams"};
  return is_outlined(function) || std::ranges::any_of(kBegins, [&](std::string_view name) {
           return function.starts_with(name);
         });
}

bool is_outlined(std::string_view function) {
  static constexpr std::array<std::string_view, 4> kParts = {
      ".omp_outlined", "._omp_fn.", ".omp_task_entry", "_omp_task_entry"};
  return std::ranges::any_of(kParts, [&](std::string_view name) {
    return function.find(name) != std::string_view::npos;
  });
}

bool is_runtime_library(std::string_view module_path) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "librefrain", "libomp",    "libgomp",   "libiomp",    "libmpi",   "libpmpi",
      "libc.so",    "libc-",     "libm.so",   "libpthread", "ld-linux", "libgcc_s",
      "libucp.so",  "libuct.so", "libucs.so", "libopen-",   "mca_"};
  const std::string_view file = module_path.substr(module_path.find_last_of('/') + 1);
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return file.starts_with(name); });
}

}  // namespace refrain::code_profile
