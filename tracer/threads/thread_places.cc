#include "tracer/threads/thread_places.h"

#include <link.h>
#include <malloc.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <string_view>

#include "base/append_only_map.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/code_address.h"
#include "tracer/runtime/python_places.h"

namespace refrain::threads {
namespace {

enum class Whose : std::uint8_t { kUnknown, kProgram, kThrough, kOther };

// By the names of their files.
Whose whose_file(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto is_one_of = [name](std::initializer_list<std::string_view> begins) {
    return std::ranges::any_of(
        begins, [name](std::string_view begin) { return name.starts_with(begin); });
  };
  if (is_one_of({"libstdc++", "libc++", "libc.so", "libc-", "libpthread"}))
    return Whose::kThrough;
  if (is_one_of({"librefrain", "libomp",      "libgomp",     "libiomp", "libmpi",
                 "libpmpi",    "libopen-rte", "libopen-pal", "libpmix", "libprrte",
                 "libevent",   "libucp",      "libucs",      "libuct",  "libucm",
                 "libfabric",  "libibverbs",  "libpsm",      "mca_",    "ld-linux"}))
    return Whose::kOther;
  return Whose::kProgram;
}

struct Found {
  std::uint64_t address;
  Whose whose = Whose::kOther;  // what is in no file is nobody's
  bool in_file = false;
  bool is_code = false;
};

int look_at_file(dl_phdr_info* info, std::size_t, void* data) {
  auto& found = *static_cast<Found*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD ||
        found.address - info->dlpi_addr - part.p_vaddr >= part.p_memsz)
      continue;
    found.whose = whose_file(info->dlpi_name == nullptr ? "" : info->dlpi_name);
    found.in_file = true;
    found.is_code = (part.p_flags & PF_X) != 0;
    return 1;
  }
  return 0;
}

Found find(std::uint64_t address) noexcept {
  const recorder::SlowPath slow_path;
  Found found{.address = address};
  dl_iterate_phdr(look_at_file, &found);
  return found;
}

constinit base::AppendOnlyMap<std::uint64_t, std::atomic<Whose>, 4096, 64> g_places{};

// Code that is loaded where other code was keeps the answer of that.
Whose whose(const void* address) noexcept {
  auto* const entry = g_places.find_or_add(reinterpret_cast<std::uint64_t>(address));
  if (entry == nullptr) return Whose::kProgram;
  Whose known = entry->value.load(std::memory_order_relaxed);
  if (known == Whose::kUnknown) {
    known = find(reinterpret_cast<std::uint64_t>(address)).whose;
    entry->value.store(known, std::memory_order_relaxed);
  }
  return known;
}

// The first caller that is neither Refrain nor of the libraries between it and the program.
struct Caller {
  std::uint64_t returns_to = 0;
  bool passed = false;  // the stand-in's own frames are behind us
  unsigned frames = 0;
};
constexpr unsigned kMaxFrames = 32;

_Unwind_Reason_Code look(_Unwind_Context* context, void* data) {
  auto& caller = *static_cast<Caller*>(data);
  const std::uint64_t address = _Unwind_GetIP(context);
  const Whose of = whose(reinterpret_cast<const void*>(address));
  if (of == Whose::kProgram) caller.returns_to = address;
  if (of == Whose::kThrough) caller.passed = true;
  // Ours come first.
  const bool other = of == Whose::kOther && caller.passed;
  return of == Whose::kProgram || other || ++caller.frames == kMaxFrames ? _URC_END_OF_STACK
                                                                         : _URC_NO_REASON;
}

// What lies behind the object may be a return address.
bool begins_function(std::uint64_t address) noexcept {
  const auto inside = reinterpret_cast<void*>(address + 1);
  return reinterpret_cast<std::uint64_t>(_Unwind_FindEnclosingFunction(inside)) == address;
}

// std::thread's object of a function and its arguments: its virtual functions are two destructors and the one that runs it. A pointer
// to a function that is to be called comes last in it; otherwise it has a function of its own.
std::uint64_t function_in(void* argument) noexcept {
  constexpr std::size_t kRun = 2, kMaxWords = 8;
  const std::size_t bytes = malloc_usable_size(argument);
  if (bytes < 2 * sizeof(std::uint64_t)) return 0;
  const auto* const words = static_cast<const std::uint64_t*>(argument);
  if (!find(words[0]).in_file) return 0;
  for (std::size_t i = std::min<std::size_t>(bytes / sizeof(std::uint64_t), kMaxWords);
       i-- > 1;)
    if (const Found last = find(words[i]);
        last.is_code && last.whose == Whose::kProgram && begins_function(words[i]))
      return words[i];
  return reinterpret_cast<const std::uint64_t*>(words[0])[kRun];
}

}  // namespace

std::uint64_t place_of(const void* returns_to) noexcept {
  const Whose of = whose(returns_to);
  if (of == Whose::kProgram) return runtime::call_address(returns_to);
  if (of == Whose::kOther) return 0;
  const recorder::SlowPath slow_path;
  Caller caller;
  _Unwind_Backtrace(look, &caller);
  return caller.returns_to == 0
             ? 0
             : runtime::call_address(reinterpret_cast<const void*>(caller.returns_to));
}

std::uint64_t function_of(const void* creator, std::uint64_t function,
                          void* argument) noexcept {
  if (whose(creator) == Whose::kOther) return 0;
  switch (whose(reinterpret_cast<const void*>(function))) {
    case Whose::kProgram:
      return runtime::code_address(function);
    case Whose::kThrough:
      return runtime::code_address(argument == nullptr ? 0 : function_in(argument));
    default:
      return 0;
  }
}

}  // namespace refrain::threads
