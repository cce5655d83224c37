#include "test/runs/run_program.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "test/support/files.h"

extern char** environ;

namespace refrain::test {
namespace {

namespace fs = std::filesystem;

std::string program_path(const std::string& name) {
  const bool elsewhere = name.find('/') != std::string::npos;
  return data_file(elsewhere ? name : "test/programs/" + name);
}

bool made_for_libgomp(const std::string& program) {
  return program.find("_gcc") != std::string::npos ||
         program.find("_gfortran") != std::string::npos;
}

std::string flag_of(std::string setting) {
  for (char& c : setting) c = c == '_' ? '-' : static_cast<char>(std::tolower(c));
  return "--" + setting;
}

void use_run(Command& command, const Job& job, const fs::path& archive) {
  const std::vector<std::string> words = refrain_run(job.settings, archive);
  command.arguments.insert(command.arguments.begin(), words.begin(), words.end());
}

void use_environment(Command& command, const Job& job, const fs::path& archive) {
  command.environment["REFRAIN_ARCHIVE"] = archive;
  command.environment["REFRAIN_QUIET"] = "yes";
  for (const auto& [name, value] : job.settings)
    command.environment["REFRAIN_" + name] = value;
}

// A directory where the library has the name that the loader needs.
void use_library_folder(Command& command, const TemporaryFolder& folder) {
  fs::create_symlink(data_file("tracer/librefrain.so"), folder / "librefrain.so.0");
  command.environment["LD_LIBRARY_PATH"] = folder.path();
}

// Characters that are not for the names of Bazel's targets, or of files, are an underscore.
std::string as_name(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) &&
        std::string(".+=,-").find(c) == std::string::npos)
      c = '_';
  return text;
}

std::string line_with(const std::string& function, const std::string& program,
                      const std::vector<std::string>& arguments, const std::string& who,
                      const std::map<std::string, std::string>& settings,
                      const std::map<std::string, std::string>& environment) {
  const std::string folder = "test/programs/";
  std::string line =
      function + "(\"" +
      (program.rfind(folder, 0) == 0 ? program.substr(folder.size()) : program) + "\"";
  std::string words;
  for (const std::string& argument : arguments)
    words += (words.empty() ? "" : " ") + argument;
  if (!words.empty()) line += ", \"" + words + "\"";
  line += who;
  std::string variables;
  for (const auto& [name, value] : environment)
    variables += (variables.empty() ? "" : ", ") + ("\"" + name + "\": \"" + value + "\"");
  if (!variables.empty()) line += ", environment = {" + variables + "}";
  for (const auto& [name, value] : settings) line += ", " + name + " = \"" + value + "\"";
  return line + "),";
}

std::string name_with(const std::string& program, const std::vector<std::string>& arguments,
                      const std::string& who,
                      const std::map<std::string, std::string>& settings,
                      const std::map<std::string, std::string>& environment) {
  std::string name = program.substr(program.rfind('/') + 1);
  for (const std::string& argument : arguments) name += "-" + as_name(argument);
  name += who;
  for (const auto* each : {&settings, &environment})
    for (const auto& [setting, value] : *each) name += "_" + setting + "=" + as_name(value);
  return name;
}

}  // namespace

// Removes the environment's settings of OpenMP and tracing.
std::map<std::string, std::optional<std::string>> clean_environment() {
  std::map<std::string, std::optional<std::string>> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (name == "REFRAIN_LIBOMP")
      continue;  // set by the build: that of the programs' compiler
    for (const char* prefix : {"OMP_", "KMP_", "GOMP_", "REFRAIN_", "LD_PRELOAD"})
      if (name.rfind(prefix, 0) == 0 && name.rfind("REFRAIN_TEST_", 0) != 0)
        result[name] = std::nullopt;
  }
  return result;
}

// A library with a sanitizer needs the sanitizer's runtime first in the program. The programs
// themselves are not instrumented. The sanitizer must not print its suppressions: the
// program's stderr is compared.
void put_sanitizer_first(Command& command) {
  const char* runtime = std::getenv("REFRAIN_TEST_RUNTIME");
  if (runtime == nullptr) return;
  std::optional<std::string>& preload = command.environment["LD_PRELOAD"];
  preload = runtime + (preload ? ":" + *preload : std::string());
  const auto use = [&command](const std::string& variable, const std::string& file) {
    const char* given = std::getenv(variable.c_str());
    command.environment[variable] =
        (given != nullptr ? given + std::string(":") : "") +
        "print_suppressions=0:suppressions=" + data_file(file).string();
  };
  use("LSAN_OPTIONS", "test/end_to_end/libomp.lsan");
  // gcc 12's fails in the thread storage of programs whose runtime ends its threads during the
  // leak check ("Tracer caught signal 11").
  command.environment["LSAN_OPTIONS"]->append(":use_tls=0");
  use("TSAN_OPTIONS", "test/end_to_end/libomp.tsan");
  // Programs with threads fork.
  command.environment["TSAN_OPTIONS"]->append(":die_after_fork=0");
}

std::vector<std::string> refrain_run(const std::map<std::string, std::string>& settings,
                                     const fs::path& archive) {
  std::vector<std::string> words = {data_file("tools/refrain"), "run", "--quiet", "-o",
                                    archive};
  for (const auto& [name, value] : settings) {
    // "yes": a switch.
    words.push_back(value == "yes" ? flag_of(name) : flag_of(name) + '=' + value);
  }
  words.push_back("--");
  return words;
}

std::string libomp() {
  const char* given = std::getenv("REFRAIN_LIBOMP");
  return given ? given : "/usr/lib/llvm-19/lib/libomp.so.5";
}

