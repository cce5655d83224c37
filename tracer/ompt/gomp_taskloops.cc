// Comes between gcc's taskloops and LLVM's runtime, in libgomp's place, which executes iterations beyond the end of loops that count down,
// begin below 0 or have none: it compares bounds as if they were unsigned and grew.
//
// Such a loop is passed on as one that counts its iterations from 0. What its tasks need to know of it lies before the data of the
// program's function, and is copied with it:
//
//     | first, end | third word of the data | the loop | padding | first, end, the program's data |
//
// The third word is where the runtime looks for reductions. All other loops, and all of libgomp's, go on as they are.
//
// Place in the flow: ARCHITECTURE.md, stage 2; called by runtime_entries.cc, which knows the program's call. Goes on with a jump, so that
// the runtime sees that call, too. Thread-safety: any thread. Errors: without memory the loop goes on as it is. Cost: of these loops one
// block of memory, which is the thread's until its next one (a thread that ends leaves the latest).
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "base/loaded_symbols.h"
#include "tracer/ompt/runtime_entries.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::ompt {

// Of the thread; the runtime copies it at once, to where its alignment is right. Not local to this file: gold relocates such ones wrongly.
extern constinit thread_local void* t_taskloop_block
    __attribute__((tls_model("initial-exec")));
constinit thread_local void* t_taskloop_block __attribute__((tls_model("initial-exec"))) =
    nullptr;

namespace {

using Code = void(void*);
using Copy = void(void*, void*);
template <typename Number>
using Taskloop = void(Code*, void*, Copy*, long, long, unsigned, unsigned long, int, Number,
                      Number, Number);
using Unsigned = unsigned long long;

constexpr unsigned kUp = 1u << 8;  // GOMP_TASK_FLAG_UP

struct Counted {
  std::uint64_t first;
  std::uint64_t end;
  std::uint64_t third;
  Code* code;
  Copy* copy;
  std::uint64_t start;
  std::uint64_t step;
  std::uint64_t data;  // from here to the program's, in bytes
};

char* data_of(void* counted) noexcept {
  return static_cast<char*>(counted) + static_cast<Counted*>(counted)->data;
}

// In two's complement, as the program's function counts.
void execute(void* argument) {
  const auto& counted = *static_cast<const Counted*>(argument);
  char* const data = data_of(argument);
  const std::uint64_t bounds[] = {counted.start + counted.first * counted.step,
                                  counted.start + counted.end * counted.step};
  std::memcpy(data, bounds, sizeof bounds);
  counted.code(data);
}

// The runtime has copied all bytes before.
void copy(void* to, void* from) {
  static_cast<const Counted*>(from)->copy(data_of(to), data_of(from));
}

// As libgomp counts.
template <typename Number>
Number iterations(bool up, Number start, Number end, Number step) noexcept {
  if (up ? start >= end : start <= end) return 0;
  if constexpr (std::is_signed_v<Number>)
    return (end - start + (up ? step - 1 : step + 1)) / step;
  else
    return up ? (end - start + step - 1) / step : (start - end - step - 1) / (0 - step);
}

// Null: no memory.
Counted* make_counted(Code* code, const void* data, Copy* copy_data, long bytes, long align,
                      std::uint64_t start, std::uint64_t step) noexcept {
  const recorder::SlowPath slow_path;
  const auto unit = static_cast<std::size_t>(align < 16 ? 16 : align);
  const std::size_t before = (sizeof(Counted) + unit - 1) / unit * unit;
  std::free(t_taskloop_block);
  t_taskloop_block = std::malloc(before + static_cast<std::size_t>(bytes));
  if (t_taskloop_block == nullptr) return nullptr;
  auto* const counted = static_cast<Counted*>(t_taskloop_block);
  *counted = {.first = 0,
              .end = 0,
              .third = 0,
              .code = code,
              .copy = copy_data,
              .start = start,
              .step = step,
              .data = before};
  if (bytes >= 24)
    std::memcpy(&counted->third, static_cast<const char*>(data) + 16,
                sizeof counted->third);
  std::memcpy(data_of(counted), data, static_cast<std::size_t>(bytes));
  return counted;
}

template <typename Number>
constinit std::atomic<Taskloop<Number>*> g_next{nullptr};

template <typename Number>
void start_taskloop(Code* code, void* data, Copy* copy_data, long bytes, long align,
                    unsigned flags, unsigned long tasks, int priority, Number start,
                    Number end, Number step) {
  Taskloop<Number>* const next = g_next<Number>.load(std::memory_order_relaxed);
  const bool up = (flags & kUp) != 0;
  if (!up || start < 0 || start >= end) {
    Counted* const counted = step == 0 ? nullptr
                                       : make_counted(code, data, copy_data, bytes, align,
                                                      static_cast<std::uint64_t>(start),
                                                      static_cast<std::uint64_t>(step));
    if (counted != nullptr) {
      code = execute;
      data = counted;
      copy_data = copy_data == nullptr ? nullptr : copy;
      bytes += static_cast<long>(counted->data);
      align = align < 16 ? 16 : align;
      flags |= kUp;
      end = iterations(up, start, end, step);
      start = 0;
      step = 1;
    }
  }
  next(code, data, copy_data, bytes, align, flags, tasks, priority, start, end, step);
}

template <typename Number>
const void* come_before(const void* next) noexcept {
  g_next<Number>.store(reinterpret_cast<Taskloop<Number>*>(const_cast<void*>(next)));
  return reinterpret_cast<const void*>(&start_taskloop<Number>);
}

}  // namespace

const void* before_taskloop(const void* next, bool is_unsigned) noexcept {
  if (base::symbol_in(next, "__kmpc_taskloop") == nullptr) return next;  // libgomp's
  return is_unsigned ? come_before<Unsigned>(next) : come_before<long>(next);
}

}  // namespace refrain::ompt
