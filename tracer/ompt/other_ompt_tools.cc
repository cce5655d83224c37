#include "tracer/ompt/other_ompt_tools.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "tracer/runtime/search_order.h"

namespace refrain::ompt {
namespace {

// Of the list, from ours on, or all where ours was found without it.
std::string first_of_list(std::string_view list, bool from_ours) {
  while (!list.empty()) {
    const std::size_t end = list.find(':');
    const std::string library(list.substr(0, end));
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
    if (library.empty()) continue;
    if (runtime::is_own_library(library.c_str()))
      from_ours = false;
    else if (!from_ours)
      return library;
  }
  return {};
}

}  // namespace

std::string tool_not_asked() {
  std::string next = runtime::taken_from("ompt_start_tool");
  // LLVM's runtime itself has a procedure of this name, which is no tool.
  if (!next.empty() && next != runtime::taken_from("omp_get_max_threads")) return next;
  const char* list = std::getenv("OMP_TOOL_LIBRARIES");
  if (list == nullptr) return {};
  const bool in_the_program = runtime::taken_by("ompt_start_tool").empty();
  return first_of_list(list, !in_the_program);
}

}  // namespace refrain::ompt
