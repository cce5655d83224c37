// `refrain config`: every setting with type, default, unit and meaning.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "filters/settings.h"
#include "tools/command/subcommand.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

class ConfigCommand final : public Subcommand {
 public:
  const char* name() const override { return "config"; }
  const char* help() const override {
    return "print every setting, its value and its meaning";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  bool expert_ = false;
  bool json_ = false;
  bool markdown_ = false;
};

using filters::SettingInfo;
using filters::Settings;

std::string with_unit(const Settings& settings, const SettingInfo& info) {
  const std::string value = filters::value_text(settings, info);
  if (value.empty()) return "(empty)";
  return *info.unit == 0 ? value : value + " " + info.unit;
}

void print_json(const Settings& now, const Settings& defaults) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const SettingInfo& info : filters::setting_table())
    all.push_back({{"name", info.name},
                   {"variable", filters::variable_name(info)},
                   {"type", filters::type_name(info.type)},
                   {"unit", info.unit},
                   {"range", info.range},
                   {"default", filters::value_text(defaults, info)},
                   {"value", filters::value_text(now, info)},
                   {"help", info.one_line},
                   {"details", info.long_text},
                   {"expert", info.expert}});
  print("{}\n", all.dump(2));
}

void print_markdown(const Settings& defaults) {
  print("| variable | default | range | meaning |\n| --- | --- | --- | --- |\n");
  for (const SettingInfo& info : filters::setting_table())
    print("| `{}` | {} | {} | {}{}{} |\n", filters::variable_name(info),
          with_unit(defaults, info), info.range, info.one_line,
          *info.long_text == 0 ? "" : ". ", info.long_text);
}

// Those for experts only with `all`, or where they are set.
void print_text(const Settings& now, const Settings& defaults, bool all) {
  std::size_t more = 0;
  for (const SettingInfo& info : filters::setting_table()) {
    const std::string value = with_unit(now, info);
    const std::string fallback = with_unit(defaults, info);
    if (info.expert && !all && value == fallback) {
      ++more;
      continue;
    }
    print("{} = {}{}\n", filters::variable_name(info), value,
          value == fallback ? "" : "   (set; default " + fallback + ")");
    print("    {}: {} ({})\n", filters::type_name(info.type), info.one_line, info.range);
    if (*info.long_text != 0) print("    {}\n", info.long_text);
  }
  if (more != 0) print("{} more with --expert\n", more);
}

}  // namespace

void ConfigCommand::add_options(CLI::App& app) {
  app.add_flag("--expert", expert_, "also expert settings");
  app.add_flag("--json", json_, "all settings, as JSON");
  app.add_flag("--markdown", markdown_, "all settings, as a Markdown table");
}

int ConfigCommand::run() {
  const Settings defaults;
  Settings now;
  const auto complaints = filters::read_settings(
      now, [](const char* name) -> const char* { return std::getenv(name); });
  if (markdown_)
    print_markdown(defaults);
  else if (json_)
    print_json(now, defaults);
  else
    print_text(now, defaults, expert_);
  for (const std::string& line : complaints) fail(line);
  return complaints.empty() ? kDone : kWrongUse;
}

std::unique_ptr<Subcommand> make_config_command() {
  return std::make_unique<ConfigCommand>();
}

}  // namespace refrain::tools
