#include "addresses/short_name.h"

#include <algorithm>
#include <cctype>

namespace refrain::addresses {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr std::string_view kOperator = "operator";

// The end of the operator's name that begins at `at` ("operator()", "operator<<"), or
// `at` if there is none.
std::size_t end_of_operator(std::string_view name, std::size_t at) {
  if (!name.substr(at).starts_with(kOperator)) return at;
  const bool inside_word =
      at > 0 &&
      (std::isalnum(static_cast<unsigned char>(name[at - 1])) || name[at - 1] == '_');
  std::size_t end = at + kOperator.size();
  if (inside_word || end == name.size()) return at;
  for (const std::string_view word : {"()", " new[]", " new", " delete[]", " delete"})
    if (name.substr(end).starts_with(word)) return end + word.size();
  const std::string_view signs = "<>=!+-*/%^&|~,[]";
  const std::size_t begin = end;
  while (end < name.size() && signs.find(name[end]) != std::string_view::npos) ++end;
  return end == begin ? at : end;
}

}  // namespace

std::string short_name(std::string_view function) {
  if (function.starts_with('[')) return std::string(function);  // "[callers unknown]"
  for (const std::string_view mark : {" [clone", ".omp_outlined", "._omp_fn", ".omp_fn"})
    function = function.substr(0, function.find(mark));
  std::string name;
  int templates = 0;
  for (std::size_t i = 0; i < function.size();) {
    if (function.substr(i).starts_with(kAnonymous)) {
      if (templates == 0) name += kAnonymous;
      i += kAnonymous.size();
      continue;
    }
    if (const std::size_t end = end_of_operator(function, i); end != i) {
      if (templates == 0) name += function.substr(i, end - i);
      i = end;
      continue;
    }
    if (const std::size_t end = function.find('}', i);
        function[i] == '{' && end != std::string_view::npos) {
      if (templates == 0) name += "{lambda}";
      i = end + 1;
      continue;
    }
    const char c = function[i++];
    if (c == '<') ++templates;
    if (templates == 0) {
      if (c == '(') break;  // the parameters
      if (c == ' ')
        name.clear();  // this was the result's type
      else
        name += c;
    }
    if (c == '>' && templates > 0) --templates;
  }
  return name;
}

std::string short_place(std::string_view place) {
  const std::size_t end = place.rfind("+0x");
  const std::string_view function = place.substr(0, end);
  if (function.find('(') == std::string_view::npos) return std::string(place);
  const std::string_view after =
      place.substr(std::min(function.find(" [clone"), function.size()));
  std::string name = short_name(function);
  return name.empty() ? std::string(place) : name.append(after);
}

std::string base_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace refrain::addresses
