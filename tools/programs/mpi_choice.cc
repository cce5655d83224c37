#include "tools/programs/mpi_choice.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/launcher.h"
#include "tools/programs/elf_program.h"
#include "tools/programs/mpi_abi.h"

namespace refrain::tools {

namespace {

bool begins(const std::string& word, const char* with) {
  return std::filesystem::path(word).filename().string().rfind(with, 0) == 0;
}

bool is_shell(const std::string& word) {
  const std::string name = std::filesystem::path(word).filename();
  return name == "sh" || name == "bash" || name == "dash" || name == "zsh" || name == "ksh";
}

bool starts_mpi(const std::vector<std::string>& command) {
  return begins(command[0], "mpirun") || begins(command[0], "mpiexec");
}

// Whose launcher has started this process, or is started by it; empty: none, or one of any MPI.
std::string launcher_of(const std::vector<std::string>& command, const Program& first) {
  if (const char* mpi = base::launching_mpi()) return mpi;
  return starts_mpi(command) ? mpi_of_launcher(first) : std::string();
}

// "MPICH (libmpich.so.12) or Open MPI (libmpi.so.40)"
std::string known_libraries() {
  std::string text;
  for (const MpiAbi& abi : kMpiAbis)
    text +=
        std::string(text.empty() ? "" : " or ") + abi.title + " (" + abi.libraries[0] + ")";
  return text;
}

std::string not_traced(const Program& traced) {
  const std::string other = other_mpi_of(traced);
  std::string what;
  if (!other.empty())
    what = "uses an unsupported MPI library (" + other + ")";
  else if (has_mpi_inside(traced))
    what = "has its MPI library linked into it statically";
  else
    return {};
  return "'" + traced.path + "' " + what +
         ": its MPI calls are not traced, and each process gets its own archive; "
         "linked with the shared library of " +
         known_libraries() + " it is traced";
}

// Of a shell or its script, what it may start: the words of the script, or of what follows -c. Not what they mean: a
// program that is named by a variable is not found.
std::vector<std::string> words_of_script(const std::vector<std::string>& command,
                                         const Program& first) {
  std::string text;
  const auto add_file = [&text](const std::string& path) {
    constexpr std::size_t kMax = 1 << 16;
    std::ifstream file(path, std::ios::binary);
    std::string content(kMax, '\0');
    file.read(content.data(), kMax);
    content.resize(static_cast<std::size_t>(file.gcount()));
    text += content + '\n';
  };
  if (!first.path.empty() && !first.dynamic && !first.alone) add_file(first.path);
  const bool shell = is_shell(command[0]);
  for (std::size_t i = 1; shell && i < command.size(); ++i) {
    if (command[i].empty()) continue;
    if (command[i][0] != '-' && command[i - 1].ends_with('c') && command[i - 1][0] == '-') {
      text += command[i] + '\n';
      break;
    }
    if (command[i][0] == '-') continue;
    add_file(command[i]);
    break;
  }
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + '\n') {
    if (std::string_view(" \t\n\"'`;|&()<>{}$").find(c) == std::string_view::npos) {
      word += c;
      continue;
    }
    if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end())
      words.push_back(word);
    word.clear();
  }
  return words;
}

bool is_launched() {
  return base::launched_rank() != nullptr &&
         base::srun_interface() != base::SrunInterface::kNone;
}

// Of a program that names no MPI: that of its launcher, else mpi4py's, else the one that there is. Of srun's interfaces
// MPICH knows PMI and Open MPI PMIx, as they are built by default.
std::string mpi_of_python(const std::string& launcher, const std::string& mpi4py) {
  if (!launcher.empty()) return launcher;
  if (!mpi4py.empty()) return mpi4py;
  if (base::srun_interface() == base::SrunInterface::kPmix &&
      !find_mpi_library(*find_mpi_abi("openmpi")).empty())
    return "openmpi";
  for (const MpiAbi& abi : kMpiAbis)
    if (!find_mpi_library(abi).empty()) return abi.name;
  return {};
}

