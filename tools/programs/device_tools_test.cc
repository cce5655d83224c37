#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "test/support/files.h"
#include "tools/programs/openmp_choice.h"

namespace refrain::tools::device_tools_test {

TEST_CASE("Devices: libomp.so not in the search path - said, with the folder that has it") {
  const test::TemporaryFolder folder;
  const Program offload{.path = "offload",
                        .dynamic = true,
                        .libraries = {"libomp.so.5", "libomptarget.so.19.1"}};
  const Program host{.path = "host", .dynamic = true, .libraries = {"libomp.so.5"}};
  std::ofstream(folder / "libomp.so") << "found";
  std::ofstream(folder / "libomp.so.5") << "found";
  // The runtime that is there is the one in `folder`.
  setenv("REFRAIN_LIBOMP", (folder / "libomp.so.5").c_str(), 1);

  unsetenv("LD_LIBRARY_PATH");
  if (!std::filesystem::exists("/usr/lib/x86_64-linux-gnu/libomp.so")) {
    CHECK_THAT(why_devices_are_not_traced(offload),
               Catch::Contains("LD_LIBRARY_PATH=" +
                               std::filesystem::canonical(folder.path()).string()));
    CHECK(why_devices_are_not_traced(host).empty());
  }
  setenv("LD_LIBRARY_PATH", folder.path().c_str(), 1);
  CHECK(why_devices_are_not_traced(offload).empty());
}

}  // namespace refrain::tools::device_tools_test
