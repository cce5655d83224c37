// The command `refrain`: parses the line and hands over to a subcommand.
#pragma once

namespace refrain::tools {

// Returns the exit status; throws nothing.
int run_command_line(int argc, char** argv);

}  // namespace refrain::tools
