#include "tools/programs/elf_program.h"

#include <elf.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "test/support/files.h"

namespace refrain::tools::elf_program_test {

// The libraries found without the loader must be those that the loader finds: with LD_PRELOAD it
// is asked.
TEST_CASE("Program: libraries - the same from the file as from the loader") {
  for (const char* file :
       {"test/programs/jacobi_clang", "test/programs/jacobi_gcc",
        "test/programs/mpi/ring_gcc", "test/programs/mpi/ring_f08_gfortran", "/bin/true"}) {
    CAPTURE(file);
    const std::string path = std::filesystem::absolute(file);
    unsetenv("LD_PRELOAD");
    const Program quick = inspect_program(path);
    setenv("LD_PRELOAD", "libm.so.6", 1);
    const Program asked = inspect_program(path);
    unsetenv("LD_PRELOAD");
    CHECK(quick.path == path);
    CHECK(quick.dynamic);
    CHECK(asked.dynamic);
    CHECK(quick.libraries.size() <= asked.libraries.size());
    CHECK(loads(quick, "libc.so.6"));
    for (const char* library :
         {"libomp.so", "libgomp.so", "libmpich.so", "libiomp5.so", "libmpi.so.40"})
      CHECK(loads(quick, library) == loads(asked, library));
  }
}

TEST_CASE("Program: what is no dynamic program - has no libraries") {
  const Program script = inspect_program("/usr/bin/ldd");
  CHECK(script.path == "/usr/bin/ldd");
  CHECK_FALSE(script.dynamic);
  CHECK(script.libraries.empty());
  CHECK(inspect_program("/no/such/file").path.empty());
}

TEST_CASE("Program: another processor - is named, and nothing is looked for") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "program";
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = EM_RISCV;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(&header), sizeof header);
  chmod(path.c_str(), 0755);
  const Program program = inspect_program(path);
  CHECK(program.path == path);
  CHECK(program.foreign == "RISC-V");
  CHECK_FALSE(program.dynamic);
  CHECK(inspect_program("/bin/true").foreign.empty());
}

TEST_CASE("Program: found - in PATH, if they can be run") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "tool_of_no_package";
  std::ofstream(path) << "#!/bin/sh\n";
  const std::string before = getenv("PATH");
  setenv("PATH", (before + ":" + folder.path().string()).c_str(), 1);
  CHECK(find_program("tool_of_no_package").empty());
  CHECK(why_no_program("tool_of_no_package") == "no program 'tool_of_no_package' in PATH");
  CHECK(why_no_program(path) ==
        "no program '" + path + "': the file is not executable (chmod +x)");
  CHECK(why_no_program(path + "s") == "no program '" + path + "s': there is no such file");
  CHECK(why_no_program(folder.path()) ==
        "no program '" + folder.path().string() + "': it is a directory");
  chmod(path.c_str(), 0755);
  CHECK(find_program("tool_of_no_package") == path);
  setenv("PATH", before.c_str(), 1);
}

}  // namespace refrain::tools::elf_program_test
