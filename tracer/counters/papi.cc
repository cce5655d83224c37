#include "tracer/counters/papi.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstring>
#include <string>

namespace refrain::counters {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  void* found = dlsym(library, name);
  std::memcpy(&function, &found, sizeof function);
  return found != nullptr;
}

unsigned long thread_id() { return static_cast<unsigned long>(pthread_self()); }

}  // namespace

base::Result<> Papi::load() {
  void* library = nullptr;
  // Global: components of PAPI find what the program links (software-defined events) so.
  for (const char* name : {"libpapi.so", "libpapi.so.7.1", "libpapi.so.7.0",
                           "libpapi.so.6.0", "libpapi.so.5.7"}) {
    library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) return base::Failure{"PAPI was not found (libpapi.so)"};
  const bool all = find(library, "PAPI_is_initialized", is_initialized) &&
                   find(library, "PAPI_library_init", library_init) &&
                   find(library, "PAPI_thread_init", thread_init) &&
                   find(library, "PAPI_register_thread", register_thread) &&
                   find(library, "PAPI_unregister_thread", unregister_thread) &&
                   find(library, "PAPI_event_name_to_code", event_name_to_code) &&
                   find(library, "PAPI_get_event_component", get_event_component) &&
                   find(library, "PAPI_create_eventset", create_eventset) &&
                   find(library, "PAPI_add_event", add_event) &&
                   find(library, "PAPI_start", start) && find(library, "PAPI_stop", stop) &&
                   find(library, "PAPI_read", read) &&
                   find(library, "PAPI_cleanup_eventset", cleanup_eventset) &&
                   find(library, "PAPI_destroy_eventset", destroy_eventset) &&
                   find(library, "PAPI_strerror", strerror);
  if (!all) return base::Failure{"this version of PAPI cannot be used"};
  constexpr int kThreads = 4;  // PAPI_THREAD_LEVEL_INITED
  const int level = is_initialized();
  if (level == 0) {
    // It answers with its own version if that is another one.
    int version = library_init(7 << 24);
    if (version > 0 && version != 7 << 24) version = library_init(version);
    if (version <= 0)
      return base::Failure{std::string("PAPI cannot start: ") + strerror(version)};
  }
  if (level != kThreads && thread_init(thread_id) != kOk)
    return base::Failure{"PAPI has no support for threads"};
  return {};
}

}  // namespace refrain::counters
