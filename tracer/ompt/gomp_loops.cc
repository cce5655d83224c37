// Stands before entry points of gcc's loops that LLVM's runtime, in libgomp's place, does not serve as libgomp does.
//
// `ordered schedule(static, N)`, with and without parameter, would lose its chunk: iterations would be other threads'. Loops over
// `unsigned long` that count down would have no iterations at all, for the runtime asks an unsigned step whether it is positive. They
// begin by its entry points for clang's programs here; it goes on with them itself (GOMP_loop_..._next). All else goes to the next function,
// and so does all where that is libgomp's.
// Not here: loops over `unsigned long` with dependences between iterations, which it never ends (tools/programs/openmp_choice.cc).
//
// Place in the flow: ARCHITECTURE.md, stage 2; the callback that follows knows the program's call by t_loop_call (program_places.h).
// Thread-safety: any thread. Errors: without such a function in any runtime the process ends, as by the loader. Cost: two loads, and the
// place's store.
#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "base/loaded_symbols.h"
#include "tracer/ompt/program_places.h"
#include "tracer/ompt/runtime_entries.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::ompt {
namespace {

// LLVM's ident_t, sched_type and kmp_dim (kmp.h), as clang passes them.
struct LoopSource {
  std::int32_t reserved_1;
  std::int32_t flags;
  std::int32_t reserved_2;
  std::int32_t reserved_3;
  const char* text;
};
constexpr std::int32_t kOfClang = 2;  // KMP_IDENT_KMPC
constinit LoopSource g_loop_source{0, kOfClang, 0, 0, ";unknown;unknown;0;0;;"};

enum class Schedule : std::int32_t {
  kStaticChunked = 33,
  kStatic = 34,
  kDynamic = 35,
  kGuided = 36,
  kRuntime = 37,
  kOrderedStaticChunked = 65,
  kOrderedStatic = 66,
  kOrderedDynamic = 67,
  kOrderedGuided = 68,
  kOrderedRuntime = 69,
};

Schedule with_chunk(Schedule schedule) noexcept {
  return schedule == Schedule::kStatic          ? Schedule::kStaticChunked
         : schedule == Schedule::kOrderedStatic ? Schedule::kOrderedStaticChunked
                                                : schedule;
}

struct Dimension {
  std::int64_t first;
  std::int64_t last;
  std::int64_t step;
};
constexpr unsigned kMaxDimensions = 16;

// What LLVM's runtime has for clang's programs; null: another one comes next.
struct LlvmLoops {
  template <typename Number>
  using Begin = void(LoopSource*, std::int32_t, Schedule, Number, Number, std::int64_t,
                     std::int64_t);
  template <typename Number>
  using Next = int(LoopSource*, std::int32_t, std::int32_t*, Number*, Number*,
                   std::int64_t*);

  std::int32_t (*thread)(LoopSource*) = nullptr;
  Begin<std::int64_t>* begin = nullptr;
  Begin<std::uint64_t>* begin_unsigned = nullptr;
  Next<std::int64_t>* next = nullptr;
  Next<std::uint64_t>* next_unsigned = nullptr;
  void (*begin_dependences)(LoopSource*, std::int32_t, int, const Dimension*) = nullptr;
  void (*end_dependences)(LoopSource*, std::int32_t) = nullptr;

  explicit LlvmLoops(const void* inside) noexcept {
    const auto find = [inside](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          const_cast<void*>(base::symbol_in(inside, name)));
      return function != nullptr;
    };
    complete_ = find(thread, "__kmpc_global_thread_num") &&
                find(begin, "__kmpc_dispatch_init_8") &&
                find(begin_unsigned, "__kmpc_dispatch_init_8u") &&
                find(next, "__kmpc_dispatch_next_8") &&
                find(next_unsigned, "__kmpc_dispatch_next_8u") &&
                find(begin_dependences, "__kmpc_doacross_init") &&
                find(end_dependences, "__kmpc_doacross_fini");
  }
  bool complete() const noexcept { return complete_; }

 private:
  bool complete_ = false;
};

const LlvmLoops* find_llvm_loops() noexcept {
  const recorder::SlowPath slow_path;
  static const LlvmLoops loops(find_in_runtime("GOMP_loop_ordered_static_start"));
  return loops.complete() ? &loops : nullptr;
}

