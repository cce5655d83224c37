#include "tools/programs/elf_program.h"

#include <elf.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/processor.h"

extern char** environ;

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;

bool executable_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

// A 64-bit ELF file, as far as what it asks of the loader.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(path, std::ios::binary) {
    Elf64_Ehdr header{};
    if (!read(0, &header, sizeof header) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
      return;
    machine_ = header.e_machine;
    if (header.e_ident[EI_CLASS] != ELFCLASS64) return;
    sections_at_ = header.e_shoff;
    sections_ = header.e_shnum;
    section_bytes_ = header.e_shentsize;
    for (int i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment{};
      if (!read(header.e_phoff + std::uint64_t(i) * header.e_phentsize, &segment,
                sizeof segment))
        return;
      segments_.push_back(segment);
    }
  }

  // The processor that it is for, as <elf.h> numbers it; EM_NONE: it is no ELF file.
  std::uint16_t machine() const { return machine_; }

  // The loader that it names; empty if it has none.
  std::string interpreter() {
    for (const Elf64_Phdr& segment : segments_)
      if (segment.p_type == PT_INTERP) return text_at(segment.p_offset);
    return {};
  }

  // One of its tables of symbols has it: as its own, or as another file's.
  bool has_symbol(const std::string& name, bool own) {
    for (int i = 0; i < sections_; ++i) {
      Elf64_Shdr table{};
      Elf64_Shdr texts{};
      if (!read_section(i, table)) return false;
      if (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) continue;
      if (read_section(static_cast<int>(table.sh_link), texts) &&
          has_symbol(table, texts, name, own))
        return true;
    }
    return false;
  }

  // How many names of symbols that others may use begin so.
  std::size_t names_like(const std::string& prefix) {
    std::size_t count = 0;
    for (int i = 0; i < sections_; ++i) {
      Elf64_Shdr table{};
      Elf64_Shdr texts{};
      if (!read_section(i, table)) break;
      std::string names;
      if (table.sh_type != SHT_DYNSYM ||
          !read_section(static_cast<int>(table.sh_link), texts) ||
          !read_names(texts, names))
        continue;
      const std::string sought = '\0' + prefix;
      for (std::size_t at = 0; (at = names.find(sought, at)) != std::string::npos;
           at += sought.size())
        ++count;
    }
    return count;
  }

  // The libraries that it names itself; none if that is not known.
  std::vector<std::string> needs() {
    std::vector<std::uint64_t> names;
    std::uint64_t texts = 0;
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_DYNAMIC) continue;
      Elf64_Dyn entry{};
      for (std::uint64_t at = 0; at + sizeof entry <= segment.p_filesz;
           at += sizeof entry) {
        if (!read(segment.p_offset + at, &entry, sizeof entry)) return {};
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
        if (entry.d_tag == DT_STRTAB) texts = offset_of(entry.d_un.d_ptr);
      }
    }
    std::vector<std::string> needs;
    for (const std::uint64_t name : names) {
      needs.push_back(texts == 0 ? "" : text_at(texts + name));
      if (needs.back().empty()) return {};
    }
    return needs;
  }

 private:
  bool read_section(int number, Elf64_Shdr& section) {
    return number < sections_ && read(sections_at_ + std::uint64_t(number) * section_bytes_,
                                      &section, sizeof section);
  }
  bool read_names(const Elf64_Shdr& texts, std::string& names) {
    if (texts.sh_size > kMaxBytes) return false;
    names.assign(texts.sh_size, '\0');
    return read(texts.sh_offset, names.data(), names.size());
  }
  bool has_symbol(const Elf64_Shdr& table, const Elf64_Shdr& texts, const std::string& name,
                  bool own) {
    std::string names;
    if (table.sh_size > kMaxBytes || !read_names(texts, names)) return false;
    // Most programs do not have the name at all.
    const std::size_t found = names.find('\0' + name + '\0');
    if (found == std::string::npos) return false;
    std::vector<Elf64_Sym> symbols(table.sh_size / sizeof(Elf64_Sym));
    if (!read(table.sh_offset, symbols.data(), symbols.size() * sizeof(Elf64_Sym)))
      return false;
    return std::any_of(symbols.begin(), symbols.end(), [&](const Elf64_Sym& symbol) {
      return (symbol.st_shndx != SHN_UNDEF) == own && symbol.st_name < names.size() &&
             names.compare(symbol.st_name, name.size() + 1, name + '\0') == 0;
    });
  }
  bool read(std::uint64_t offset, void* to, std::size_t bytes) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(
        file_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)));
  }
  std::string text_at(std::uint64_t offset) {
    constexpr std::size_t kMax = 4096;
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    std::string text;
    for (char c = 0; text.size() < kMax && file_.get(c) && c != 0;) text += c;
    return text;
  }
  std::uint64_t offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_)
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address - segment.p_vaddr < segment.p_filesz)
        return segment.p_offset + (address - segment.p_vaddr);
    return 0;
  }

  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
  std::ifstream file_;
  std::vector<Elf64_Phdr> segments_;
  std::uint16_t machine_ = EM_NONE;
  std::uint64_t sections_at_ = 0;
  int sections_ = 0;
  std::uint64_t section_bytes_ = 0;
};

