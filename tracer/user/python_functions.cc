// Functions of Python code: CPython calls us where each begins and ends (PyEval_SetProfile).
//
// Place in the flow: ARCHITECTURE.md, stage 2, beside functions.cc, which records them. An audit hook, which may be there before the
// interpreter is, says when the script is about to run; only public functions of CPython are called, found by name, from 3.9 on.
// A function that ends by an exception ends; a generator is in its function while it runs.
// Thread-safety: the interpreter's lock is held wherever we are called.
// Ownership: of each code object that was seen a reference is kept, so that its address stays its own.
// Cost: without the setting nothing is there. With it some 100 ns of the interpreter's for each call of Python or C, and of functions
// that are recorded what functions.cc says.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/append_only_map.h"
#include "filters/settings.h"
#include "tracer/life/lifecycle.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/python_places.h"
#include "tracer/user/functions.h"

namespace refrain::user {
namespace {

struct Object;  // PyObject
using AuditHook = int (*)(const char* event, Object* arguments, void* data);
using Profile = int (*)(Object* self, Object* frame, int what, Object* argument);

struct Python {
  int (*add_audit_hook)(AuditHook, void*) = nullptr;
  void (*set_profile)(Profile, Object*) = nullptr;
  Object* (*code_of)(Object* frame) = nullptr;
  void (*drop)(Object*) = nullptr;
  Object* (*attribute)(Object*, const char*) = nullptr;
  const char* (*text)(Object*) = nullptr;
  long (*number)(Object*) = nullptr;
  void (*clear_error)() = nullptr;

  template <typename Function>
  static bool find(Function& function, const char* name) noexcept {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    return function != nullptr;
  }
  bool find_all() noexcept {
    return find(add_audit_hook, "PySys_AddAuditHook") &&
           find(set_profile, "PyEval_SetProfile") && find(code_of, "PyFrame_GetCode") &&
           find(drop, "Py_DecRef") && find(attribute, "PyObject_GetAttrString") &&
           find(text, "PyUnicode_AsUTF8") && find(number, "PyLong_AsLong") &&
           find(clear_error, "PyErr_Clear");
  }
};
constinit Python g_python;

// What is known of a code object; else its address, once it has one.
enum : std::uint64_t { kNew = 0, kNotRecorded = 1, kRecorded = 2 };
struct Place {
  std::uint64_t address = kNew;
};
// By code object.
constinit base::AppendOnlyMap<std::uint64_t, Place, 1 << 14, 64> g_places;

std::string text_of(Object* code, const char* name) {
  Object* const attribute = g_python.attribute(code, name);
  if (attribute == nullptr) {
    g_python.clear_error();
    return {};
  }
  const char* const text = g_python.text(attribute);
  std::string copy = text == nullptr ? "" : text;
  if (text == nullptr) g_python.clear_error();
  g_python.drop(attribute);
  return copy;
}

long line_of(Object* code) {
  Object* const attribute = g_python.attribute(code, "co_firstlineno");
  const long line = attribute == nullptr ? 0 : g_python.number(attribute);
  if (attribute == nullptr || line < 0) g_python.clear_error();
  if (attribute != nullptr) g_python.drop(attribute);
  return line < 0 ? 0 : line;
}

// Of Python's own library, or of a package that is installed.
bool is_installed(std::string_view file) noexcept {
  return file.find("/dist-packages/") != std::string_view::npos ||
         file.find("/site-packages/") != std::string_view::npos ||
         runtime::is_python_library(file);
}

// Not of the library, a package, or made at run time; no expression within a function.
bool is_recorded(Object* code) {
  const std::string file = text_of(code, "co_filename");
  if (file.empty() || file.front() == '<' || is_installed(file)) return false;
  const std::string name = text_of(code, "co_name");
  return !name.empty() && (name.front() != '<' || name == "<module>" || name == "<lambda>");
}

std::uint64_t new_address(Object* code) {
  const std::string file = text_of(code, "co_filename");
  std::string name = text_of(code, "co_name");
  if (name == "<module>")
    name = file.substr(file.rfind('/') + 1);
  else if (const std::string whole = text_of(code, "co_qualname"); !whole.empty())
    name = whole;  // from 3.11 on
  return runtime::python_address_of(name, file, static_cast<std::uint32_t>(line_of(code)));
}

// Of a function that is recorded; nullptr: it is not.
Place* place_of(Object* frame) noexcept {
  Object* const code = g_python.code_of(frame);
  if (code == nullptr) return nullptr;
  auto* const entry = g_places.find_or_add(reinterpret_cast<std::uintptr_t>(code));
  if (entry != nullptr && entry->value.address == kNew) {
    // The reference is kept.
    entry->value.address = kNotRecorded;
    const recorder::SlowPath slow_path;
    recorder::attempted([&] {
      if (is_recorded(code)) entry->value.address = kRecorded;
    });
  } else {
    g_python.drop(code);
  }
  return entry == nullptr || entry->value.address == kNotRecorded ? nullptr : &entry->value;
}

// While a function of this place begins. Its name goes to the journal, so the recording has begun.
bool make_address(Place& place, Object* frame) noexcept {
  const recorder::SlowPath slow_path;
  Object* const code = g_python.code_of(frame);
  std::uint64_t address = 0;
  recorder::attempted([&] { address = new_address(code); });
  g_python.drop(code);
  place.address = address != 0 ? address : kNotRecorded;
  return address != 0;
}

__attribute__((noinline)) int on_call(Object*, Object* frame, int what, Object*) {
  constexpr int kCall = 0, kReturn = 3;
  if (what != kCall && what != kReturn) return 0;
  Place* const place = place_of(frame);
  if (place == nullptr || (place->address == kRecorded && what == kReturn)) return 0;
  FunctionThread* const thread = function_thread();
  if (thread == nullptr) return 0;
  if (place->address == kRecorded && !make_address(*place, frame)) return 0;
  constexpr std::uintptr_t kSite = 1;
  // Calls and ends come in pairs: the end is that of the innermost call of this function, wherever its frame is.
  if (what == kCall)
    function_begins(*thread, place->address,
                    reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), kSite);
  else
    function_ends(*thread, place->address, 0, kSite, false);
  return 0;
}

int on_audit(const char* event, Object*, void*) {
  // "cpython.run_file", "..._command", "..._module", "..._stdin": the interpreter is complete, and the script has not begun.
  if (std::string_view(event).starts_with("cpython.run_"))
    g_python.set_profile(on_call, nullptr);
  return 0;
}

__attribute__((constructor)) void at_load() {
  if (std::getenv("REFRAIN_PYTHON") == nullptr || !runtime::tracing_enabled()) return;
  if (!runtime::wanted_settings().python) return;
  if (g_python.find_all()) g_python.add_audit_hook(on_audit, nullptr);
  dlerror();  // what was not found is no error of the program's
}

}  // namespace
}  // namespace refrain::user
