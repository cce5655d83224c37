#include "tracer/mpi/fortran.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "tracer/recorder/slow_path.h"

extern "C" {
constinit thread_local refrain::mpi::FortranCall refrain_fortran_call
    __attribute__((tls_model("initial-exec"))) = {};
// Of the Fortran libraries, if the program has them.
void pmpi_init_(int*) __attribute__((weak));
void pmpi_init_f08_(int*) __attribute__((weak));
}

namespace refrain::mpi {

std::array<FortranLibrary, 2> g_fortran_libraries;

namespace {

struct Library {
  std::uintptr_t address;  // somewhere in it
  const dl_phdr_info* found = nullptr;
  dl_phdr_info info{};
  FortranLibrary code{};
};

int find_library(dl_phdr_info* info, std::size_t, void* data) {
  auto* library = static_cast<Library*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (library->address - begin >= segment.p_memsz) continue;
    library->info = *info;
    library->found = &library->info;
    library->code = {begin, segment.p_memsz};
    return 1;
  }
  return 0;
}

// What the dynamic section says of a loaded library's relocations.
struct Relocations {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * plt = nullptr;
  std::size_t plt_bytes = 0;
  const ElfW(Rela) * others = nullptr;
  std::size_t others_bytes = 0;
};

Relocations read_dynamic(const dl_phdr_info& info) noexcept {
  Relocations result;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      // The loader has made these addresses absolute.
      const auto address = entry->d_un.d_ptr;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          result.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
          break;
        case DT_STRTAB:
          result.names = reinterpret_cast<const char*>(address);
          break;
        case DT_JMPREL:
          result.plt = reinterpret_cast<const ElfW(Rela)*>(address);
          break;
        case DT_PLTRELSZ:
          result.plt_bytes = entry->d_un.d_val;
          break;
        case DT_RELA:
          result.others = reinterpret_cast<const ElfW(Rela)*>(address);
          break;
        case DT_RELASZ:
          result.others_bytes = entry->d_un.d_val;
          break;
        default:
          break;
      }
    }
  }
  return result;
}

// What the loader has made read-only once it was filled in (PT_GNU_RELRO).
bool is_read_only(const dl_phdr_info& info, std::uintptr_t address,
                  std::uintptr_t page) noexcept {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_GNU_RELRO) continue;
    const std::uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    const std::uintptr_t end = begin + segment.p_memsz;
    if (address >= (begin & ~(page - 1)) && address < (end & ~(page - 1))) return true;
  }
  return false;
}

// The page is as before afterwards.
bool write_slot(const dl_phdr_info& info, void** slot, void* value) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(slot) & ~(page - 1);
  auto* const begin = reinterpret_cast<void*>(at);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  if (is_read_only(info, at, page)) mprotect(begin, page, PROT_READ);
  return true;
}

void redirect(const dl_phdr_info& info, const Relocations& all, const ElfW(Rela) * first,
              std::size_t bytes) noexcept {
#if defined(__x86_64__)
  constexpr unsigned kJumpSlot = R_X86_64_JUMP_SLOT, kData = R_X86_64_GLOB_DAT;
#else
  constexpr unsigned kJumpSlot = R_AARCH64_JUMP_SLOT, kData = R_AARCH64_GLOB_DAT;
#endif
  for (const ElfW(Rela)* r = first; r != first + bytes / sizeof *first; ++r) {
    const auto type = ELF64_R_TYPE(r->r_info);
    if (type != kJumpSlot && type != kData) continue;
    const std::string_view name = all.names + all.symbols[ELF64_R_SYM(r->r_info)].st_name;
    if (!name.starts_with("PMPI")) continue;
    const Redirection* end = kRedirections + kRedirectionCount;
    const Redirection* found = std::lower_bound(
        kRedirections, end, name,
        [](const Redirection& a, std::string_view b) { return a.from < b; });
    if (found == end || found->from != name) continue;
    write_slot(info, reinterpret_cast<void**>(info.dlpi_addr + r->r_offset),
               reinterpret_cast<void*>(found->to));
  }
}

}  // namespace

Site fortran_site(Procedure procedure) noexcept {
  FortranCall& noted = refrain_fortran_call;
  if (noted.returns_to == nullptr || noted.procedure != base_of(procedure)) return {};
  return {std::exchange(noted.returns_to, nullptr), noted.stack, noted.frame};
}

namespace {

void redirect_library(FortranLibrary& known, void (*init)(int*)) noexcept {
  if (init == nullptr || known.size != 0) return;
  Library library{.address = reinterpret_cast<std::uintptr_t>(init)};
  dl_iterate_phdr(find_library, &library);
  if (library.found == nullptr) return;
  const Relocations all = read_dynamic(library.info);
  known = library.code;
  if (all.symbols == nullptr || all.names == nullptr) return;
  redirect(library.info, all, all.plt, all.plt_bytes);
  redirect(library.info, all, all.others, all.others_bytes);
}

}  // namespace

void redirect_fortran_libraries() noexcept {
  if (pmpi_init_ == nullptr && pmpi_init_f08_ == nullptr) return;
  const recorder::SlowPath slow_path;
  redirect_library(g_fortran_libraries[0], &pmpi_init_);
  redirect_library(g_fortran_libraries[1], &pmpi_init_f08_);
}

}  // namespace refrain::mpi
