// Valgrind reads names only: not source lines, which the tool does not need, and which valgrind 3.19 cannot
// read of what clang 14 or later has compiled (it ends with an error). The linker puts this function in the
// place of its reader (--wrap).
void __wrap_vgModuleLocal_read_debuginfo_dwarf3(void);
void __wrap_vgModuleLocal_read_debuginfo_dwarf3(void) {}
