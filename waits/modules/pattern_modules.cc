#include "waits/modules/pattern_modules.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "waits/modules/module_pattern.h"

namespace refrain::waits {
namespace {

std::string last_error() {
  const char* text = dlerror();
  std::string line = text == nullptr ? "unknown error" : text;
  std::ranges::replace(line, '\n', ' ');
  return line;
}

// What is missing, or nothing.
base::Result<> check(const refrain_pattern_list& list) {
  if (list.count != 0 && list.patterns == nullptr)
    return base::Failure{"it has no list of patterns"};
  for (std::uint32_t i = 0; i < list.count; ++i) {
    const refrain_pattern_info& each = list.patterns[i];
    if (each.name == nullptr || each.name[0] == '\0')
      return base::Failure{"pattern " + std::to_string(i) + " has no name"};
    if (each.create == nullptr || each.destroy == nullptr || each.event == nullptr)
      return base::Failure{std::string("its pattern '") + each.name + "' lacks a function"};
  }
  return {};
}

}  // namespace

base::Result<> PatternModules::load(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    return base::Failure{"'" + file + "': no such file"};
  // A name without a slash would be looked for among the system's libraries.
  const std::string path = std::filesystem::absolute(file, error).string();
  void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr)
    return base::Failure{"'" + file + "' cannot be loaded: " + last_error()};
  const auto function =
      reinterpret_cast<refrain_patterns_function>(dlsym(loaded, "refrain_patterns"));
  if (function == nullptr)
    return base::Failure{"'" + file +
                         "' offers no patterns: it has no function refrain_patterns "
                         "(REFRAIN_PATTERNS of refrain_patterns.h makes it)"};
  const refrain_pattern_list* list = function();
  if (list == nullptr) return base::Failure{"'" + file + "' offers no patterns"};
  if (list->version != REFRAIN_PATTERNS_VERSION)
    return base::Failure{"'" + file + "' was built for version " +
                         std::to_string(list->version) +
                         " of refrain_patterns.h, this refrain has version " +
                         std::to_string(REFRAIN_PATTERNS_VERSION) +
                         ": build it again with the header that was installed with it"};
  if (const auto done = check(*list); !done)
    return base::Failure{"'" + file + "' cannot be used: " + done.error()};
  modules_.push_back({file, list});
  return {};
}

std::vector<std::unique_ptr<Pattern>> PatternModules::make() const {
  std::vector<std::unique_ptr<Pattern>> made;
  for (const Module& module : modules_)
    for (std::uint32_t i = 0; i < module.list->count; ++i)
      made.push_back(
          std::make_unique<ModulePattern>(module.list->patterns[i], module.file));
  return made;
}

}  // namespace refrain::waits
