// Calls of MPI and parallel regions under Python code: named by its lines, as often as it counts itself.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"

namespace refrain::test::python_places_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Calls by "PROCEDURE file:line", or what the place is, of all ranks.
using Sites = std::map<std::string, long>;

Result run_words(const std::vector<std::string>& words,
                 const std::map<std::string, std::string>& environment = {}) {
  Command command;
  command.arguments = words;
  command.environment = clean_environment();
  set_mpirun_environment(command);
  for (const auto& [name, value] : environment) command.environment[name] = value;
  put_mpi_sanitizer_first(command);
  return run(command);
}

std::vector<std::string> traced_words(const std::map<std::string, std::string>& settings,
                                      const fs::path& archive, const std::string& mpi,
                                      const std::vector<std::string>& program) {
  std::vector<std::string> words = refrain_run(settings, archive);
  for (const std::string& word : mpirun(2, mpi)) words.push_back(word);
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

// `alike`: each rank has made half of the calls of each site.
Sites sites_of(const fs::path& archive, bool alike) {
  const Result profile = run_refrain({"profile", archive, "--json"});
  REQUIRE(profile.ok());
  const json all = json::parse(profile.output);
  Sites found;
  std::map<std::string, std::map<long, long>> by_rank;
  std::map<long, long> process;
  for (const json& location : all.at("locations"))
    process[location.at("location").get<long>()] = location.at("process").get<long>();
  for (const json& path : all.at("paths")) {
    const std::string procedure = path.at("name");
    if (!procedure.starts_with("MPI_")) continue;
    std::string site =
        path.at("site").is_string() ? path.at("site").get<std::string>() : "";
    site.erase(0, site.rfind('/') + 1);
    found[procedure + ' ' + site] += path.at("visits").get<long>();
    for (const json& location : path.at("locations"))
      by_rank[procedure + ' ' + site][process.at(location.at("location").get<long>())] +=
          location.at("visits").get<long>();
  }
  for (const auto& [site, ranks] : by_rank) {
    if (!alike) break;
    INFO(site);
    REQUIRE(ranks.size() == 2);
    CHECK(ranks.begin()->second == ranks.rbegin()->second);
  }
  return found;
}

void check_sites(const Sites& found, const Sites& expected) {
  for (const auto& [site, calls] : expected) {
    INFO(site);
    const auto at = found.find(site);
    CHECK((at == found.end() ? 0 : at->second) == calls);
  }
  for (const auto& [site, calls] : found) {
    INFO(site << ": " << calls);
    CHECK(expected.contains(site));
  }
}

// A script in a file, with the lines that have "# NAME" at their end.
struct Script {
  fs::path file;
  std::map<std::string, std::string> lines;  // "script.py:12", by names

  Script(const fs::path& at, const std::string& text) : file(at) {
    std::ofstream(file) << text;
    std::istringstream in(text);
    long number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      if (const auto name = line.find("  # "); name != std::string::npos)
        lines[line.substr(name + 4)] =
            file.filename().string() + ':' + std::to_string(number);
    }
  }
  std::string at(const std::string& name) const { return lines.at(name); }
};

// "mpich" or "openmpi": what mpi4py is built for; empty: it is not installed, or numpy is not.
std::string mpi_of_python() {
  const Result vendor = run_words(
      {"/usr/bin/python3", "-c",
       "import numpy, mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; "
       "print(MPI.get_vendor()[0])"});
  if (vendor.exit_status != 0) return {};
  return vendor.output.rfind("MPICH", 0) == 0 ? "mpich" : "openmpi";
}

void check_counted(const std::map<std::string, std::string>& settings) {
  const TemporaryFolder folder;
  const std::string script = data_file("test/programs/mpi/sites.py");
  const Result result = run_words(
      traced_words(settings, folder / "archive", "mpich", {"/usr/bin/python3", script}));
  INFO(result.errors);
  REQUIRE(result.ok());
  Sites expected;
  std::istringstream lines(result.output);
  std::string function;
  std::string procedure;
  long line = 0;
  long calls = 0;
  while (lines >> function >> line >> procedure >> calls) {
    const std::string file = function == "made" ? "<string>:" : "sites.py:";
    expected[procedure + ' ' + file + std::to_string(line)] += 2 * calls;
  }
  CHECK(expected.size() == 24);
  read_checked(folder / "archive");
  Sites found = sites_of(folder / "archive", true);
  // Before it counts, and after it has printed that.
  for (const std::string of : {"MPI_Init_thread sites.py:", "MPI_Finalize sites.py:"}) {
    const auto at = found.lower_bound(of);
    REQUIRE(at != found.end());
    CHECK(at->first.starts_with(of));
    CHECK(at->second == 2);
    found.erase(at);
  }
  check_sites(found, expected);
}

}  // namespace

TEST_CASE(
    "Python places: calls of MPI - named by the script's line, as many as it counts") {
  check_counted({{"DETECTOR", "activation"}, {"MPI", "mpich"}});
}