const LlvmLoops* llvm_loops() noexcept {
  static constinit std::atomic<const LlvmLoops*> known{nullptr};
  static constinit std::atomic<bool> looked{false};
  // Acquire: what was found is complete; partner below.
  if (!looked.load(std::memory_order_acquire)) [[unlikely]] {
    known.store(find_llvm_loops(), std::memory_order_relaxed);
    looked.store(true, std::memory_order_release);
  }
  return known.load(std::memory_order_relaxed);
}

class LoopCall {
 public:
  explicit LoopCall(const void* returns_to) noexcept { t_loop_call = returns_to; }
  LoopCall(const LoopCall&) = delete;
  LoopCall& operator=(const LoopCall&) = delete;
  ~LoopCall() { t_loop_call = nullptr; }
};

// The bounds exclude the end, LLVM's include it. False: nothing for this thread.
template <typename Number>
bool begin_loop(const LlvmLoops& loops, Schedule schedule, bool up, Number from, Number to,
                std::int64_t step, std::int64_t chunk, Number* first,
                Number* end) noexcept {
  if (up ? from >= to : from <= to) return false;
  using Wide = std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>;
  const std::int32_t thread = loops.thread(&g_loop_source);
  const auto last = static_cast<Wide>(up ? to - 1 : to + 1);
  Wide begins = 0;
  Wide ends = 0;
  int any = 0;
  std::int64_t stride = 0;
  if constexpr (std::is_signed_v<Number>) {
    loops.begin(&g_loop_source, thread, schedule, from, last, step, chunk);
    any = loops.next(&g_loop_source, thread, nullptr, &begins, &ends, &stride);
  } else {
    loops.begin_unsigned(&g_loop_source, thread, schedule, from, last, step, chunk);
    any = loops.next_unsigned(&g_loop_source, thread, nullptr, &begins, &ends, &stride);
  }
  if (any == 0) return false;
  *first = static_cast<Number>(begins);
  *end = static_cast<Number>(up ? ends + 1 : ends - 1);
  return true;
}

// Of iterations that depend on others; the loop counts from 0.
bool begin_dependent(const LlvmLoops& loops, unsigned count, const long* iterations,
                     long chunk, long* first, long* end) noexcept {
  std::array<Dimension, kMaxDimensions> dimensions;
  for (unsigned i = 0; i < count; ++i) dimensions[i] = {0, iterations[i] - 1, 1};
  const std::int32_t thread = loops.thread(&g_loop_source);
  loops.begin_dependences(&g_loop_source, thread, static_cast<int>(count),
                          dimensions.data());
  const bool any = begin_loop<long>(loops, Schedule::kStaticChunked, true, 0, iterations[0],
                                    1, chunk, first, end);
  if (!any) loops.end_dependences(&g_loop_source, thread);
  return any;
}

template <typename Function>
Function* next_start(std::atomic<Function*>& known, const char* name) noexcept {
  Function* function = known.load(std::memory_order_relaxed);
  if (function == nullptr) [[unlikely]] {
    function = reinterpret_cast<Function*>(const_cast<void*>(find_in_runtime(name)));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

using Unsigned = unsigned long long;
using OrderedStart = bool(long, long, long, long, long*, long*);
using DependentStart = bool(unsigned, long*, long, long*, long*);
using UnsignedStart = bool(bool, Unsigned, Unsigned, Unsigned, Unsigned, Unsigned*,
                           Unsigned*);
using UnsignedRuntimeStart = bool(bool, Unsigned, Unsigned, Unsigned, Unsigned*, Unsigned*);

}  // namespace
}  // namespace refrain::ompt

#define LOOP_START extern "C" __attribute__((visibility("default"))) bool
#define LOOP_CALLER __builtin_extract_return_addr(__builtin_return_address(0))

LOOP_START GOMP_loop_ordered_static_start(long from, long to, long step, long chunk,
                                          long* first, long* end) {
  using namespace refrain::ompt;
  static constinit std::atomic<OrderedStart*> next{nullptr};
  const LoopCall call(LOOP_CALLER);
  const LlvmLoops* const loops = chunk == 0 ? nullptr : llvm_loops();
  if (loops == nullptr)
    return next_start(next, "GOMP_loop_ordered_static_start")(from, to, step, chunk, first,
                                                              end);
  return begin_loop(*loops, Schedule::kOrderedStaticChunked, step > 0, from, to, step,
                    chunk, first, end);
}

