// The functions of PAPI that we use, looked up while the program runs: nothing of ours needs the
// library.
//
// Place in the flow: ARCHITECTURE.md, stage 2, beside counters.cc. Names, values and types are
// those of PAPI 5 to 7 (papi.h).
// Thread-safety: load() once; the functions as PAPI has them.
#pragma once

#include "base/result.h"

namespace refrain::counters {

struct Papi {
  static constexpr int kOk = 0;
  static constexpr int kNull = -1;  // no event set

  int (*is_initialized)() = nullptr;
  int (*library_init)(int version) = nullptr;
  int (*thread_init)(unsigned long (*id)()) = nullptr;
  int (*register_thread)() = nullptr;
  int (*unregister_thread)() = nullptr;
  int (*event_name_to_code)(const char* name, int* code) = nullptr;
  int (*get_event_component)(int code) = nullptr;
  int (*create_eventset)(int* set) = nullptr;
  int (*add_event)(int set, int code) = nullptr;
  int (*start)(int set) = nullptr;
  int (*stop)(int set, long long* values) = nullptr;
  int (*read)(int set, long long* values) = nullptr;
  int (*cleanup_eventset)(int set) = nullptr;
  int (*destroy_eventset)(int* set) = nullptr;
  char* (*strerror)(int error) = nullptr;

  // Finds the library, in the program or on its path, and starts it.
  base::Result<> load();
};

}  // namespace refrain::counters
