// The command `refrain`: parses the line and hands over to a subcommand.
#pragma once

#include <string>

namespace refrain::tools {

// Returns the exit status; throws nothing.
int run_command_line(int argc, char** argv);

}  // namespace refrain::tools

namespace CLI {
class App;
}

namespace refrain::tools {

// What the command understands, as data: `refrain help --json`.
//
// Manual pages and completion are made from it (tools/packaging), so that they cannot differ from what is
// parsed. Options that help does not show are not in it.

// One object, as JSON: version, description, options and commands. A command has its name, one line of
// help, positionals and options; an option names, help, its group, what its value is called (null: it has
// none), which values are allowed (empty: any), whether the value may be left out, whether it is required
// or takes several, its default, and the options that it needs and excludes.
std::string describe_command(const CLI::App& app);

}  // namespace refrain::tools
