#include "tools/command/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tools/command/command_description.h"
#include "tools/command/subcommand.h"
#include "tools/programs/installation.h"

namespace refrain::tools {

int fail(const std::string& line) {
  std::fprintf(stderr, "refrain: %s\n", line.c_str());
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
    if (parsers[i]->parsed()) return commands[i]->run();
  return kWrongUse;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& problem) {
    return fail(problem.what());
  }
}

}  // namespace refrain::tools
