// OMPT callbacks of target constructs, on the thread that encounters them: the construct itself,
// the operations on data that it needs, and the submission of its kernel.
//
// A construct outside of all teams is a symbol and begins an epoch, as an outermost parallel region
// does; one in an outermost team is a symbol. Constructs with nowait run in tasks, of which threads
// take what comes: these are no symbols.
#include <array>
#include <atomic>
#include <cstddef>

#include "base/loaded_symbols.h"
#include "spool/ompt_values.h"
#include "tracer/ompt/callbacks.h"
#include "tracer/ompt/program_places.h"
#include "tracer/ompt/runtime_entries.h"

namespace refrain::ompt {
namespace {

using recorder::Clock;
using recorder::ThreadRecorder;

// Where in the code, and on which device.
std::uint64_t place_of(std::uint64_t address, int device) noexcept {
  return address | std::uint64_t{static_cast<std::uint16_t>(device)} << spool::kDeviceShift;
}

// The target construct that the thread is in; 0: none.
std::uint64_t construct_around(const ThreadRecorder& recorder) noexcept {
  for (std::uint32_t i = recorder.depth(); i-- > 0;)
    if (recorder.open_region(i).kind == spool::kTargetBegin)
      return recorder.open_region(i).payload;
  return 0;
}

// Outside of all teams a construct comes in the same order in every run if it is not in a task: then
// the wait for tasks is around it, or its thread is the runtime's.
bool feeds_detector(ThreadRecorder& recorder) noexcept {
  if (t_thread.teams_open != 0) return feeds_agent(recorder, t_state.team());
  return in_order_outside(recorder) && t_state.root && g_session->auto_symbols() &&
         g_session->primary().claim(&recorder);
}

void begin_target(ThreadRecorder& recorder, std::uint8_t kind, int device,
                  const void* code) noexcept {
  const std::uint64_t ticks = Clock::now();
  const std::uint64_t address = address_of(code);
  std::uint8_t cut = 0;
  std::uint64_t epoch = 0;
  if (feeds_detector(recorder)) {
    if (t_thread.teams_open == 0) {
      cut = g_session->begin_epoch(recorder, ticks);
      epoch = recorder.epoch();
    }
    g_session->on_symbol(recorder, runtime::make_symbol(spool::kTargetBegin, kind, address),
                         ticks);
  } else if (t_thread.teams_open == 0 && !g_session->primary().is(&recorder) &&
             recorder.epoch() != g_session->epoch()) {
    g_session->reach_epoch(recorder, g_session->epoch(), ticks);
  }
  recorder.begin(make(spool::kTargetBegin, ticks, place_of(address, device),
                      static_cast<std::uint8_t>(kind | cut), epoch));
}

void end_target(ThreadRecorder& recorder, std::uint8_t kind, int device,
                const void* code) noexcept {
  const std::uint64_t ticks = Clock::now();
  recorder.end(make(spool::kTargetEnd, ticks, place_of(address_of(code), device), kind));
  if (feeds_detector(recorder)) g_session->on_symbol_end(ticks, recorder.depth());
}

void on_target(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t*,
               ompt_data_t*, ompt_data_t*, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const auto sub = static_cast<std::uint8_t>(kind & spool::kTargetKinds);
  if (endpoint == ompt_scope_begin || endpoint == ompt_scope_beginend)
    begin_target(*scope, sub, device, code);
  if (endpoint == ompt_scope_end || endpoint == ompt_scope_beginend)
    end_target(*scope, sub, device, code);
}

// Of the two sides the one that is a device.
struct Sides {
  int device;
  int other;
};
Sides sides_of(std::uint8_t operation, int source, int destination) noexcept {
  const bool from =
      operation == spool::ompt::kDataFromDevice || operation == spool::ompt::kDataDelete;
  return from ? Sides{source, destination} : Sides{destination, source};
}

void on_data(ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t*, ompt_id_t*,
             ompt_target_data_op_t type, void*, int source, void*, int destination,
             std::size_t bytes, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const std::uint64_t ticks = Clock::now();
  const std::uint8_t operation = spool::ompt::to_target_operation(type);
  const Sides sides = sides_of(operation, source, destination);
  if (endpoint == ompt_scope_begin || endpoint == ompt_scope_beginend)
    scope->begin(make(spool::kTargetDataBegin, ticks,
                      place_of(address_of(code), sides.device), operation,
                      static_cast<std::uint16_t>(sides.other)));
  if (endpoint != ompt_scope_end && endpoint != ompt_scope_beginend) return;
  if (operation == spool::ompt::kDataToDevice) scope->copied(bytes, 0);
  if (operation == spool::ompt::kDataFromDevice) scope->copied(0, bytes);
  scope->end(make(spool::kTargetDataEnd, ticks, bytes, operation,
                  static_cast<std::uint16_t>(sides.device)));
}

void on_submit(ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_id_t*,
               unsigned teams) noexcept {
  Scope scope;
  if (!scope) return;
  const std::uint64_t ticks = Clock::now();
  const std::uint64_t construct = construct_around(*scope);
  if (endpoint == ompt_scope_begin || endpoint == ompt_scope_beginend)
    scope->begin(make(spool::kTargetSubmitBegin, ticks, construct));
  if (endpoint == ompt_scope_end || endpoint == ompt_scope_beginend)
    scope->end(
        make(spool::kTargetSubmitEnd, ticks, teams, 0, construct >> spool::kDeviceShift));
}

// Devices are made before the first construct. LLVM's runtime opens a team of its own for constructs with
// nowait, which must not be taken for the program's: the thread that makes devices feeds the detector.
void on_device_initialize(int, const char*, ompt_device_t*, ompt_function_lookup_t,
                          const char*) noexcept {
  expect_devices();
  Scope scope;
  if (!scope) return;
  scope->uncount_event();  // there is no record of it
  if (t_state.root && t_thread.teams_open == 0) g_session->primary().claim(&*scope);
}

// --- Runtimes of OpenMP 5.0: no ends of operations and submissions --------------------

void on_target_50(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device,
                  ompt_data_t* task, ompt_id_t, const void* code) noexcept {
  on_target(kind, endpoint, device, task, nullptr, nullptr, code);
}

void on_data_50(ompt_id_t, ompt_id_t, ompt_target_data_op_t type, void* from, int source,
                void* to, int destination, std::size_t bytes, const void* code) noexcept {
  on_data(ompt_scope_beginend, nullptr, nullptr, nullptr, type, from, source, to,
          destination, bytes, code);
}

void on_submit_50(ompt_id_t, ompt_id_t, unsigned teams) noexcept {
  on_submit(ompt_scope_beginend, nullptr, nullptr, teams);
}

bool is_set(ompt_set_result_t result) noexcept { return result > ompt_set_impossible; }

}  // namespace

void set_target_callbacks(ompt_set_callback_t set) noexcept {
  set(ompt_callback_device_initialize, callback(on_device_initialize));
  if (!is_set(set(ompt_callback_target_emi, callback(on_target))))
    set(ompt_callback_target, callback(on_target_50));
  if (!is_set(set(ompt_callback_target_data_op_emi, callback(on_data))))
    set(ompt_callback_target_data_op, callback(on_data_50));
  if (!is_set(set(ompt_callback_target_submit_emi, callback(on_submit))))
    set(ompt_callback_target_submit, callback(on_submit_50));
}

}  // namespace refrain::ompt