// Of libraries of compilers, and of MPI and OpenMP themselves, it is known that no other runtime of
// OpenMP and no MPI comes with them.
bool brings_nothing(const std::string& library) {
  static constexpr std::array kKnown{"libc.so.",        "libm.so.",       "libpthread.so.",
                                     "libdl.so.",       "librt.so.",      "libutil.so.",
                                     "libgcc_s.so.",    "libstdc++.so.",  "libatomic.so.",
                                     "libgfortran.so.", "libquadmath.so", "ld-linux-",
                                     "libgomp.so.",     "libomp.so",      "libiomp5.so",
                                     "libmpich.so.12",  "libmpi.so.40"};
  return std::any_of(kKnown.begin(), kKnown.end(),
                     [&](const char* known) { return library.rfind(known, 0) == 0; });
}

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "x86 of 32 bits";
    case EM_ARM:
      return "ARM of 32 bits";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "POWER";
    default:
      return "another processor (" + std::to_string(machine) + ")";
  }
}

// For root it is not.
bool is_privileged(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return false;
  const bool user = (file.st_mode & S_ISUID) != 0 && file.st_uid != getuid();
  const bool group = (file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
                     file.st_gid != getgid();
  return user || group ||
         (geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0);
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != 0;
}

}  // namespace

std::string find_program(const std::string& command) {
  if (command.find('/') != std::string::npos)
    return executable_file(command) ? command : std::string();
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (executable_file(fs::path(folder) / command)) return fs::path(folder) / command;
  return {};
}

std::string why_no_program(const std::string& command) {
  const std::string text = "no program '" + command + "'";
  std::error_code error;
  if (command.find('/') == std::string::npos)
    return text + " in PATH" +
           (executable_file("./" + command) ? ": did you mean './" + command + "'?" : "");
  if (fs::is_directory(command, error)) return text + ": it is a directory";
  if (fs::exists(command, error)) return text + ": the file is not executable (chmod +x)";
  return text + ": there is no such file";
}

Program inspect_program(const std::string& command) {
  Program program;
  program.path = find_program(command);
  if (program.path.empty()) return program;
  ElfFile file(program.path);
  if (file.machine() != EM_NONE && file.machine() != base::kElfMachine) {
    program.foreign = machine_name(file.machine());
    return program;
  }
  program.privileged = is_privileged(program.path);
  const std::string loader = file.interpreter();
  program.alone = loader.empty() && file.machine() != EM_NONE;
  if (loader.empty()) return program;
  program.dynamic = true;
  // Asking the loader takes milliseconds.
  program.libraries = file.needs();
  if (!program.libraries.empty() && !is_set("LD_PRELOAD") && !is_set("LD_AUDIT") &&
      std::all_of(program.libraries.begin(), program.libraries.end(), brings_nothing))
    return program;
  const std::vector<std::string> own = std::move(program.libraries);
  program.libraries.clear();
  const std::string absolute = fs::absolute(program.path);
  std::istringstream lines(output_of({loader.c_str(), "--list", absolute.c_str()}));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::string arrow;
    std::string path;
    if (!(words >> name)) continue;
    program.libraries.push_back(fs::path(name).filename());
    if (words >> arrow >> path && arrow == "=>" && path[0] == '/')
      program.files.push_back(path);
  }
  // It does not answer where it misses a library.
  if (program.libraries.empty()) program.libraries = own;
  return program;
}

std::string file_of(const Program& program, const std::string& library_prefix) {
  for (const std::string& file : program.files)
    if (fs::path(file).filename().string().rfind(library_prefix, 0) == 0) return file;
  return {};
}

bool loads(const Program& program, const std::string& library_prefix) {
  for (const std::string& name : program.libraries)
    if (name.rfind(library_prefix, 0) == 0) return true;
  return false;
}

std::vector<std::string> named_libraries(const std::string& path) {
  return ElfFile(path).needs();
}

std::string output_of(std::vector<const char*> arguments) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr,
                                const_cast<char* const*>(arguments.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; error == 0 && (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  if (error == 0) waitpid(child, nullptr, 0);
  return text;
}

bool contains(const std::string& path, const std::string& text) {
  std::ifstream file(path, std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(file), {});
  return all.find(text) != std::string::npos;
}

bool defines(const std::string& path, const std::string& symbol) {
  return ElfFile(path).has_symbol(symbol, true);
}

std::size_t entry_points(const std::string& path) {
  return ElfFile(path).names_like("__kmpc_");
}

bool imports(const std::string& path, const std::string& symbol) {
  return ElfFile(path).has_symbol(symbol, false);
}

}  // namespace refrain::tools
