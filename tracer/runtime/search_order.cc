#include "tracer/runtime/search_order.h"

#include <dlfcn.h>
#include <link.h>

namespace refrain::runtime {
namespace {

const char kHere = 0;

// What the program asks dlerror() for is not ours.
void* looked_up(void* where, const char* function) {
  void* found = dlsym(where, function);
  if (found == nullptr) dlerror();
  return found;
}

const void* own_base() {
  Dl_info here;
  return dladdr(&kHere, &here) != 0 ? here.dli_fbase : nullptr;
}

std::string file_of(const void* function) {
  Dl_info there;
  if (function == nullptr || dladdr(function, &there) == 0 ||
      there.dli_fbase == own_base() || there.dli_fname == nullptr)
    return {};
  return there.dli_fname;
}

}  // namespace

std::string taken_by(const char* function) {
  return file_of(looked_up(RTLD_DEFAULT, function));
}

std::string taken_from(const char* function) {
  return file_of(looked_up(RTLD_NEXT, function));
}

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
