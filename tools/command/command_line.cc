#include "tools/command/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/new_file.h"
#include "base/notes.h"
#include "base/texts.h"
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

// Changes of one character that make one word of the other.
std::size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

// ": did you mean 'x'?", or nothing where none is similar.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = 1 + std::max<std::size_t>(1, word.size() / 3);
  for (const std::string& other : known)
    if (const std::size_t edits = edits_between(word, other); edits < least) {
      least = edits;
      best = other;
    }
  return best.empty() ? "" : ": did you mean '" + best + "'?";
}

// "UINT:UINT in [1 - 9]" as NUMBER, "DIR" as it is.
std::string value_kind_of(const std::string& type) {
  const std::string name = type.substr(0, type.find(':'));
  return name == "UINT" || name == "INT" || name == "FLOAT" ? "NUMBER" : name;
}

// "TEXT:{a,b}" of CLI11's checks as "{a|b}", others as their kind.
std::string value_name_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t colon = type.find(':');
  std::string name = value_kind_of(type);
  if (name != "TEXT" || colon == std::string::npos || type[colon + 1] != '{') return name;
  std::string choices = type.substr(colon + 1);
  std::ranges::replace(choices, ',', '|');
  return choices;
}

// The text as lines of this width, the first one and the others after `indent` blanks.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) out += ' ';
    column += word.size() + (column > indent ? 1 : 0);
    out += word;
  }
  return out;
}

// Help as a manual has it: one name for the value, the default behind the text.
class HelpFormat final : public CLI::Formatter {
 public:
  HelpFormat() { label("Positionals", "Arguments"); }

  // One empty line between groups.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at; (at = text.find("\n\n\n")) != std::string::npos;)
      text.erase(at, 1);
    return text;
  }

  // Options for experts are a line; the manual has them.
  std::string make_group(std::string group, bool positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group == kExpertSettings) return "\n" + group + "\n";
    return Formatter::make_group(std::move(group), positional, std::move(options));
  }

  std::string make_option(const CLI::Option* option, bool positional) const override {
    std::string name = "  " + make_option_name(option, positional);
    if (!positional && option->get_type_size() != 0 && !option->get_type_name().empty()) {
      const std::size_t alone = name.find('{');  // the value of one that is given alone
      const std::string value = value_name_of(*option);
      name = alone == std::string::npos ? name + " " + value
                                        : name.substr(0, alone) + "[=" + value + "]";
    }
    std::string text = option->get_description();
    if (!option->get_default_str().empty())
      text += " (default: " + option->get_default_str() + ")";
    if (!positional && option->get_required()) text += "; required";
    constexpr std::size_t kWidth = 100;
    const std::size_t column = get_column_width();
    name += name.size() < column ? std::string(column - name.size(), ' ')
                                 : "\n" + std::string(column, ' ');
    return name + wrapped(text, column, kWidth) + "\n";
  }

  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string name =
        make_option_name(option, true) + (option->get_expected_max() > 1 ? "..." : "");
    return option->get_required() ? name : "[" + name + "]";
  }
};

// The first word that is neither a command, an option nor its value; empty if all are.
std::string unknown_word(const CLI::App& app, int argc, char** argv) {
  const std::vector<std::string> left = app.remaining(true);
  for (int i = 1; i < argc; ++i)
    if (argv[i] != std::string("--") && std::ranges::find(left, argv[i]) != left.end())
      return argv[i];
  return {};
}

