#include "tracer/runtime/modules.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <new>

#include "tracer/recorder/attempt.h"

namespace refrain::runtime {
namespace {

std::string executable_path() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : std::string();
}

// The build id from the notes of a loaded object, in hex; "-" if it has none.
std::string build_id(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr);
    const char* end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* name = at + sizeof note;
      const char* data = name + (std::size_t{note.n_namesz} + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(name, "GNU", 4) == 0 && data + note.n_descsz <= end) {
        std::string hex;
        for (std::uint32_t k = 0; k < note.n_descsz; ++k) {
          char digits[3];
          std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(data[k]));
          hex += digits;
        }
        return hex;
      }
      at = data + (std::size_t{note.n_descsz} + 3) / 4 * 4;
    }
  }
  return "-";
}

struct Found {
  std::uint64_t begin;
  std::uint64_t end;
  std::string text;
};

void collect_from(const dl_phdr_info* info, std::vector<Found>& out) {
  std::string path = info->dlpi_name;
  if (path.empty()) path = executable_path();
  if (path.starts_with("linux-vdso")) path = "[vdso]";  // the kernel's: there is no file
  if (path.empty() || (path[0] != '/' && path[0] != '[')) return;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
    const std::uint64_t end = begin + header.p_memsz;
    char numbers[80];
    std::snprintf(numbers, sizeof numbers, "%llx %llx %llx ",
                  static_cast<unsigned long long>(begin),
                  static_cast<unsigned long long>(end),
                  static_cast<unsigned long long>(header.p_offset));
    out.push_back({begin, end, numbers + build_id(*info) + " " + path});
  }
}

// No exception may pass through the C library.
int collect(dl_phdr_info* info, std::size_t, void* out) {
  auto& found = *static_cast<std::vector<Found>*>(out);
  return recorder::attempted([&] { collect_from(info, found); }) ? 0 : 1;
}

}  // namespace

std::vector<std::string> Modules::scan_new() {
  std::vector<Found> found;
  if (dl_iterate_phdr(collect, &found) != 0) throw std::bad_alloc();
  std::vector<std::string> fresh;
  for (Found& f : found) {
    const bool known = std::any_of(ranges_.begin(), ranges_.end(),
                                   [&](const Range& r) { return r.text == f.text; });
    if (known) continue;
    fresh.push_back(f.text);
    ranges_.push_back({f.begin, f.end, std::move(f.text)});
  }
  return fresh;
}

bool Modules::covers(std::uint64_t address) const noexcept {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const Range& r) { return address >= r.begin && address < r.end; });
}

}  // namespace refrain::runtime