TEST_CASE("Python places: calls of MPI - with another detector, and callers") {
  check_counted({{"DETECTOR", "nested"}, {"MPI_FRAMES", "3"}, {"MPI", "mpich"}});
}

TEST_CASE("Python places: a program that loads Python itself, and unloads it") {
  const TemporaryFolder folder;
  const Result result =
      run_words(traced_words({{"LIMIT", "0"}}, folder / "archive", "mpich",
                             {data_file("test/programs/mpi/embedded_gcc").string()}));
  INFO(result.errors);
  REQUIRE(result.ok());
  if (result.output.find("no library") != std::string::npos) {
    WARN("no libpython3.11 is installed: not tested");
    return;
  }
  read_checked(folder / "archive");
  long python = 0;
  long native = 0;
  for (const auto& [site, calls] : sites_of(folder / "archive", true)) {
    INFO(site << ": " << calls);
    if (!site.starts_with("MPI_Barrier ")) continue;
    const bool is_python = site.starts_with("MPI_Barrier <string>:");
    // What is called outside of Python has its own line, or is in the library that calls it.
    CHECK((is_python || site.starts_with("MPI_Barrier embedded.c:") ||
           site.find("ffi") != std::string::npos));
    (is_python ? python : native) += calls;
  }
  // Of two ranks: two scripts of each round, all ten calls but the very first, with which the interpreter becomes known.
  CHECK(python == 2 * (4 * 10 - 1));
  CHECK(native == 2 * (1 + 2 * (6 + 5) + 2 * 64 + 2 * 10 + 1));
}

TEST_CASE(
    "Python places: parallel regions of a library - by its own lines, or by the script's") {
  const TemporaryFolder folder;
  const fs::path with_lines = data_file("test/programs/plugin_gcc.so");
  const fs::path without = folder / "without.so";
  REQUIRE(run_words({"strip", "-g", with_lines, "-o", without}).ok());
  const Script script(folder / "regions.py",
                      "import ctypes, sys\n"
                      "with_lines, without = map(ctypes.CDLL, sys.argv[1:])\n"
                      "def work(library):\n"
                      "    library.plugin_work()  # in a function\n"
                      "for i in range(12):\n"
                      "    with_lines.plugin_work()\n"
                      "for i in range(7):\n"
                      "    work(without)\n"
                      "for i in range(5):\n"
                      "    without.plugin_work()  # in the script\n");
  std::vector<std::string> words = refrain_run({{"LIMIT", "0"}}, folder / "archive");
  for (const std::string& word : {std::string("/usr/bin/python3"), script.file.string(),
                                  with_lines.string(), without.string()})
    words.push_back(word);
  const Result result =
      run_words(words, {{"OMP_NUM_THREADS", "2"}, {"LD_LIBRARY_PATH", ""}});
  INFO(result.errors);
  REQUIRE(result.ok());
  std::map<std::string, long> forks;
  const Trace trace = read_checked(folder / "archive");
  for (const auto& [name, count] : count_by_name(trace)) {
    INFO(name << " " << count);
    if (name.rfind("!$omp", 0) != 0) continue;
    const std::string place = name.substr(name.find('@') + 1);
    CHECK((place.starts_with("plugin.c:") || place == script.at("in a function") ||
           place == script.at("in the script")));
    if (name.starts_with("!$omp parallel @"))
      forks[place.substr(0, place.find("plugin.c") == 0 ? 8 : std::string::npos)] += count;
  }
  // Enters and leaves.
  CHECK(forks == std::map<std::string, long>{{"plugin.c", 2 * 12},
                                             {script.at("in a function"), 2 * 7},
                                             {script.at("in the script"), 2 * 5}});
}

