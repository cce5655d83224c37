// A fake OpenMP runtime: starts an OMPT tool and calls its callbacks as a runtime would.
//
// Thread-safety: none. One tool a process.
#pragma once

#include <omp-tools.h>

#include <array>
#include <cstring>

namespace refrain::test {

inline std::array<ompt_callback_t, 64> g_callbacks{};

// Callbacks that the runtime does not have.
inline std::array<bool, 64> g_missing{};

inline ompt_set_result_t set_callback(ompt_callbacks_t which, ompt_callback_t callback) {
  if (g_missing.at(which)) return ompt_set_never;
  g_callbacks.at(which) = callback;
  return ompt_set_always;
}

inline ompt_interface_fn_t lookup(const char* name) {
  return std::strcmp(name, "ompt_set_callback") == 0
             ? reinterpret_cast<ompt_interface_fn_t>(set_callback)
             : nullptr;
}

using StartTool = ompt_start_tool_result_t* (*)(unsigned, const char*);

// Null if the tool declines. The caller calls the result's `finalize`.
inline ompt_start_tool_result_t* start_tool(StartTool start) {
  ompt_start_tool_result_t* tool = start(202111, "LLVM");
  if (tool == nullptr || tool->initialize(lookup, 0, &tool->tool_data) == 0) return nullptr;
  return tool;
}

// The registered callback; null if there is none.
template <typename Function>
Function callback(ompt_callbacks_t which) {
  return reinterpret_cast<Function>(g_callbacks.at(which));
}

inline void thread_begins(ompt_data_t& thread) {
  callback<ompt_callback_thread_begin_t>(ompt_callback_thread_begin)(ompt_thread_initial,
                                                                     &thread);
}

// A parallel region of this thread with a team of this size, and `body` in its implicit task.
template <typename Body>
void parallel_region(ompt_data_t& parallel, unsigned threads, const void* code,
                     const Body& body) {
  ompt_data_t task{};
  const auto implicit =
      callback<ompt_callback_implicit_task_t>(ompt_callback_implicit_task);
  callback<ompt_callback_parallel_begin_t>(ompt_callback_parallel_begin)(
      &task, nullptr, &parallel, threads, 0, code);
  implicit(ompt_scope_begin, &parallel, &task, threads, 0, ompt_task_implicit);
  body(task);
  implicit(ompt_scope_end, nullptr, &task, 0, 0, ompt_task_implicit);
  callback<ompt_callback_parallel_end_t>(ompt_callback_parallel_end)(&parallel, &task, 0,
                                                                     code);
}

}  // namespace refrain::test
