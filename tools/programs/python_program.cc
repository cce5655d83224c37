#include "tools/programs/python_program.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tools/programs/elf_program.h"
#include "tools/programs/mpi_abi.h"

namespace refrain::tools {
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