Result run_job(const Job& job, Way way, const fs::path& archive) {
  Command command;
  command.arguments = {program_path(job.program)};
  command.arguments.insert(command.arguments.end(), job.arguments.begin(),
                           job.arguments.end());
  command.environment = clean_environment();
  command.environment["OMP_NUM_THREADS"] = std::to_string(job.threads);
  for (const auto& [name, value] : job.environment) command.environment[name] = value;
  command.kill_signal = job.kill_signal;
  command.kill_after = job.kill_after;
  command.kill_once = job.kill_once;
  std::optional<TemporaryFolder> folder;
  if (way == Way::kRun) use_run(command, job, archive);
  if (way == Way::kLinked || way == Way::kPreload) use_environment(command, job, archive);
  if (way == Way::kLinked) use_library_folder(command, folder.emplace());
  if (way == Way::kPreload) {
    std::string libraries = data_file("tracer/librefrain.so");
    if (made_for_libgomp(job.program)) libraries += ":" + libomp();
    command.environment["LD_PRELOAD"] = libraries;
  }
  if (way != Way::kNone) put_sanitizer_first(command);
  if (!job.limits.empty()) {
    const std::string script = "ulimit " + job.limits + " && exec \"$@\"";
    const std::vector<std::string> shell = {"bash", "-c", script, "limited"};
    command.arguments.insert(command.arguments.begin(), shell.begin(), shell.end());
  }
  return run(command);
}

Result run_untraced(const Job& job) { return run_job(job, Way::kNone, {}); }

const char* text(MpiWay way) {
  switch (way) {
    case MpiWay::kInside:
      return "mpirun refrain run program";
    case MpiWay::kOutside:
      return "refrain run mpirun program";
    default:
      return "untraced";
  }
}

std::string tested_mpi() {
  const char* given = std::getenv("REFRAIN_TEST_MPI");
  return given == nullptr ? "mpich" : given;
}

std::vector<std::string> mpirun(int ranks, const std::string& mpi) {
  std::vector<std::string> words{"mpirun." + mpi, "-n", std::to_string(ranks)};
  if (mpi == "openmpi") words.emplace_back("--oversubscribe");
  return words;
}

void set_mpirun_environment(Command& command) {
  // Open MPI's mpirun does not run as root otherwise.
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
    command.environment[name] = "1";
}

void put_mpi_sanitizer_first(Command& command) {
  put_sanitizer_first(command);
  // Callers of a library that has been unloaded are not found by frame pointers, and so
  // the names in libomp.lsan would not match.
  const char* given = std::getenv("ASAN_OPTIONS");
  if (given == nullptr) return;
  const std::string wanted = command.environment["ASAN_OPTIONS"].value_or("");
  command.environment["ASAN_OPTIONS"] =
      given + std::string(":fast_unwind_on_malloc=0:") + wanted;
}

Result run_mpi(const MpiJob& job, MpiWay way, const fs::path& archive) {
  Command command;
  const auto add = [&command](const std::vector<std::string>& words) {
    command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  };
  if (way == MpiWay::kOutside) add(refrain_run(job.settings, archive));
  add(mpirun(job.ranks, job.mpi));
  if (way == MpiWay::kInside) add(refrain_run(job.settings, archive));
  const bool elsewhere = job.program.find('/') != std::string::npos;
  const std::string end = job.mpi == "mpich" ? "" : "_" + job.mpi;
  add({data_file((elsewhere ? "" : "test/programs/mpi/") + job.program + end)});
  add(job.arguments);
  command.environment = clean_environment();
  set_mpirun_environment(command);
  command.environment["OMP_NUM_THREADS"] = std::to_string(job.threads);
  command.environment["MESSAGE_LOG"] = std::nullopt;
  if (!job.message_log.empty()) command.environment["MESSAGE_LOG"] = job.message_log;
  // Open MPI's own choice has no MPI_Win_create for a job of one process.
  if (job.mpi == "openmpi" && job.ranks == 1) command.environment["OMPI_MCA_osc"] = "pt2pt";
  for (const auto& [name, value] : job.environment) command.environment[name] = value;
  command.kill_signal = job.kill_signal;
  command.kill_after = job.kill_after;
  command.kill_once = job.kill_once;
  if (way != MpiWay::kNone) put_mpi_sanitizer_first(command);
  return run(command);
}

Result run_mpi(const MpiJob& job) { return run_mpi(job, MpiWay::kNone, {}); }

std::string name_of_run(const Job& job) {
  return name_with(job.program, job.arguments, "_t" + std::to_string(job.threads),
                   job.settings, job.environment);
}

std::string name_of_run(const MpiJob& job, MpiWay way) {
  const std::string who = (job.mpi == "mpich" ? "" : "_" + job.mpi) + "_n" +
                          std::to_string(job.ranks) + (way == MpiWay::kOutside ? "o" : "") +
                          "_t" + std::to_string(job.threads);
  return name_with(job.program, job.arguments, who, job.settings, job.environment);
}

std::string line_of_run(const Job& job) {
  const std::string who =
      job.threads == 2 ? "" : ", threads = " + std::to_string(job.threads);
  return line_with("openmp", job.program, job.arguments, who, job.settings,
                   job.environment);
}

std::string line_of_run(const MpiJob& job, MpiWay way) {
  std::string who;
  if (job.ranks != 2) who += ", ranks = " + std::to_string(job.ranks);
  if (job.threads != 1) who += ", threads = " + std::to_string(job.threads);
  if (way == MpiWay::kOutside) who += ", outside = True";
  return line_with("mpi", job.program, job.arguments, who, job.settings, job.environment);
}

}  // namespace refrain::test