// One line, whatever the parser would say in several.
int parse_error(const CLI::App& app, int argc, char** argv, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string help = std::string(" (see 'refrain ") +
                           (chosen.empty() ? "help" : command.get_name() + " --help") +
                           "')";
  std::vector<std::string> commands;
  for (const CLI::App* one : app.get_subcommands({})) commands.push_back(one->get_name());
  // "analyse run": what comes first is the command, also where another word is one.
  const std::string first = argc > 1 ? argv[1] : "";
  if (!first.starts_with("-") && std::ranges::find(commands, first) == commands.end())
    return fail("no command '" + first + "'" + did_you_mean(first, commands) +
                " (see 'refrain help')");
  const std::string word = unknown_word(app, argc, argv);
  if (word.starts_with("-")) {
    std::vector<std::string> known;
    for (const CLI::Option* one : command.get_options())
      for (const std::string& name : one->get_lnames()) known.push_back("--" + name);
    if (!chosen.empty() && word == first && std::ranges::find(known, word) != known.end())
      return fail("'" + word + "' belongs behind the command: refrain " +
                  command.get_name() + " " + word + help);
    return fail("no option '" + word + "'" + did_you_mean(word, known) + help);
  }
  if (!word.empty()) return fail("'" + word + "' is one argument too many" + help);
  std::string text = error.what();
  std::ranges::replace(text, '\n', ' ');
  // "--limit: 1 required NUMBER missing", "--to: pdf not in {dot,svg}"
  const std::string subject = text.substr(0, text.find(':'));
  constexpr std::string_view kNotIn = " not in {";
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    text = "'" + subject + "' " +
           (text.find("received") != std::string::npos ? "is given more than once"
                                                       : "needs a value");
  else if (const std::size_t at = text.find(kNotIn); at != std::string::npos)
    text = subject + ": '" + text.substr(subject.size() + 2, at - subject.size() - 2) +
           "' is not one of " + text.substr(at + kNotIn.size() - 1);
  return fail(text + help);
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
  app.set_version_flag(
      "--version", version_text,
      "print the version, what it was built with, and which runtimes there are");
  app.formatter(std::make_shared<HelpFormat>());
  app.require_subcommand(0, 1);
  app.set_help_flag("-h,--help", "print this help");
  std::vector<std::unique_ptr<Subcommand>> commands;
#define REFRAIN_MAKE(name) commands.push_back(make_##name##_command());
  REFRAIN_SUBCOMMANDS(REFRAIN_MAKE)
#undef REFRAIN_MAKE
  std::vector<CLI::App*> parsers;
  // To make all options takes a sixth of the time of `refrain run`: those of the command alone, if there is one.
  const std::string_view first = argc > 1 ? argv[1] : "";
  const bool chosen = std::ranges::any_of(
      commands, [&](const auto& command) { return command->name() == first; });
  for (auto& command : commands) {
    parsers.push_back(app.add_subcommand(command->name(), command->help()));
    if (!chosen || command->name() == first) command->add_options(*parsers.back());
  }
  CLI::App* help = app.add_subcommand("help", "print help, also 'refrain help COMMAND'");
  std::string topic;
  help->add_option("command", topic, "command to explain");
  bool print_libomp = false;
  help->add_flag("--libomp", print_libomp, "print which OpenMP runtime replaces libgomp");
  bool describe = false;
  help->add_flag("--json", describe, "print all commands and options, as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& wish) {
    return std::fputs(wish.what(), stdout), kDone;
  } catch (const CLI::Success& wish) {  // --help
    return app.exit(wish);
  } catch (const CLI::ParseError& error) {
    return parse_error(app, argc, argv, error);
  }
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
        return std::printf("%s", parsers[i]->help(app.get_name()).c_str()), kDone;
    if (topic == help->get_name())
      return std::printf("%s", help->help(app.get_name()).c_str()), kDone;
    if (!topic.empty()) {
      std::vector<std::string> known;
      known.reserve(commands.size());
      for (const auto& command : commands) known.emplace_back(command->name());
      return fail("no command '" + topic + "'" + did_you_mean(topic, known));
    }
    // CLI11 would print the help of `help`, which was given.
    std::printf("%s\nUsage: refrain COMMAND ...\n\nCommands:\n",
                app.get_description().c_str());
    for (auto& command : commands)
      std::printf("  %-10s %s\n", command->name(), command->help());
    std::printf("  %-10s %s\n", "help",
                "print this, or the options: 'refrain help COMMAND'");
    std::printf(
        "\nFirst steps: 'refrain run -o run -- ./app', then 'refrain info run' and "
        "'refrain analyze run'\n");
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
    value = value_kind_of(type);
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
