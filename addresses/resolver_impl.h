// The parts of a Resolver: modules, their files and their debug information.
//
// Place in the flow: inside addresses alone (resolver.h, code_sites.h).
// Thread-safety, errors: see resolver.h.
#pragma once

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "addresses/resolver.h"
#include "addresses/short_name.h"
#include "code/debug_files.h"
#include "code/debug_index.h"

namespace refrain::addresses {
namespace resolving {

inline std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

inline const Dwfl_Callbacks kCallbacks = {
    .find_elf = nullptr,
    .find_debuginfo = code::find_debug_file,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// The offset at which the module was loaded; nullopt if the file has no segment that fits
// the mapping.
inline std::optional<std::uint64_t> load_bias(int fd, const Module& module) {
  Elf* elf = elf_begin(fd, ELF_C_READ, nullptr);
  if (elf == nullptr) return {};
  std::optional<std::uint64_t> bias;
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) continue;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (module.offset >= segment.p_offset + segment.p_filesz) continue;
    const std::uint64_t page = ::sysconf(_SC_PAGESIZE) > 0
                                   ? static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))
                                   : 4096;
    if (module.offset < (segment.p_offset & ~(page - 1))) continue;
    bias = module.start - (segment.p_vaddr + module.offset - segment.p_offset);
    break;
  }
  elf_end(elf);
  return bias;
}

}  // namespace resolving

struct Resolver::Impl {
  struct Loaded {
    Module module;
    bool tried = false;
    std::uint64_t bias = 0;  // what addresses have more than in the file
  };
  std::vector<Loaded> modules;
  std::vector<std::pair<std::string, std::uint64_t>> reported;  // path, bias
  std::vector<std::string> complaints;
  code::UnitIndex units;
  code::FunctionIndex functions;
  code::SymbolIndex symbols;
  Dwfl* dwfl = nullptr;

  ~Impl() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }

  Loaded* find(std::uint64_t address) {
    for (Loaded& loaded : modules)
      if (address >= loaded.module.start && address < loaded.module.end) return &loaded;
    return nullptr;
  }

  // The line of an address; of a call that the compiler has added itself, and gives line 0, that of the statement
  // which it belongs to.
  code::SourceLine line_of(Dwarf_Die* unit, std::uint64_t address) {
    const code::SourceLine line = code::line_of(unit, address);
    if (line.file == nullptr || line.line != 0) return line;
    const Dwarf_Die* const known = functions.function(unit, address);
    if (known == nullptr) return line;
    Dwarf_Die function = *known;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    if (dwarf_lowpc(&function, &begin) != 0 || dwarf_highpc(&function, &end) != 0)
      return line;
    const code::SourceLine owner = owner_of(unit, address, begin, end);
    if (owner.file != nullptr && std::string_view(owner.file) == line.file) return owner;
    return line;
  }

  // A statement goes on from what has a line in front of the address to what has one behind it. A function that was
  // compiled into another often ends in between, and the debug information does not say where: what has the same
  // function in front and behind goes on in it. A target construct is followed by its code for the host.
  code::SourceLine owner_of(Dwarf_Die* unit, std::uint64_t address, std::uint64_t begin,
                            std::uint64_t end) {
    const code::OtherLine after = code::line_after(unit, address, end);
    std::vector<Dwarf_Die> behind;
    if (after.line.file != nullptr) behind = functions.scopes(unit, after.address);
    for (auto scope = behind.rbegin(); scope != behind.rend(); ++scope) {
      const char* const name = code::attribute_text(&*scope, DW_AT_name);
      if (dwarf_tag(&*scope) == DW_TAG_inlined_subroutine && name != nullptr &&
          std::string_view(name).starts_with("__omp_offloading_"))
        return code::call_of(unit, &*scope);
    }
    const code::OtherLine before = code::line_before(unit, address, begin);
    if (before.line.file == nullptr) return after.line;
    if (after.line.file == nullptr) return before.line;
    const std::vector<Dwarf_Die> in_front = functions.scopes(unit, before.address);
    const bool goes_on = !in_front.empty() &&
                         std::any_of(behind.begin(), behind.end(), [&](const auto& die) {
                           return die.addr == in_front.front().addr;
                         });
    return goes_on ? before.line : after.line;
  }

  void complain(const Module& module, const std::string& what) {
    complaints.push_back(module.path + ": " + what);
  }

  void load(Loaded& loaded) {
    loaded.tried = true;
    const Module& module = loaded.module;
    elf_version(EV_CURRENT);  // libelf refuses all calls before this
    resolving::FileDescriptor file(module.path);
    if (file.get() < 0) return complain(module, "cannot be opened to look up names");
    const auto bias = resolving::load_bias(file.get(), module);
    if (!bias) return complain(module, "is not the file that ran");
    loaded.bias = *bias;
    const auto key = std::make_pair(module.path, *bias);
    if (std::find(reported.begin(), reported.end(), key) != reported.end()) return;
    if (dwfl == nullptr) {
      dwfl = dwfl_begin(&resolving::kCallbacks);
      if (dwfl == nullptr) return;
    }
    dwfl_report_begin_add(dwfl);
    Dwfl_Module* reported_module = dwfl_report_elf(
        dwfl, module.path.c_str(), module.path.c_str(), file.get(), *bias, true);
    if (reported_module != nullptr) file.release();  // libdwfl closes it
    dwfl_report_end(dwfl, nullptr, nullptr);
    if (reported_module == nullptr) return complain(module, dwfl_errmsg(-1));
    reported.push_back(key);
    if (!same_build(reported_module, module)) {
      complain(module, "was rebuilt since; no names from it");
      distrusted.push_back(reported_module);
    }
  }

  static bool same_build(Dwfl_Module* reported_module, const Module& module) {
    if (module.build_id.empty()) return true;
    const unsigned char* bits = nullptr;
    GElf_Addr where = 0;
    const int bytes = dwfl_module_build_id(reported_module, &bits, &where);
    std::string text;
    for (int i = 0; i < bytes; ++i) {
      char digits[3];
      std::snprintf(digits, sizeof(digits), "%02x", bits[i]);
      text += digits;
    }
    return text == module.build_id;
  }

  bool trusted(const Dwfl_Module* module) const {
    return std::find(distrusted.begin(), distrusted.end(), module) == distrusted.end();
  }
  std::vector<Dwfl_Module*> distrusted;
};

}  // namespace refrain::addresses
