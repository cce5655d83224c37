// What cannot be traced, or only with another runtime: the program does what it does untraced, and one line says what is
// missing, why and what helps.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/trace_checks.h"

namespace refrain::test::untraced_test {
namespace {

namespace fs = std::filesystem;

std::string of_tests(const std::string& name) { return data_file("test/programs/" + name); }

// `refrain run` of a command, with its lines.
Result run_aloud(const std::vector<std::string>& words, const fs::path& archive,
                 const std::map<std::string, std::string>& environment = {}) {
  Command command;
  command.arguments = {data_file("tools/refrain"), "run", "-o", archive, "--"};
  command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  command.environment = clean_environment();
  command.environment["OMP_NUM_THREADS"] = "2";
  for (const auto& [name, value] : environment) command.environment[name] = value;
  put_sanitizer_first(command);
  return run(command);
}

long lines_of(const std::string& text) {
  return static_cast<long>(std::count(text.begin(), text.end(), '\n'));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// As words: screens break lines at blanks.
std::string one_line(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

std::map<std::string, std::uint64_t> names_of(const fs::path& archive) {
  return count_by_name(read_checked(archive));
}

}  // namespace

TEST_CASE(
    "Untraced: asynchronous target constructs of gcc - have the right result, and are traced") {
  const TemporaryFolder folder;
  const Job job{"nowait_gcc", {}, 2, {{"LIMIT", "0"}}};
  CHECK(run_untraced(job).output == "sum=10\n");
  const Traced traced = trace(job, folder / "archive");
  CHECK(traced.result.output == "sum=10\n");
}

TEST_CASE(
    "Untraced: what LLVM's runtime does not do for gcc - libgomp does, which is reported once") {
  const auto [program, feature] = GENERATE(table<std::string, std::string>(
      {{"detach_gcc", "detached tasks"}, {"inscan_gcc", "inscan"}}));
  CAPTURE(program);
  const TemporaryFolder folder;
  const Result traced = run_aloud({of_tests(program)}, folder / "archive");
  INFO(traced.errors);
  CHECK(traced.exit_status == 0);
  CHECK(traced.output == "sum=10\n");
  CHECK(lines_of(traced.errors) == 1);
  CHECK(has(traced.errors, feature));
  CHECK(has(traced.errors, "not traced"));
  const Result doctor = run_refrain({"doctor", of_tests(program)});
  CHECK(has(doctor.output, feature));
}

TEST_CASE(
    "Untraced: loops of gcc - each thread has the iterations that OpenMP prescribes, and regions have their lines") {
  const TemporaryFolder folder;
  const Job job{"gomp_loops_gcc", {}, 2, {{"LIMIT", "0"}}};
  const Result plain = run_untraced(job);
  REQUIRE(lines_of(plain.output) == 97);
  const Traced traced = trace(job, folder / "archive");
  CHECK(traced.result.output == plain.output);
  // Each loop is a statement of its own of the program; empty ones are none.
  std::uint64_t loops = 0;
  for (const auto& [name, count] : count_by_name(traced.trace)) {
    INFO(name);
    if (name.rfind("!$omp for", 0) != 0) continue;
    CHECK(name.rfind("!$omp for @gomp_loops.c:", 0) == 0);
    loops += count;
  }
  CHECK(loops == 2 * (13 * 5 + 3 * 20));
}

TEST_CASE(
    "Untraced: taskloops of gcc - no iteration is left out, executed twice or beyond the end") {
  const TemporaryFolder folder;
  const Job job{"gomp_taskloops_gcc", {}, 2, {{"LIMIT", "0"}}};
  const Result plain = run_untraced(job);
  REQUIRE(lines_of(plain.output) == 20);
  const Traced traced = trace(job, folder / "archive");
  CHECK(traced.result.output == plain.output);
  std::uint64_t loops = 0;
  for (const auto& [name, count] : count_by_name(traced.trace)) {
    INFO(name);
    if (name.rfind("!$omp taskloop", 0) == 0) loops += count;
    if (name.rfind("!$omp taskloop", 0) == 0 || name.rfind("!$omp taskgroup", 0) == 0)
      CHECK(has(name, " @gomp_taskloops.cc:"));
  }
  CHECK(loops == 20 - 5);  // LLVM's runtime reports none without iterations
}

TEST_CASE(
    "Untraced: dependences in loops over unsigned long of gcc - need libgomp, which is reported") {
  const TemporaryFolder folder;
  const std::string program = of_tests("gomp_loops_unsigned_gcc");
  const Result plain = run({.arguments = {program}, .environment = clean_environment()});
  REQUIRE(lines_of(plain.output) == 2);
  const Result traced = run_aloud({program}, folder / "archive");
  INFO(traced.errors);
  CHECK(traced.exit_status == 0);
  CHECK(traced.output == plain.output);
  CHECK(lines_of(traced.errors) == 1);
  CHECK(has(traced.errors, "uses doacross loops over unsigned long"));
}

TEST_CASE("Untraced: another LD_PRELOAD in the command - ours stays before it") {
  const TemporaryFolder folder;
  const std::string program = of_tests("calls_gcc");
  const Result kept =
      run_aloud({"env", "LD_PRELOAD=libdl.so.2", program}, folder / "archive");
  INFO(kept.errors);
  CHECK(kept.output == "sum=235\n");
  CHECK(fs::exists(folder / "archive/traces.otf2"));
}

TEST_CASE(
    "Untraced: a program of gcc with a library of clang - regions of both are traced") {
  const TemporaryFolder folder;
  const Result traced = run_aloud({of_tests("calls_gcc")}, folder / "archive");
  CHECK(traced.exit_status == 0);
  CHECK(traced.output == "sum=235\n");
  CHECK(!has(traced.errors, "not traced"));
  std::uint64_t program = 0;
  std::uint64_t library = 0;
  for (const auto& [name, count] : names_of(folder / "archive")) {
    if (name.rfind("!$omp parallel @of_gcc.c:", 0) == 0) program += count;
    if (name.rfind("!$omp parallel @two_runtimes.c:", 0) == 0) library += count;
  }
  CHECK(program == 5 * 2);
  CHECK(library == 5 * 2);
}

TEST_CASE(
    "Untraced: a program of gcc - it is said which runtime ran it, or that it kept its own") {
  const TemporaryFolder folder;
  const std::string program = of_tests("user/regions_gcc_openmp");
  const Result plain =
      run({.arguments = {program, "steps", "20"}, .environment = clean_environment()});
  const std::string in_place = "in place of libgomp";
  const std::string replaced = folder / "replaced";
  const Result traced =
      run_aloud({program, "steps", "20"}, replaced, {{"REFRAIN_LIMIT", "0"}});
  INFO(traced.errors);
  CHECK(traced.output == plain.output);
  CHECK(lines_of(traced.errors.substr(0, traced.errors.find(in_place))) == 0);
  CHECK(has(one_line(run_refrain({"info", replaced}).output), in_place));
  CHECK(has(one_line(run_refrain({"profile", replaced}).output), in_place));
  CHECK(names_of(replaced).count("solve") == 1);

  const std::string kept = folder / "kept";
  const Result own = run_aloud({program, "steps", "20"}, kept,
                               {{"REFRAIN_LIBOMP", "none"}, {"REFRAIN_LIMIT", "0"}});
  INFO(own.errors);
  CHECK(own.exit_status == plain.exit_status);
  CHECK(own.output == plain.output);
  CHECK(has(own.errors, "keeps libgomp"));
  for (const char* command : {"info", "profile"}) {
    const std::string screen = one_line(run_refrain({command, kept}).output);
    CHECK(has(screen, "OpenMP libgomp"));
    CHECK(!has(screen, in_place));
  }
  const auto names = names_of(kept);
  CHECK(names.at("solve") == names_of(replaced).at("solve"));
  CHECK(names.at("member") > names.at("solve"));  // of all threads of the team
  for (const auto& [name, count] : names) CHECK(name.rfind("!$omp", 0) != 0);

  CHECK(has(run_refrain({"compare", replaced, kept}).output,
            "different OpenMP runtimes (A: LLVM's libomp, B: libgomp)"));
  CHECK(!has(run_refrain({"compare", replaced, replaced}).output, "different"));
}

TEST_CASE("Untraced: MPI of a program that keeps libgomp - is recorded, and no OpenMP") {
  const TemporaryFolder folder;
  const MpiJob job{.program = "hybrid_gcc",
                   .arguments = {"30", "200"},
                   .threads = 2,
                   .settings = {{"LIBOMP", "none"}, {"LIMIT", "0"}}};
  MpiJob plain = job;
  plain.settings.clear();
  const Result traced = run_mpi(job, MpiWay::kInside, folder / "archive");
  INFO(traced.errors);
  CHECK(traced.output == run_mpi(plain).output);
  std::uint64_t sends = 0;
  for (const auto& [name, count] : names_of(folder / "archive")) {
    CHECK(name.rfind("!$omp", 0) != 0);
    if (name.rfind("MPI_", 0) == 0) sends += count;
  }
  CHECK(sends > 60);
}

TEST_CASE("Untraced: libgomp without LLVM's runtime in front - is reported at the end") {
  const TemporaryFolder folder;
  Command command;
  command.arguments = {of_tests("plain_gcc")};
  command.environment = clean_environment();
  command.environment["LD_PRELOAD"] = data_file("tracer/librefrain.so").string();
  command.folder = folder.path();
  put_sanitizer_first(command);
  const Result traced = run(command);
  CHECK(traced.output == "sum=10\n");
  INFO(traced.errors);
  CHECK(lines_of(traced.errors) == 1);
  CHECK(has(traced.errors, "libgomp"));
  CHECK(has(traced.errors, "not traced"));
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("Untraced: the archive cannot be written - the reason, once, and no kill") {
  const auto [how, why] = GENERATE(table<std::string, std::string>(
      {{"few-files", "Too many open"},
       {"nobody", "/refrain-archive/spool: Permission denied"},
       {"chroot", ", for the program has changed its root directory"}}));
  if (geteuid() != 0 && how != "few-files") return;
  const TemporaryFolder folder;
  const std::string program = of_tests("exitcode_gcc");
  const Result traced = run_aloud({program, how, "3"}, folder / "refrain-archive");
  INFO(traced.errors);
  REQUIRE(traced.exit_status == 3);
  CHECK(has(traced.errors, "the archive could not be written ("));
  CHECK(has(traced.errors, why));
  CHECK(lines_of(traced.errors) == 2);  // the first: which runtime it has
  CHECK(!has(traced.errors, "killed"));
  const Result next = run_aloud({program}, folder / "next");
  INFO(next.errors);
  CHECK(has(next.errors,
            "/refrain-archive' is the recording of a run that could not write its"));
  CHECK(run_refrain({"recover", folder / "refrain-archive"}).exit_status == 0);
}

TEST_CASE("Untraced: OMP_TOOL is changed in the command - is why there is no archive") {
  const TemporaryFolder folder;
  const Result traced =
      run_aloud({"env", "OMP_TOOL=disabled", of_tests("plain_gcc")}, folder / "archive");
  INFO(traced.errors);
  CHECK(traced.output == "sum=10\n");
  CHECK(lines_of(traced.errors) == 1);
  CHECK(has(traced.errors, "no archive: OMP_TOOL is 'disabled'"));
}

TEST_CASE("Untraced: no memory for the tracer - nothing is left that looks killed") {
  if (std::getenv("REFRAIN_TEST_RUNTIME") != nullptr) return;
  bool refused = false;
  for (int kilobytes = 8000; kilobytes <= 64000; kilobytes += 4000) {
    const TemporaryFolder folder;
    const std::string limited = "ulimit -d " + std::to_string(kilobytes) + " && exec " +
                                of_tests("exitcode_clang") + " return 3";
    const Result traced = run_aloud({"bash", "-c", limited}, folder / "archive");
    INFO(kilobytes << " KB: " << traced.errors);
    if (!has(traced.errors, "tracing cannot start")) continue;
    refused = true;
    CHECK(!fs::exists(folder / "archive"));
  }
  CHECK(refused);
}

TEST_CASE("Untraced: no room for any thread - is said, wherever the archive is read") {
  std::string seen;
  for (int blocks = 500; blocks <= 5000 && seen.empty(); blocks += 500) {
    const TemporaryFolder folder;
    const fs::path archive = folder / "archive";
    const std::string limited = "ulimit -f " + std::to_string(blocks) + " && exec " +
                                of_tests("exitcode_clang") + " return 3";
    const Result traced = run_aloud({"bash", "-c", limited}, archive);
    CHECK(traced.exit_status == 3);
    if (!has(traced.errors, "wrote 0 of 0 events")) continue;
    seen = traced.errors;
    CHECK(has(seen, "refrain: 2 threads were not recorded at all"));
    CHECK(!has(seen, "lost events"));
    CHECK(!has(seen, "everything"));
    CHECK(!has(seen, " %)"));
    const std::string info = one_line(run_refrain({"info", archive}).output);
    CHECK(has(info, "Written 0 of 0 events Why no loop detected; nothing of 2 threads"));
    CHECK(has(info, "Lost 2 threads that were not recorded at all"));
    for (const char* const command : {"analyze", "profile"})
      CHECK(has(run_refrain({command, archive}).errors,
                "2 threads were not recorded at all"));
    const Result report = run_refrain({"report", "-o", folder / "report.html", archive});
    CHECK(has(report.errors, "2 threads were not recorded at all"));
  }
  CHECK(seen != "");
}

// What LLVM's runtime cannot do without, in a mount namespace of its own.
TEST_CASE("Untraced: no shared memory - a program of gcc keeps libgomp, and ends well") {
  const std::string mount = GENERATE(
      "mount -t tmpfs -o ro tmpfs /dev/shm",
      "mount -t tmpfs -o size=4k tmpfs /dev/shm && head -c 4096 /dev/zero >/dev/shm/full");
  const TemporaryFolder folder;
  Command command;
  command.arguments = {"unshare", "-m", "bash", "-c", mount + " && exec \"$@\"", "mounted"};
  command.environment = clean_environment();
  const std::vector<std::string> program = {of_tests("plain_gcc")};
  const std::vector<std::string> traced = {data_file("tools/refrain"), "run", "-o",
                                           folder / "archive", "--"};
  const std::vector<std::string> mounting = command.arguments;
  command.arguments.insert(command.arguments.end(), program.begin(), program.end());
  if (run(command).output != "sum=10\n") {
    WARN("nothing can be mounted here: not tested");
    return;
  }
  command.arguments = mounting;
  command.arguments.insert(command.arguments.end(), traced.begin(), traced.end());
  command.arguments.insert(command.arguments.end(), program.begin(), program.end());
  put_sanitizer_first(command);
  const Result result = run(command);
  INFO(result.errors);
  CHECK(result.exit_status == 0);
  CHECK(result.output == "sum=10\n");
  CHECK(lines_of(result.errors) == 1);
  CHECK(has(result.errors, "needs shared memory, which cannot be made (/dev/shm: "));
}

TEST_CASE("Untraced: a program that is linked statically - is reported, and runs") {
  const TemporaryFolder folder;
  const Result traced = run_aloud({of_tests("static_gcc")}, folder / "archive");
  INFO(traced.errors);
  CHECK(traced.exit_status == 0);
  CHECK(traced.output == "sum=10\n");
  CHECK(lines_of(traced.errors) == 1);
  CHECK(has(traced.errors, "linked statically"));
}

TEST_CASE(
    "Untraced: libgomp linked statically into a program - is why there is no archive") {
  const TemporaryFolder folder;
  const Result traced = run_aloud({of_tests("inside_gcc")}, folder / "archive");
  INFO(traced.errors);
  CHECK(traced.exit_status == 0);
  CHECK(traced.output == "sum=10\n");
  CHECK(lines_of(traced.errors) == 1);
  CHECK(has(traced.errors, "has libgomp linked into it statically"));
  CHECK_FALSE(has(traced.errors, "used no OpenMP"));
}

TEST_CASE("Untraced: a program with the address sanitizer - its runtime comes first") {
  if (std::getenv("REFRAIN_TEST_RUNTIME") != nullptr) return;  // two of them
  const TemporaryFolder folder;
  const Result traced = run_aloud({of_tests("asan_gcc")}, folder / "archive",
                                  {{"ASAN_OPTIONS", "detect_leaks=0"}});
  INFO(traced.errors);
  CHECK(traced.exit_status == 0);
  CHECK(traced.output == "sum=10\n");
  std::uint64_t regions = 0;
  for (const auto& [name, count] : names_of(folder / "archive"))
    if (name.rfind("!$omp parallel @of_gcc.c:", 0) == 0) regions += count;
  CHECK(regions == 2);
}

TEST_CASE(
    "Untraced: MPI in a script - is traced where the script names the program, else reported") {
  const TemporaryFolder folder;
  Command probe;
  set_mpirun_environment(probe);
  std::map<std::string, std::string> environment;
  for (const auto& [name, value] : probe.environment)
    if (value) environment[name] = *value;
  std::string start;
  for (const std::string& word : mpirun(2)) start += word + ' ';
  const std::string ring = of_tests("mpi/ring_gcc");

  const Result named =
      run_aloud({"bash", "-c", start + ring}, folder / "named", environment);
  INFO(named.errors);
  CHECK(named.exit_status == 0);
  CHECK(!has(named.errors, "not traced"));
  CHECK(names_of(folder / "named").count("MPI_Init") == 1);

  const fs::path script = folder / "script";
  std::ofstream(script) << "#!/bin/bash\nfolder=" << fs::path(ring).parent_path().string()
                        << "\n"
                        << start << "$folder/ring_gcc\n";
  fs::permissions(script, fs::perms::owner_all);
  const Result hidden = run_aloud({script}, folder / "hidden", environment);
  INFO(hidden.errors);
  CHECK(hidden.exit_status == 0);
  CHECK(has(hidden.errors, "MPI was not traced"));
}

TEST_CASE(
    "Untraced: a program that dies - ends as it did, and one line says what can be had of it") {
  const TemporaryFolder folder;
  const std::string unruly = of_tests("unruly_clang");
  const Result plain =
      run({.arguments = {unruly, "uncaught"}, .environment = clean_environment()});
  const Result traced = run_aloud({unruly, "uncaught"}, folder / "archive");
  CHECK(traced.signal == plain.signal);
  CHECK(traced.exit_status == plain.exit_status);
  INFO(traced.errors);
  CHECK(has(traced.errors, "refrain recover " + (folder / "archive").string()));
  CHECK(run_refrain({"recover", (folder / "archive").string()}).ok());
  // Before anything was recorded.
  const Result early = run_aloud({"bash", "-c", "kill -9 $$"}, folder / "early");
  CHECK(early.signal == SIGKILL);
  CHECK(lines_of(early.errors) == 1);
  CHECK(has(early.errors, "no archive"));
  const Result late = run_aloud({"bash", "-c", "exit 3"}, folder / "late");
  CHECK(late.exit_status == 3);
  CHECK(lines_of(late.errors) == 1);
}

// As the workers of Python's multiprocessing do.
TEST_CASE(
    "Untraced: children that end by _exit - one line says that they have no archive yet") {
  const TemporaryFolder folder;
  const Result traced =
      run_aloud({of_tests("hostile_clang"), folder / "result", folder.path(), "regions",
                 "fork-thread", "fork-thread", "regions"},
                folder / "archive");
  INFO(traced.errors);
  CHECK(traced.exit_status == 0);
  const std::string second = (folder / "archive.2").string();
  CHECK(has(traced.errors, "2 recordings, the first in '" + second + "'"));
  CHECK(has(traced.errors, "'refrain recover " + second + "'"));
  CHECK(run_refrain({"recover", second}).ok());
  CHECK(fs::exists(folder / "archive" / "traces.otf2"));
}

TEST_CASE(
    "Untraced: a program of MPI that dies before MPI_Init - one line says where its recording is") {
  const TemporaryFolder folder;
  const Result traced = run_aloud(
      {of_tests("mpi/hostile_gcc"), folder / "result", folder.path(), "regions", "e-abort"},
      folder / "archive");
  INFO(traced.errors);
  CHECK(traced.signal == SIGABRT);
  const std::string begin = "'refrain recover ";
  const std::size_t at = traced.errors.find(begin);
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + begin.size();
  const std::string left = traced.errors.substr(from, traced.errors.find("'", from) - from);
  CHECK(fs::path(left).filename().string().starts_with(".refrain-hostile_gcc-"));
  // Who asks for the archive's name is shown where the rest is.
  for (const char* command : {"recover", "info", "profile"}) {
    const Result asked = run_refrain({command, (folder / "archive").string()});
    CHECK_FALSE(asked.ok());
    CHECK(has(asked.errors, "archive' does not exist: the job was killed"));
    CHECK(has(asked.errors, begin + left));
  }
  CHECK(run_refrain({"recover", left}).ok());
  CHECK(fs::exists(fs::path(left) / "traces.otf2"));
}

}  // namespace refrain::test::untraced_test