TEST_CASE(
    "Python places: mpi4py and numpy - sites, loops and findings have the script's lines") {
  const std::string mpi = mpi_of_python();
  if (mpi.empty()) {
    WARN("no mpi4py (python3-mpi4py) or no numpy (python3-numpy) is installed: not tested");
    return;
  }
  const TemporaryFolder folder;
  const Script script(
      folder / "solver.py",
      "import time\n"
      "import numpy as np\n"
      "from mpi4py import MPI  # start\n"
      "comm = MPI.COMM_WORLD\n"
      "class Field:\n"
      "    def norm(self, x):\n"
      "        local = np.apply_along_axis(self.part, 0, x)\n"
      "        return comm.allreduce(float(local), op=MPI.MAX)  # norm\n"
      "    def part(self, x):\n"
      "        comm.Barrier()  # called by numpy\n"
      "        return np.sum(x)\n"
      "def step(field, x):\n"
      "    if comm.rank == 1:\n"
      "        time.sleep(0.005)\n"
      "    total = np.empty_like(x)\n"
      "    comm.Allreduce(x, total)  # step\n"
      "    for k in range(3):  # inner\n"
      "        comm.Barrier()  # barrier\n"
      "    return field.norm(total)\n"
      "def main():\n"
      "    x = np.arange(8.0)\n"
      "    visit = np.vectorize(lambda i: comm.Barrier() or i)  # vectorize\n"
      "    for i in range(40):  # outer\n"
      "        step(Field(), x)\n"
      "    visit(np.arange(6))\n"
      "main()\n");
  const Result result =
      run_words(traced_words({{"DETECTOR", "activation"}}, folder / "archive", mpi,
                             {"/usr/bin/python3", script.file.string()}));
  INFO(result.errors);
  REQUIRE(result.ok());
  read_checked(folder / "archive");
  const Sites found = sites_of(folder / "archive", false);
  const auto calls = [&](const std::string& procedure, const std::string& name) {
    const auto at = found.find(procedure + ' ' + script.at(name));
    return at == found.end() ? 0 : at->second;
  };
  CHECK(calls("MPI_Init_thread", "start") == 2);
  CHECK(calls("MPI_Allreduce", "step") == 2 * 40);
  CHECK(calls("MPI_Barrier", "barrier") == 2 * 3 * 40);
  CHECK(calls("MPI_Barrier", "called by numpy") == 2 * 40);
  CHECK(calls("MPI_Bcast", "norm") + calls("MPI_Allreduce", "norm") >= 2 * 40);
  // numpy.vectorize calls once more, to see what it gets.
  CHECK(calls("MPI_Barrier", "vectorize") == 2 * (6 + 1));
  const Result info = run_refrain({"info", folder / "archive", "--all"});
  INFO(info.output);
  CHECK(info.output.find(" main solver.py:23-24") != std::string::npos);
  CHECK(info.output.find(" step solver.py:17-18") != std::string::npos);
  // That of numpy.vectorize.
  CHECK(info.output.find(" main solver.py:25") != std::string::npos);
  const Result analysis = run_refrain({"analyze", folder / "archive"});
  INFO(analysis.output);
  CHECK(analysis.output.find(script.at("step")) != std::string::npos);
  CHECK(analysis.output.find("MPI.cpython") == std::string::npos);
}

TEST_CASE("Python places: petsc4py - a matrix that PETSc calls in Python") {
  const char* const folder_of_petsc =
      "/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real/lib/python3/dist-packages";
  const std::string path = fs::exists(folder_of_petsc) ? folder_of_petsc : "";
  const Result there =
      run_words({"/usr/bin/python3", "-c", "import petsc4py"}, {{"PYTHONPATH", path}});
  if (there.exit_status != 0) {
    WARN("no petsc4py (python3-petsc4py) is installed: not tested");
    return;
  }
  const TemporaryFolder folder;
  const Script script(folder / "shell.py",
                      "import sys, petsc4py\n"
                      "petsc4py.init(sys.argv)\n"
                      "from petsc4py import PETSc\n"
                      "rank = PETSc.COMM_WORLD.getRank()\n"
                      "class Shell:\n"
                      "    calls = 0\n"
                      "    def mult(self, mat, x, y):\n"
                      "        Shell.calls += 1\n"
                      "        x.copy(y)\n"
                      "        y.shift(0.001 * x.sum())  # mult\n"
                      "def solve(solver, b, x):\n"
                      "    solver.solve(b, x)  # solve\n"
                      "def main():\n"
                      "    a = PETSc.Mat().createPython([100, 100])\n"
                      "    a.setPythonContext(Shell())\n"
                      "    a.setUp()\n"
                      "    x, b = a.createVecs()\n"
                      "    solver = PETSc.KSP().create()\n"
                      "    solver.setOperators(a)\n"
                      "    solver.setType('cg')\n"
                      "    solver.getPC().setType('none')\n"
                      "    for i in range(20):\n"
                      "        b.set(1.0 + i)\n"
                      "        b.setValue(i, 3.0)\n"
                      "        b.assemble()  # assemble\n"
                      "        solve(solver, b, x)\n"
                      "main()\n"
                      "if rank == 0: print(Shell.calls)\n");
  const Result result =
      run_words(traced_words({{"DETECTOR", "activation"}}, folder / "archive", "openmpi",
                             {"/usr/bin/python3", script.file.string()}),
                {{"PYTHONPATH", path}});
  INFO(result.errors);
  REQUIRE(result.ok());
  read_checked(folder / "archive");
  const Sites found = sites_of(folder / "archive", false);
  const long mults = std::stol(result.output);
  CHECK(mults >= 20);
  CHECK(found.at("MPI_Allreduce " + script.at("mult")) == 2 * mults);
  CHECK(found.at("MPI_Allreduce " + script.at("solve")) >= 2 * mults);
  CHECK(found.at("MPI_Allreduce " + script.at("assemble")) >= 2 * 20);
  const Result info = run_refrain({"info", folder / "archive", "--all"});
  INFO(info.output);
  CHECK(info.output.find(" main shell.py:22-26") != std::string::npos);
  // PETSc's own.
  CHECK(info.output.find(" solve shell.py:12") != std::string::npos);
}

}  // namespace refrain::test::python_places_test