// Open MPI 4 knows srun's PMI only if it was built with it: by a plugin next to its library, as most of it.
bool may_know_pmi() {
  const std::filesystem::path folder =
      std::filesystem::path(find_mpi_library(*find_mpi_abi("openmpi"))).parent_path();
  std::error_code error;
  bool pmix = false;
  for (const char* place : {"openmpi", "openmpi/lib/openmpi3"}) {
    for (const char* name : {"mca_pmix_s1.so", "mca_pmix_s2.so"})
      if (std::filesystem::exists(folder / place / name, error)) return true;
    pmix |= std::filesystem::exists(folder / place / "mca_pmix_isolated.so", error);
  }
  return !pmix;  // not built as plugins
}

// Of Open MPI under srun without the interface that it knows: it ends in MPI_Init, before any of ours can say so.
std::string srun_report(const MpiAbi& abi, const Program& traced) {
  const base::SrunInterface srun = base::srun_interface();
  const bool none = srun == base::SrunInterface::kNone;
  if (std::string_view(abi.name) != "openmpi" || base::launched_size() < 2 ||
      (!none && (srun != base::SrunInterface::kPmi || may_know_pmi())))
    return {};
  return "'" + traced.path + "' uses Open MPI, which needs srun's PMIx and has " +
         (none ? "no interface (--mpi=none)" : "PMI") +
         ": its processes end in MPI_Init, or each is a separate job, traced or not; start "
         "it with srun --mpi=pmix, or with the mpirun of Open MPI";
}

// A Python whose mpi4py is of another MPI than its launcher: with the launcher's library in the process it would die, and
// with its own a program that does not use mpi4py. Untraced, each process is a separate job.
std::string launcher_report(const std::string& python, const MpiAbi& mpi4py,
                            const MpiAbi& launcher) {
  return "mpi4py of '" + python + "' uses " + mpi4py.title + ", and the launcher of " +
         launcher.title +
         " starts it: each process is a separate job, and MPI calls are not traced; "
         "start it with the mpirun of " +
         mpi4py.title + ", or use --mpi " + launcher.name +
         " if the program does not use mpi4py";
}

MpiChoice choose_mpi_of_python(const std::string& wanted, const std::string& python,
                               const std::string& launcher) {
  MpiChoice choice;
  const std::string mpi4py = mpi4py_of(python);
  choice.mpi = wanted == "auto" ? mpi_of_python(launcher, mpi4py) : wanted;
  if (mpi4py.empty() || mpi4py == choice.mpi || choice.mpi.empty()) return choice;
  const MpiAbi& its = *find_mpi_abi(mpi4py);
  const MpiAbi& other = *find_mpi_abi(choice.mpi);
  if (wanted == "auto") {
    choice.report = launcher_report(python, its, other);
    choice.mpi.clear();
  } else {
    choice.report = "--mpi " + wanted + ": mpi4py of '" + python + "' uses " + its.title +
                    "; a program that imports it needs --mpi " + its.name;
  }
  return choice;
}

}  // namespace

bool is_python_of_mpi(const std::vector<std::string>& command) {
  return (is_launched() || starts_mpi(command)) && !find_python(command).empty();
}

bool is_task_of_its_own(const MpiChoice& choice, const std::vector<std::string>& command) {
  return choice.mpi.empty() && base::launched_rank() != nullptr &&
         base::launched_size() > 1 && !starts_mpi(command);
}

Program find_traced(const std::vector<std::string>& command, const Program& first) {
  const auto uses_mpi = [](const Program& program) {
    return !mpi_of(program).empty() || !other_mpi_of(program).empty() ||
           has_mpi_inside(program);
  };
  if (!mpi_of(first).empty()) return first;
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i].empty() || command[i][0] == '-') continue;
    Program word = inspect_program(command[i]);
    if (!mpi_of(word).empty() || (starts_mpi(command) && uses_mpi(word))) return word;
  }
  constexpr std::size_t kMaxLooks = 100;  // at programs: the loader is asked for some
  std::size_t looks = 0;
  for (const std::string& text : words_of_script(command, first)) {
    if (find_program(text).empty() || begins(text, "mpirun") || begins(text, "mpiexec"))
      continue;
    if (++looks > kMaxLooks) break;
    Program word = inspect_program(text);
    if (!mpi_of(word).empty()) return word;
  }
  return first;
}

