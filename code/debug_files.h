// Where the debug information of a program's file is, next to the file itself.
//
// Place in the flow: under addresses and program_loops.h; what libdwfl asks for (Dwfl_Callbacks::find_debuginfo).
// Looked for in this order, as gdb does: by build id under /usr/lib/debug; by the name in `.gnu_debuglink`, whose checksum
// must fit, next to the file, in `.debug` next to it, and below /usr/lib/debug; by build id in debuginfod's cache on disk
// (DEBUGINFOD_CACHE_PATH, else XDG_CACHE_HOME, else ~/.cache). Never over the network.
// Thread-safety: as libdwfl: one thread a Dwfl. Ownership: the caller of the callback gets file and name, as libdwfl says.
// Cost: some calls of open() a file; a checksum reads the whole debug file.
#pragma once

#include <elfutils/libdwfl.h>

namespace refrain::code {

int find_debug_file(Dwfl_Module* module, void** user, const char* name, Dwarf_Addr base,
                    const char* file, const char* link, GElf_Word checksum,
                    char** found) noexcept;

}  // namespace refrain::code