LOOP_START GOMP_loop_doacross_static_start(unsigned count, long* iterations, long chunk,
                                           long* first, long* end) {
  using namespace refrain::ompt;
  static constinit std::atomic<DependentStart*> next{nullptr};
  const LoopCall call(LOOP_CALLER);
  const LlvmLoops* const loops =
      chunk == 0 || count > kMaxDimensions ? nullptr : llvm_loops();
  if (loops == nullptr)
    return next_start(next, "GOMP_loop_doacross_static_start")(count, iterations, chunk,
                                                               first, end);
  return begin_dependent(*loops, count, iterations, chunk, first, end);
}

// The step of a loop that counts down is negative, in two's complement.
#define UNSIGNED_START(name, schedule)                                                    \
  LOOP_START GOMP_loop_ull_##name##_start(                                                \
      bool up, refrain::ompt::Unsigned from, refrain::ompt::Unsigned to,                  \
      refrain::ompt::Unsigned step, refrain::ompt::Unsigned chunk,                        \
      refrain::ompt::Unsigned* first, refrain::ompt::Unsigned* end) {                     \
    using namespace refrain::ompt;                                                        \
    static constinit std::atomic<UnsignedStart*> next{nullptr};                           \
    const LoopCall call(LOOP_CALLER);                                                     \
    const Schedule wanted = chunk == 0 ? schedule : with_chunk(schedule);                 \
    const LlvmLoops* const loops = up && wanted == (schedule) ? nullptr : llvm_loops();   \
    if (loops == nullptr)                                                                 \
      return next_start(next, "GOMP_loop_ull_" #name "_start")(up, from, to, step, chunk, \
                                                               first, end);               \
    return begin_loop(*loops, wanted, up, from, to, static_cast<std::int64_t>(step),      \
                      static_cast<std::int64_t>(chunk), first, end);                      \
  }
UNSIGNED_START(static, Schedule::kStatic)
UNSIGNED_START(dynamic, Schedule::kDynamic)
UNSIGNED_START(guided, Schedule::kGuided)
UNSIGNED_START(nonmonotonic_dynamic, Schedule::kDynamic)
UNSIGNED_START(nonmonotonic_guided, Schedule::kGuided)
UNSIGNED_START(ordered_static, Schedule::kOrderedStatic)
UNSIGNED_START(ordered_dynamic, Schedule::kOrderedDynamic)
UNSIGNED_START(ordered_guided, Schedule::kOrderedGuided)

#define UNSIGNED_RUNTIME_START(name, schedule)                                            \
  LOOP_START GOMP_loop_ull_##name##_start(                                                \
      bool up, refrain::ompt::Unsigned from, refrain::ompt::Unsigned to,                  \
      refrain::ompt::Unsigned step, refrain::ompt::Unsigned* first,                       \
      refrain::ompt::Unsigned* end) {                                                     \
    using namespace refrain::ompt;                                                        \
    static constinit std::atomic<UnsignedRuntimeStart*> next{nullptr};                    \
    const LoopCall call(LOOP_CALLER);                                                     \
    const LlvmLoops* const loops = up ? nullptr : llvm_loops();                           \
    if (loops == nullptr)                                                                 \
      return next_start(next, "GOMP_loop_ull_" #name "_start")(up, from, to, step, first, \
                                                               end);                      \
    return begin_loop(*loops, schedule, up, from, to, static_cast<std::int64_t>(step), 0, \
                      first, end);                                                        \
  }
UNSIGNED_RUNTIME_START(runtime, Schedule::kRuntime)
UNSIGNED_RUNTIME_START(nonmonotonic_runtime, Schedule::kRuntime)
UNSIGNED_RUNTIME_START(maybe_nonmonotonic_runtime, Schedule::kRuntime)
UNSIGNED_RUNTIME_START(ordered_runtime, Schedule::kOrderedRuntime)
#undef UNSIGNED_RUNTIME_START
#undef UNSIGNED_START
#undef LOOP_CALLER
#undef LOOP_START
