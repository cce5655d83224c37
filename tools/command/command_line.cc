#include "tools/command/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/clean_text.h"
#include "base/new_file.h"
#include "base/notes.h"
#include "base/version.h"
#include "tools/command/subcommand.h"
#include "tools/output/standard_output.h"
#include "tools/programs/installation.h"

namespace refrain::tools {

int fail(const std::string& line) {
  std::fprintf(stderr, "refrain: %s\n", base::clean_text(line).c_str());
  return kWrongUse;
}

namespace {

// One line, whatever the parser would say in several.
int parse_error(const CLI::ParseError& error) {
  std::string text = error.what();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return fail(text + " (see 'refrain help')");
}

extern "C" void end_by_signal(int signal) {
  base::remove_unfinished_files();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Files that are not complete go with the command. What ignores a signal (nohup) goes on to.
void remove_files_at_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    if (std::signal(signal, end_by_signal) == SIG_IGN) std::signal(signal, SIG_IGN);
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Refrain traces OpenMP and MPI programs and leaves out what repeats.",
               "refrain");
  bool print_version = false;
  app.add_flag("--version", print_version,
               "print the version, what it was built with, and which runtimes there are");
  app.require_subcommand(0, 1);
  app.set_help_flag("-h,--help", "print this help");
  std::vector<std::unique_ptr<Subcommand>> commands;
#define REFRAIN_MAKE(name) commands.push_back(make_##name##_command());
  REFRAIN_SUBCOMMANDS(REFRAIN_MAKE)
#undef REFRAIN_MAKE
  std::vector<CLI::App*> parsers;
  for (auto& command : commands) {
    parsers.push_back(app.add_subcommand(command->name(), command->help()));
    command->add_options(*parsers.back());
  }
  CLI::App* help = app.add_subcommand("help", "print help, also 'refrain help COMMAND'");
  std::string topic;
  help->add_option("command", topic, "what to explain");
  bool print_libomp = false;
  help->add_flag("--libomp", print_libomp, "print which OpenMP runtime replaces libgomp");
  bool describe = false;
  help->add_flag("--json", describe, "print all commands and options, as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wish) {  // --help, --version
    return app.exit(wish);
  } catch (const CLI::ParseError& error) {
    return parse_error(error);
  }
  if (print_version) return std::fputs(version_text().c_str(), stdout), kDone;
  if (app.get_subcommands().empty())
    return fail("a command is required (see 'refrain help')");
  if (help->parsed() && print_libomp) {
    const char* wanted = std::getenv("REFRAIN_LIBOMP");
    std::printf("%s\n", find_libomp(wanted == nullptr ? "" : wanted).c_str());
    return kDone;
  }
  if (help->parsed() && describe)
    return std::fputs(describe_command(app).c_str(), stdout), kDone;
  if (help->parsed()) {
    for (std::size_t i = 0; i < commands.size(); ++i)
      if (topic == commands[i]->name())
        return std::printf("%s", parsers[i]->help().c_str()), kDone;
    if (topic == help->get_name()) return std::printf("%s", help->help().c_str()), kDone;
    if (!topic.empty()) return fail("no command '" + topic + "'");
    // CLI11 would print the help of `help`, which was given.
    std::printf("%s\nUsage: refrain COMMAND ...\n\nCommands:\n",
                app.get_description().c_str());
    for (auto& command : commands)
      std::printf("  %-9s %s\n", command->name(), command->help());
    std::printf("  %-9s %s\n", "help", "print this, or 'refrain help COMMAND'");
    return kDone;
  }
  for (std::size_t i = 0; i < commands.size(); ++i)
    if (parsers[i]->parsed()) {
      const int status = commands[i]->run();
      for (const std::string& line : base::take_notes()) fail(line);
      return status;
    }
  return kWrongUse;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  remove_files_at_signals();
  int status = kWrongUse;
  try {
    status = parse_and_run(argc, argv);
  } catch (const std::exception& problem) {
    status = fail(problem.what());
  }
  const auto printed = finish_output();
  return printed ? status : fail(printed.error());
}

}  // namespace refrain::tools

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
