#include "tracer/runtime/search_order.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <new>

#include "tracer/recorder/memory_reserve.h"

namespace refrain::runtime {
namespace {

const char kHere = 0;

// Leaves no error of ours for the program to find in dlerror().
void* looked_up(void* where, const char* function) {
  void* found = dlsym(where, function);
  if (found == nullptr) dlerror();
  return found;
}

const void* own_base() {
  Dl_info here;
  return dladdr(&kHere, &here) != 0 ? here.dli_fbase : nullptr;
}

// No exception may pass through the C library.
int collect_file(dl_phdr_info* info, std::size_t, void* out) {
  std::uintptr_t begin = ~std::uintptr_t{0};
  std::uintptr_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    begin = std::min<std::uintptr_t>(begin, info->dlpi_addr + header.p_vaddr);
    end = std::max<std::uintptr_t>(end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  const bool kept = recorder::attempted([&] {
    static_cast<std::vector<SearchOrder::File>*>(out)->push_back(
        {begin, end, info->dlpi_name == nullptr ? "" : info->dlpi_name});
  });
  return kept ? 0 : 1;
}

}  // namespace

SearchOrder::SearchOrder() {
  if (dl_iterate_phdr(collect_file, &files_) != 0) throw std::bad_alloc();
  std::sort(files_.begin(), files_.end(),
            [](const File& a, const File& b) { return a.begin < b.begin; });
}

const SearchOrder::File* SearchOrder::file_at(const void* address) const noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto after =
      std::upper_bound(files_.begin(), files_.end(), at,
                       [](std::uintptr_t value, const File& f) { return value < f.begin; });
  if (after == files_.begin() || at >= (after - 1)->end) return nullptr;
  return &*(after - 1);
}

// dladdr() knows it as well, but looks for the nearest of all symbols of the file: some
// microseconds in one that has thousands of them.
std::string SearchOrder::file_of(const void* function) const {
  const File* const file = function == nullptr ? nullptr : file_at(function);
  if (file == nullptr || file == file_at(&kHere)) return {};
  if (!file->name.empty()) return file->name;
  Dl_info there;  // the program itself
  return dladdr(function, &there) == 0 || there.dli_fname == nullptr ? "" : there.dli_fname;
}

std::string SearchOrder::taken_by(const char* function) const {
  return file_of(looked_up(RTLD_DEFAULT, function));
}

std::string SearchOrder::taken_from(const char* function) const {
  return file_of(looked_up(RTLD_NEXT, function));
}

std::string taken_by(const char* function) { return SearchOrder().taken_by(function); }

std::string taken_from(const char* function) { return SearchOrder().taken_from(function); }

bool is_own_library(const char* name) {
  void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    dlerror();
    return false;
  }
  const link_map* map = nullptr;
  Dl_info there;
  const bool own = dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 &&
                   dladdr(map->l_ld, &there) != 0 && there.dli_fbase == own_base();
  dlclose(library);
  return own;
}

}  // namespace refrain::runtime
