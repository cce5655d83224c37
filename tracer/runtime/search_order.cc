#include "tracer/runtime/search_order.h"

#include <dlfcn.h>

namespace refrain::runtime {
namespace {

const char kHere = 0;

std::string file_of(const void* function) {
  Dl_info there;
  Dl_info here;
  if (function == nullptr || dladdr(function, &there) == 0 || dladdr(&kHere, &here) == 0 ||
      there.dli_fbase == here.dli_fbase || there.dli_fname == nullptr)
    return {};
  return there.dli_fname;
}

}  // namespace

std::string taken_by(const char* function) {
  return file_of(dlsym(RTLD_DEFAULT, function));
}

std::string taken_from(const char* function) { return file_of(dlsym(RTLD_NEXT, function)); }

std::string own_file() {
  Dl_info here;
  return dladdr(&kHere, &here) != 0 && here.dli_fname != nullptr ? here.dli_fname : "";
}

}  // namespace refrain::runtime
