#include "tracer/sampler/python_objects.h"

#include <dlfcn.h>

namespace refrain::sampler {

PythonInterpreter interpreter_in(const char* file, std::uint64_t begin, std::uint64_t end) {
  PythonInterpreter found;
  void* const library = dlopen(*file == '\0' ? nullptr : file, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return found;
  const auto symbol = [library](const char* of) { return dlsym(library, of); };
  const auto* const version = static_cast<const unsigned long*>(symbol("Py_Version"));
  // 3.11, and released. In a build that traces references all objects have two words more.
  if (version != nullptr && *version >> 16 == 0x030b && (*version >> 4 & 15) == 15 &&
      symbol("_Py_AddToAllObjects") == nullptr) {
    void* const state = symbol("PyGILState_GetThisThreadState");
    void* const type = symbol("PyCode_Type");
    const auto evaluates =
        reinterpret_cast<std::uint64_t>(symbol("_PyEval_EvalFrameDefault"));
    if (state != nullptr && type != nullptr && evaluates >= begin && evaluates < end)
      found = {begin, end, reinterpret_cast<void* (*)()>(state),
               reinterpret_cast<std::uint64_t>(type)};
  }
  dlclose(library);
  return found;
}

namespace python {

void put_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 63));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  } else {
    put(0xf0 | (code >> 18 & 7));
    put(0x80 | (code >> 12 & 63));
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  }
}

}  // namespace python

}  // namespace refrain::sampler
