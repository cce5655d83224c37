#include "tools/command/command_line.h"

int main(int argc, char** argv) { return refrain::tools::run_command_line(argc, argv); }