base::Result<MpiChoice> choose_mpi(const std::string& wanted,
                                   const std::vector<std::string>& command,
                                   const Program& first, const Program& traced) {
  MpiChoice choice;
  if (wanted == "none") return choice;
  const std::string own = mpi_of(traced);
  choice.mpi = wanted == "auto" ? own : wanted;
  const bool launched = is_launched() || starts_mpi(command);
  if (own.empty() && (launched || wanted != "auto"))
    if (const std::string python = find_python(command); !python.empty())
      choice = choose_mpi_of_python(wanted, python, launcher_of(command, first));
  if (choice.mpi.empty()) {
    if (!choice.report.empty()) return choice;
    if (launched || !other_mpi_of(traced).empty()) choice.report = not_traced(traced);
    return choice;
  }
  const MpiAbi& abi = *find_mpi_abi(choice.mpi);
  if (!own.empty() && own != choice.mpi) {
    const MpiAbi& its = *find_mpi_abi(own);
    return base::Failure{std::string("--mpi ") + abi.name + ": '" + traced.path +
                         "' uses " + its.title + "; use --mpi " + its.name +
                         ", or nothing"};
  }
  if (own.empty()) {
    choice.preload = find_mpi_library(abi);
    if (choice.preload.empty())
      return base::Failure{std::string("--mpi ") + abi.name + ": '" + traced.path +
                           "' does not name MPI's library, and " + abi.libraries[0] +
                           " was not found"};
    return choice;
  }
  const std::string launcher = launcher_of(command, first);
  if (!launcher.empty() && launcher != choice.mpi)
    choice.report = "'" + traced.path + "' uses " + abi.title + ", and the launcher of " +
                    find_mpi_abi(launcher)->title +
                    " starts it: each process is a separate job, traced or not; start "
                    "it with the mpirun of " +
                    abi.title;
  else
    choice.report = srun_report(abi, traced);
  return choice;
}

namespace {

namespace fs = std::filesystem;

std::string file_name(const std::string& word) { return fs::path(word).filename(); }

bool names_python(const std::string& word) {
  return file_name(word).rfind("python", 0) == 0;
}

// "#!/usr/bin/python3 -u", "#!/usr/bin/env -S python3": the Python of a script; empty: another interpreter, or none.
std::string python_of_script(const std::string& path) {
  constexpr std::size_t kMax = 256;  // what the kernel reads
  std::string line(kMax, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(line.data(), kMax);
  line.resize(static_cast<std::size_t>(file.gcount()));
  if (line.rfind("#!", 0) != 0) return {};
  std::istringstream words(line.substr(2, line.find('\n') - 2));
  std::string word;
  words >> word;
  if (file_name(word) != "env") return names_python(word) ? word : std::string();
  while (words >> word)
    if (word[0] != '-' && word.find('=') == std::string::npos)
      return names_python(word) ? word : std::string();
  return {};
}

constexpr const char* kWhereIsMpi4py =
    "import importlib.util as u; s = u.find_spec('mpi4py'); "
    "print(*(s and s.submodule_search_locations or []), sep='\\n')";

}  // namespace

std::string find_python(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    if (word.empty() || word[0] == '-') continue;
    const std::string path = find_program(word);
    const std::string python = names_python(word) ? word
                               : path.empty()     ? path
                                                  : python_of_script(path);
    if (python.empty()) continue;
    const std::string found = find_program(python);
    return found.empty() ? python : found;
  }
  return {};
}

std::string mpi4py_of(const std::string& python) {
  const std::string program = find_program(python);
  if (program.empty()) return {};
  std::istringstream folders(output_of({program.c_str(), "-c", kWhereIsMpi4py}));
  std::set<std::string> found;
  for (std::string folder; std::getline(folders, folder);) {
    std::error_code error;
    for (const fs::directory_entry& file : fs::directory_iterator(folder, error)) {
      const std::string name = file.path().filename();
      if (name.rfind("MPI.", 0) != 0 || file.path().extension() != ".so") continue;
      found.insert(
          mpi_of({.path = file.path(), .libraries = named_libraries(file.path())}));
    }
  }
  return found.size() == 1 ? *found.begin() : std::string();
}

}  // namespace refrain::tools
