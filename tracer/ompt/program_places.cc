#include "tracer/ompt/program_places.h"

#include <unwind.h>

#include <string_view>

#include "base/loaded_symbols.h"
#include "tracer/ompt/callbacks.h"
#include "tracer/ompt/runtime_entries.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/modules.h"

namespace refrain::ompt {

constinit thread_local const void* t_own_call __attribute__((tls_model("initial-exec"))) =
    nullptr;
constinit thread_local const void* t_loop_call __attribute__((tls_model("initial-exec"))) =
    nullptr;

namespace {

using recorder::ThreadRecorder;

// --- Regions --------------------------------------------------------------------------

struct Site {
  std::atomic<std::uint64_t> address{0};  // 0: not known yet
  std::atomic<std::uint16_t> number{0};
  std::atomic<bool> noted{false};  // for names, the function of the region
};
// By what the runtime says and the region's function. Two of them with one key are very improbable.
constinit base::AppendOnlyMap<std::uint64_t, Site, 1 << 15, 64> g_region_sites;

std::uint64_t key_of(std::uint64_t address, std::uint64_t function) noexcept {
  return (address ^ (function << 20 | function >> 44)) | std::uint64_t{1} << 63;
}

// The address of the region's function, as where a call returns to.
std::uint64_t begin_of(const void* function) noexcept {
  return runtime::code_address(function) + 1;
}

bool in_runtime(const void* code) noexcept {
  return is_runtime_code(reinterpret_cast<std::uint64_t>(code));
}

// How the runtime was entered by the call that it reports, to open a region; null: not known.
const Entered* entered_by(const void* code) noexcept {
  for (const Entered& entered : refrain_entered)
    if (entered.returns_to == code && entered.function != nullptr &&
        !in_runtime(entered.function))
      return &entered;
  return nullptr;
}

// With reused code this is not the first time.
void note_function(std::uint64_t address, std::uint64_t function) noexcept {
  auto* const known = g_region_sites.find_or_add(key_of(address, function));
  if (known != nullptr && !known->value.noted.exchange(true, std::memory_order_relaxed))
    runtime::note_region_function(address, function);
}

std::uint64_t find_region_place(const void* code, const Entered* by,
                                const ThreadRecorder& recorder) noexcept {
  if (in_runtime(code)) {
    if (by != nullptr) return begin_of(by->function);
    for (const Entered& entered : refrain_entered)
      if (entered.returns_to != nullptr && is_in_entry(entered.number, code) &&
          entered_by(entered.returns_to) == &entered)
        return calls_entry(entered.returns_to, entered.number)
                   ? runtime::code_address(entered.returns_to)
                   : begin_of(entered.function);
    return place_in_runtime(code, recorder, nullptr);
  }
  if (by == nullptr) return runtime::code_address(code);
  if (!calls_entry(code, by->number)) return begin_of(by->function);
  const std::uint64_t address = runtime::code_address(code);
  // A league's function has the line of its first statement.
  if (by->number != kForkTeams) note_function(address, runtime::code_address(by->function));
  return address;
}

// --- What the runtime's own code is ---------------------------------------------------

enum class CallKind : std::uint8_t { kUnknown, kEntry, kInside, kOther };
struct KnownCall {
  std::atomic<CallKind> kind{CallKind::kUnknown};
};
// By addresses in the runtime where calls return to.
constinit base::AppendOnlyMap<std::uint64_t, KnownCall, 1024, 64> g_calls;

// Entry points call functions of the program themselves: what returns to them may be called by these.
bool calls_program(std::string_view entry) noexcept {
  return entry.starts_with("GOMP_parallel") || entry.starts_with("__kmpc_fork") ||
         entry.starts_with("GOMP_target") || entry == "GOMP_task";
}

CallKind kind_of(const void* code) noexcept {
  const recorder::SlowPath slow_path;
  const base::LoadedSymbol there = base::symbol_at(code);
  if (there.object == nullptr) return CallKind::kOther;
  if (there.name == nullptr) return CallKind::kInside;
  const std::string_view name = there.name;
  const bool entry = name.starts_with("__kmpc_") || name.starts_with("GOMP_");
  return entry && !calls_program(name) ? CallKind::kEntry : CallKind::kOther;
}

CallKind call_kind(const void* code) noexcept {
  auto* const known = g_calls.find_or_add(reinterpret_cast<std::uint64_t>(code));
  if (known == nullptr) return CallKind::kOther;
  CallKind kind = known->value.kind.load(std::memory_order_relaxed);
  if (kind == CallKind::kUnknown) {
    kind = kind_of(code);
    known->value.kind.store(kind, std::memory_order_relaxed);
  }
  return kind;
}
bool is_entry(const void* code) noexcept { return call_kind(code) == CallKind::kEntry; }

struct WalkOutwards {
  std::uint64_t code;
  bool found = false;
  std::uint64_t outside = 0;
};

_Unwind_Reason_Code walk_outwards(_Unwind_Context* context, void* data) noexcept {
  auto& walk = *static_cast<WalkOutwards*>(data);
  const std::uint64_t address = _Unwind_GetIP(context);
  if (!walk.found) {
    walk.found = address == walk.code;
    return address == 0 ? _URC_END_OF_STACK : _URC_NO_REASON;
  }
  if (is_runtime_code(address) && is_entry(reinterpret_cast<const void*>(address)))
    return _URC_NO_REASON;  // an entry that uses another one
  walk.outside = address;
  return _URC_END_OF_STACK;
}

// Where the entry point returns to that this address is in; null: not known. `taskloop`: one begins here.
const void* caller_of_entry(const void* code, bool taskloop) noexcept {
  if (!is_entry(code)) return nullptr;
  for (const Entered& entered : refrain_entered) {
    const bool is_it =
        is_in_entry(entered.number, code) || (taskloop && is_taskloop(entered.number));
    if (entered.returns_to == nullptr || !is_it) continue;
    if (!in_runtime(entered.returns_to)) return entered.returns_to;
    if (call_kind(entered.returns_to) == CallKind::kOther) return nullptr;
  }
  const recorder::SlowPath slow_path;
  WalkOutwards walk{.code = reinterpret_cast<std::uint64_t>(code)};
  _Unwind_Backtrace(walk_outwards, &walk);
  return is_runtime_code(walk.outside) ? nullptr
                                       : reinterpret_cast<const void*>(walk.outside);
}

// The task's, or that of the region that the thread is in.
std::uint64_t surrounding_place(const ThreadRecorder& recorder,
                                const ompt_data_t* task) noexcept {
  if (const std::uint64_t word = word_of(task); word != 0)
    return g_sites.address(TaskWord::unpack(word).site);
  const Membership* const member = t_state.team();
  if (member != nullptr && member->index != 0) return g_sites.address(member->team.site);
  for (std::uint32_t i = recorder.depth(); i-- > 0;)
    if (recorder.open_region(i).kind == spool::kParallelBegin)
      return recorder.open_region(i).payload & spool::kAddressMask;
  return 0;
}

}  // namespace

__attribute__((noinline)) static RegionPlace look_up_region(
    const void* code, base::AppendOnlyMap<std::uint64_t, Site, 1 << 15, 64>::Entry* known,
    const ThreadRecorder& recorder) noexcept {
  const Entered* const by = entered_by(code);
  const std::uint64_t address = find_region_place(code, by, recorder);
  const std::uint16_t number = g_sites.number(address);
  // What the runtime's own code stands for differs from call to call.
  const bool may_differ = runtime::any_code_reused() || (by == nullptr && in_runtime(code));
  if (known != nullptr && !may_differ) {
    known->value.number.store(number, std::memory_order_relaxed);
    // Release: the number is there before the address is; partner in region_place().
    known->value.address.store(address, std::memory_order_release);
  }
  return {address, number};
}

static RegionPlace native_region_place(const void* code,
                                       const ThreadRecorder& recorder) noexcept {
  const auto& [of_clang, of_gcc] = refrain_entered;
  const void* function = of_clang.returns_to == code ? of_clang.function
                         : of_gcc.returns_to == code ? of_gcc.function
                                                     : nullptr;
  auto* const known = g_region_sites.find_or_add(key_of(
      reinterpret_cast<std::uint64_t>(code), reinterpret_cast<std::uint64_t>(function)));
  if (known == nullptr || runtime::any_code_reused()) [[unlikely]]
    return look_up_region(code, nullptr, recorder);
  const std::uint64_t address = known->value.address.load(std::memory_order_acquire);
  if (address == 0) [[unlikely]]
    return look_up_region(code, known, recorder);
  return {address, known->value.number.load(std::memory_order_relaxed)};
}

RegionPlace region_place(const void* code, const ThreadRecorder& recorder) noexcept {
  if (code == nullptr) [[unlikely]]
    return {};
  const RegionPlace native = native_region_place(code, recorder);
  const std::uint64_t python = runtime::python_address();
  if (python == 0 || runtime::is_python_address(native.address)) [[likely]]
    return native;
  const std::uint64_t address = runtime::python_address_with(native.address, python);
  return {address, g_sites.number(address)};
}

std::uint64_t place_under_python(std::uint64_t address) noexcept {
  const Membership* const member = t_state.team();
  if (address == 0 || member == nullptr || runtime::is_python_address(address))
    return address;
  const std::uint64_t opened = g_sites.address(member->team.site);
  return runtime::is_python_address(opened) ? runtime::python_address_with(address, opened)
                                            : address;
}

std::uint64_t place_in_runtime(const void* code, const ThreadRecorder& recorder,
                               const ompt_data_t* task, bool taskloop) noexcept {
  if (const void* const caller =
          code == nullptr ? nullptr : caller_of_entry(code, taskloop);
      caller != nullptr)
    return runtime::code_address(caller);
  return surrounding_place(recorder, task);
}

std::uint64_t task_place(const void* code, const ThreadRecorder& recorder,
                         const ompt_data_t* creator) noexcept {
  if (t_own_call != nullptr) [[unlikely]]
    return runtime::code_address(t_own_call);
  if (!is_runtime_code(reinterpret_cast<std::uint64_t>(code))) [[likely]]
    return construct_place(code, recorder, creator);
  const spool::Record* const top = recorder.top();
  if (top != nullptr && top->kind == spool::kWorkBegin && top->sub == ompt_work_taskloop)
    return top->payload & spool::kAddressMask;
  // A part of a taskloop that creates its own tasks.
  if (word_of(creator) != 0 && is_entry(code)) return surrounding_place(recorder, creator);
  return place_in_runtime(code, recorder, creator);
}

}  // namespace refrain::ompt
