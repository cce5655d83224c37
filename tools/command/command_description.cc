#include "tools/command/command_description.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/version.h"

namespace refrain::tools {
namespace {

using Json = nlohmann::ordered_json;

// The values in "TEXT:{auto,mpich}" (of CLI11's own check) or in "{first|each}", "{all|some[=K]}" (of a
// setting); none in others.
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t begin = type.find('{');
  const std::size_t end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::string inside = type.substr(begin + 1, end - begin - 1);
  if (const std::size_t count = inside.find("[="); count != std::string::npos)
    inside.resize(count);
  // A value may itself have a comma (otf2,paraver): then it occurs in pieces as well.
  const char separator = inside.find('|') != std::string::npos ? '|' : ',';
  std::vector<std::string> choices;
  for (std::size_t at = 0; at <= inside.size();) {
    const std::size_t next = std::min(inside.find(separator, at), inside.size());
    const std::string choice = inside.substr(at, next - at);
    if (std::find(choices.begin(), choices.end(), choice) == choices.end())
      choices.push_back(choice);
    at = next + 1;
  }
  return choices;
}

Json names_of(const std::set<CLI::Option*>& options) {
  Json names = Json::array();
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  return names;
}

Json describe_option(const CLI::Option& option) {
  Json names = Json::array();
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  if (names.empty()) names.push_back(option.get_name());
  const std::string type = option.get_type_name();
  const bool flag = option.get_expected_max() == 0;
  Json value;
  if (!type.empty())
    value = type.substr(0, type.find(':'));
  else if (!flag)
    value = "TEXT";
  return {{"names", names},
          {"help", option.get_description()},
          {"group", option.get_group()},
          {"value", value},
          {"choices", choices_of(type)},
          {"value_optional", flag && !type.empty()},
          {"required", option.get_required()},
          {"several", option.get_expected_max() > 1},
          {"default", option.get_default_str()},
          {"needs", names_of(option.get_needs())},
          {"excludes", names_of(option.get_excludes())}};
}

void describe_options(const CLI::App& app, Json& to) {
  to["positionals"] = Json::array();
  to["options"] = Json::array();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    to[option->get_positional() ? "positionals" : "options"].push_back(
        describe_option(*option));
  }
}

}  // namespace

std::string describe_command(const CLI::App& app) {
  Json all = {{"version", kVersion},
              {"name", app.get_name()},
              {"description", app.get_description()}};
  describe_options(app, all);
  all["commands"] = Json::array();
  for (const CLI::App* command : app.get_subcommands({})) {
    Json one = {{"name", command->get_name()}, {"help", command->get_description()}};
    describe_options(*command, one);
    all["commands"].push_back(one);
  }
  return all.dump(2) + "\n";
}

}  // namespace refrain::tools
