// Names of kernels that have no label: Kokkos gives typeid(functor).name(), followed by "/" and that of its tag.
//
// Pure. Thread-safety: any thread. Errors: what is no type's name stays as it is; throws for lack of memory.
#pragma once

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace refrain::user {

// "N6solver5ScaleIdEE/3Tag" -> "solver::Scale<double>/Tag". Labels stay.
inline std::string kernel_type(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos)
    return kernel_type(name.substr(0, slash)) + '/' + kernel_type(name.substr(slash + 1));
  const std::string text(name);
  const bool may_be = !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) ||
                                        text[0] == 'N' || text[0] == 'Z');
  const std::unique_ptr<char, decltype(&std::free)> type(
      may_be ? abi::__cxa_demangle(text.c_str(), nullptr, nullptr, nullptr) : nullptr,
      std::free);
  return type == nullptr ? text : type.get();
}

// "solver::Scale<double>/Tag" -> "solver::Scale/Tag": without parameters, arguments of templates and unnamed
// namespaces. Lambdas keep their numbers: "run(int)::{lambda(int)#2}" -> "run::{lambda#2}".
inline std::string short_type(std::string_view type) {
  std::string name;
  int depth = 0;
  for (const char c : type) {
    if (c == '<' || c == '(') ++depth;
    const bool begins = name.empty() || name.ends_with('/') || name.ends_with("::");
    if (depth == 0 && !(c == ':' && begins)) name += c;
    if (c == '>' || c == ')') --depth;
  }
  return name;
}

}  // namespace refrain::user