// gcc's target constructs with nowait or depend, where LLVM's runtime has taken libgomp's place.
//
// LLVM's runtime has no such entry points, so they stay libgomp's, which makes tasks of its own of them: no taskwait,
// barrier or dependence of LLVM's ever sees these. So they are executed at once, when the tasks that they depend on are
// done; libgomp's devices may do what they like. What comes after finds them completed.
//
// Thread-safety: any thread. Cost: a look at two pointers.

namespace refrain::ompt {
namespace {

constexpr unsigned kNowait = 1;  // GOMP_TARGET_FLAG_NOWAIT

struct Waits {
  std::atomic<bool> known{false};
  std::atomic<void (*)(void**)> for_dependences{nullptr};
  std::atomic<void (*)()> for_children{nullptr};
};
constinit Waits g_waits;

// Null where target constructs and tasks are the same runtime's.
const Waits* waits_of_tasks(const void* target) noexcept {
  if (!g_waits.known.load(std::memory_order_acquire)) {
    const auto next = [](const char* name) {
      return const_cast<void*>(base::symbol_after(&g_waits, name));
    };
    void* const children = next("GOMP_taskwait");
    if (children != nullptr &&
        base::symbol_at(children).object != base::symbol_at(target).object) {
      g_waits.for_children.store(reinterpret_cast<void (*)()>(children));
      g_waits.for_dependences.store(
          reinterpret_cast<void (*)(void**)>(next("GOMP_taskwait_depend")));
    }
    // Release: what was found is there before it is known; partner above.
    g_waits.known.store(true, std::memory_order_release);
  }
  return g_waits.for_children.load() == nullptr ? nullptr : &g_waits;
}

// Before the construct: the flags and dependences that are left for libgomp.
void execute_at_once(const void* target, const void* call, unsigned& flags,
                     void**& depend) noexcept {
  if ((flags & kNowait) == 0 && depend == nullptr) return;
  const Waits* const waits = waits_of_tasks(target);
  if (waits == nullptr) return;
  flags &= ~kNowait;
  if (depend == nullptr) return;
  t_own_call = call;
  if (const auto wait = waits->for_dependences.load())
    wait(depend);
  else
    waits->for_children.load()();
  t_own_call = nullptr;
  depend = nullptr;
}

template <typename Function>
Function* real(std::atomic<Function*>& known, const char* name) noexcept {
  Function* function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function*>(const_cast<void*>(find_in_runtime(name)));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

}  // namespace
}  // namespace refrain::ompt

using Target = void(int, void (*)(void*), std::size_t, void**, std::size_t*,
                    unsigned short*, unsigned, void**, void**);
using TargetData = void(int, std::size_t, void**, std::size_t*, unsigned short*, unsigned,
                        void**);

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void GOMP_target_ext(int device, void (*code)(void*), std::size_t count,
                              void** addresses, std::size_t* sizes, unsigned short* kinds,
                              unsigned flags, void** depend, void** arguments) {
  static constinit std::atomic<Target*> known{nullptr};
  Target* const target = refrain::ompt::real(known, "GOMP_target_ext");
  refrain::ompt::execute_at_once(reinterpret_cast<const void*>(target),
                                 __builtin_return_address(0), flags, depend);
  target(device, code, count, addresses, sizes, kinds, flags, depend, arguments);
}

EXPORTED void GOMP_target_update_ext(int device, std::size_t count, void** addresses,
                                     std::size_t* sizes, unsigned short* kinds,
                                     unsigned flags, void** depend) {
  static constinit std::atomic<TargetData*> known{nullptr};
  TargetData* const target = refrain::ompt::real(known, "GOMP_target_update_ext");
  refrain::ompt::execute_at_once(reinterpret_cast<const void*>(target),
                                 __builtin_return_address(0), flags, depend);
  target(device, count, addresses, sizes, kinds, flags, depend);
}

EXPORTED void GOMP_target_enter_exit_data(int device, std::size_t count, void** addresses,
                                          std::size_t* sizes, unsigned short* kinds,
                                          unsigned flags, void** depend) {
  static constinit std::atomic<TargetData*> known{nullptr};
  TargetData* const target = refrain::ompt::real(known, "GOMP_target_enter_exit_data");
  refrain::ompt::execute_at_once(reinterpret_cast<const void*>(target),
                                 __builtin_return_address(0), flags, depend);
  target(device, count, addresses, sizes, kinds, flags, depend);
}
