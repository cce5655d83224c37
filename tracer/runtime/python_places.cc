#include "tracer/runtime/python_places.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "base/append_only_map.h"
#include "code/bytecode.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/modules.h"
#include "tracer/sampler/python_frames.h"
#include "tracer/sampler/stack_memory.h"
#include "tracer/sampler/unwind_lookup.h"

namespace refrain::runtime {

constinit std::atomic<bool> g_any_python{false};

// What the thread is known to have: a state that is its own, and its stack.
struct KnownState {
  std::uint64_t state = 0;
  bool own = false;
  sampler::StackBounds stack{};
  // Frames outside of the stack of frames that were read: of generators.
  std::array<std::uint64_t, 4> frames{};
  unsigned next = 0;
};
// Local ones lose their place (tracer/thread_locals_test.sh).
extern constinit thread_local KnownState t_known_state
    __attribute__((tls_model("initial-exec")));
constinit thread_local KnownState t_known_state __attribute__((tls_model("initial-exec")));

namespace {

using sampler::StackMemory;
namespace python = sampler::python;

// A library that hands on a call is rarely deeper.
constexpr unsigned kMaxHandedOn = 32;

constinit recorder::HandlerSafeMutex g_places_mutex;

// Set before g_any_python, by whoever has the lock.
constinit sampler::PythonInterpreter g_interpreter;
constinit std::uint64_t g_object = 0;  // the identity of its file; 0: the program itself
constinit unsigned g_unloading = 0;

struct PlaceNames {
  struct Name {
    std::string function, file;
    std::uint32_t line;
  };
  std::deque<Name> names;  // by address
  std::map<std::tuple<std::uint64_t, std::string, std::string, std::uint32_t>,
           std::uint64_t>
      addresses;
};
// Never destroyed: threads may ask until the very end.
constinit PlaceNames* g_names = nullptr;

struct Address {
  std::atomic<std::uint64_t> value{0};
};
struct Nothing {};
constexpr std::uint64_t kOfLibrary = std::uint64_t{1} << 63;
// By instruction, name and table of lines; the highest bit says that it is a library's.
constinit base::AppendOnlyMap<std::uint64_t, Address, 1 << 15, 32> g_places;
// Addresses of objects that were code when they were looked at.
constinit base::AppendOnlyMap<std::uint64_t, Nothing, 1 << 14, 32> g_codes;
// By the two addresses of python_address_with().
constinit base::AppendOnlyMap<std::uint64_t, Address, 1 << 13, 32> g_pairs;

std::uint64_t mixed_key(std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
  std::uint64_t hash = (a ^ b * 0xBF58476D1CE4E5B9u) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 29 ^ c) * 0xBF58476D1CE4E5B9u;
  return (hash ^ hash >> 32) | 1;
}

bool copy_checked(std::uint64_t from, void* to, std::size_t bytes) noexcept {
  return from != 0 && StackMemory::read_checked(from, to, bytes);
}

void copy_loaded(std::uint64_t from, std::uint64_t* to, unsigned words) noexcept {
  for (unsigned i = 0; i != words; ++i) to[i] = StackMemory::loaded(from + 8UL * i);
}

// With the lock. 0: there is no room, or no journal.
std::uint64_t number_place(std::uint64_t native, const PlaceNames::Name& name) {
  if (g_names == nullptr) g_names = new PlaceNames;
  const auto [at, is_new] =
      g_names->addresses.try_emplace({native, name.function, name.file, name.line}, 0);
  if (!is_new) return at->second;
  const std::uint64_t number = g_names->names.size();
  if (number == kMaxPythonAddresses) return 0;
  const std::uint64_t address = kPythonAddresses + number * kPythonAddressStep;
  char numbers[80];
  std::snprintf(numbers, sizeof numbers, "%llx %llx %x %llx [python]",
                static_cast<unsigned long long>(address),
                1 + static_cast<unsigned long long>(address), name.line,
                static_cast<unsigned long long>(native));
  const bool noted =
      note_place(address, numbers + name.function + spool::kTextSeparator + name.file);
  if (!noted) {
    g_names->addresses.erase(at);
    return 0;
  }
  g_names->names.push_back(name);
  return at->second = address;
}

// What the interpreter has for this thread may be what somebody else has there: before it is started, and after its end.
__attribute__((noinline)) void learn_state(std::uint64_t state) noexcept {
  const recorder::SlowPath slow_path;
  std::uint64_t thread = 0;
  KnownState& known = t_known_state;
  if (known.stack.end == 0) known.stack = sampler::bounds_of_this_thread();
  known.state = state;
  known.frames = {};
  known.own = state % 8 == 0 &&
              copy_checked(state + python::kStateThread, &thread, sizeof thread) &&
              thread == static_cast<std::uint64_t>(pthread_self());
}

// With its highest bit. 0: not as expected.
__attribute__((noinline)) std::uint64_t learn_place(std::uint64_t code,
                                                    std::uint64_t instruction,
                                                    std::uint64_t key) noexcept {
  const recorder::SlowPath slow_path;
  python::ObjectHead head;
  if (!copy_checked(code, &head, sizeof head) || head.type != g_interpreter.code_type ||
      head.size == 0 || head.size > python::kMaxBytes)
    return 0;
  // A frame that has just begun is before its first unit.
  const std::uint64_t begin = code + python::kCodeUnits;
  const std::uint64_t unit = instruction < begin ? 0 : (instruction - begin) / 2;
  if (unit >= head.size || instruction + 2 < begin) return 0;
  std::uint64_t place = 0;
  recorder::attempted([&] {
    const python::Reader reader(copy_checked);
    const auto lines = reader.bytes_of(reader.word(code + python::kCodeLines));
    const auto first_line =
        static_cast<std::uint32_t>(reader.word(code + python::kCodeFirstLine));
    const PlaceNames::Name name{reader.text_of(reader.word(code + python::kCodeName)),
                                reader.text_of(reader.word(code + python::kCodeFile)),
                                code::bytecode_line(lines, first_line, unit)};
    if (name.function.empty() || name.file.empty()) return;
    const std::lock_guard lock(g_places_mutex);
    place = number_place(0, name);
    if (place != 0 && is_python_library(name.file)) place |= kOfLibrary;
  });
  if (place == 0) return 0;
  g_codes.find_or_add(code);
  if (auto* const entry = g_places.find_or_add(key); entry != nullptr)
    entry->value.value.store(place, std::memory_order_relaxed);
  return place;
}

std::uint64_t place_of_frame(const python::FrameWords& words) noexcept {
  if (words.code == 0 || words.code % 8 != 0) return 0;
  std::uint64_t of_code[2];
  static_assert(python::kCodeLines == python::kCodeName + 8);
  if (g_codes.find(words.code) != nullptr)
    copy_loaded(words.code + python::kCodeName, of_code, 2);
  else if (!copy_checked(words.code + python::kCodeName, of_code, sizeof of_code))
    return 0;
  const std::uint64_t key = mixed_key(words.instruction, of_code[0], of_code[1]);
  if (auto* const entry = g_places.find(key); entry != nullptr) {
    const std::uint64_t known = entry->value.value.load(std::memory_order_relaxed);
    if (known != 0) [[likely]]
      return known;
  }
  return learn_place(words.code, words.instruction, key);
}

bool in_folder(std::string_view file, std::string_view folder) noexcept {
  return file.starts_with(folder) && file.size() > folder.size() &&
         (file[folder.size()] == '/' || file[folder.size()] == '.');
}

}  // namespace

bool is_python_library(std::string_view file) noexcept {
  if (file.starts_with("<frozen ") || file == "<__array_function__ internals>") return true;
  constexpr std::string_view kPackages = "-packages/";
  const std::size_t packages = file.rfind(kPackages);
  if (packages == std::string_view::npos) {
    const std::size_t standard = file.find("/lib/python3.");
    return standard != std::string_view::npos;
  }
  file.remove_prefix(packages + kPackages.size());
  for (const std::string_view hands_on :
       {"numpy", "scipy", "mpi4py", "petsc4py", "slepc4py", "h5py", "threadpoolctl"})
    if (in_folder(file, hands_on)) return true;
  return false;
}

__attribute__((noinline)) std::uint64_t find_python_address() noexcept {
  const auto state = reinterpret_cast<std::uint64_t>(g_interpreter.state());
  if (state == 0) return 0;
  KnownState& known = t_known_state;
  if (known.state != state) [[unlikely]]
    learn_state(state);
  if (!known.own) return 0;
  const recorder::KeepErrno keep_errno;
  // The record of the innermost C function that runs Python code. One further in than this function has been left by a jump.
  const std::uint64_t record = StackMemory::loaded(state + python::kStateRecord);
  std::uint64_t frame = 0;
  const bool on_stack =
      record > reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) &&
      record < known.stack.end && record % 8 == 0;
  if (on_stack || record == state + python::kStateFirst)
    frame = StackMemory::loaded(record + python::kRecordFrame);
  else if (record < known.stack.begin || record >= known.stack.end)  // of a coroutine
    copy_checked(record + python::kRecordFrame, &frame, sizeof frame);
  std::uint64_t part[3];  // of the stack of frames: begin, end of what is used, end
  copy_loaded(state + python::kStatePart, part, 3);
  std::uint64_t innermost = 0;
  for (unsigned depth = 0; frame != 0 && frame % 8 == 0 && depth != kMaxHandedOn; ++depth) {
    python::FrameWords words;
    const bool in_part =
        frame >= part[0] && frame < part[2] && part[2] - frame >= python::kFrameBytes;
    const bool seen =
        std::find(known.frames.begin(), known.frames.end(), frame) != known.frames.end();
    if (in_part || seen) {
      std::uint64_t loaded[sizeof words / 8];
      copy_loaded(frame + python::kFrameCode, loaded, sizeof words / 8);
      std::memcpy(&words, loaded, sizeof words);
    } else if (!copy_checked(frame + python::kFrameCode, &words, sizeof words)) {
      break;
    }
    const std::uint64_t place = place_of_frame(words);
    if (place == 0) break;
    if (!in_part && !seen) known.frames[known.next++ % known.frames.size()] = frame;
    if ((place & kOfLibrary) == 0) return place;
    if (innermost == 0) innermost = place & ~kOfLibrary;
    frame = words.previous;
  }
  return innermost;
}

std::uint64_t python_address_with(std::uint64_t address, std::uint64_t python) noexcept {
  auto* const entry = g_pairs.find_or_add(mixed_key(address, python, 0));
  if (entry != nullptr)
    if (const std::uint64_t known = entry->value.value.load(std::memory_order_relaxed);
        known != 0) [[likely]]
      return known;
  const recorder::SlowPath slow_path;
  std::uint64_t made = 0;
  recorder::attempted([&] {
    const std::lock_guard lock(g_places_mutex);
    if (g_names == nullptr || !is_python_address(python)) return;
    const std::uint64_t number = (python - kPythonAddresses) / kPythonAddressStep;
    if (number < g_names->names.size())
      made = number_place(address, PlaceNames::Name(g_names->names[number]));
  });
  if (made != 0 && entry != nullptr)
    entry->value.value.store(made, std::memory_order_relaxed);
  return made != 0 ? made : python;
}

std::uint64_t python_address_of(std::string_view function, std::string_view file,
                                std::uint32_t line) noexcept {
  const recorder::SlowPath slow_path;
  std::uint64_t made = 0;
  recorder::attempted([&] {
    const PlaceNames::Name name{std::string(function), std::string(file), line};
    const std::lock_guard lock(g_places_mutex);
    made = number_place(0, name);
  });
  return made;
}

void look_for_python(const char* path, std::uint64_t begin, std::uint64_t end,
                     bool is_program) noexcept {
  if (any_python()) return;
  const char* const name = std::strrchr(path, '/');
  if (!is_program && std::strstr(name == nullptr ? path : name, "python") == nullptr)
    return;
  const recorder::SlowPath slow_path;
  const sampler::PythonInterpreter found = sampler::interpreter_in(begin, end);
  if (found.begin == 0) return;
  sampler::CodeObject object;
  if (!is_program && !sampler::find_object(begin, object)) return;
  const std::lock_guard lock(g_places_mutex);
  if (any_python() || g_unloading != 0) return;
  g_interpreter = found;
  g_object = object.identity;
  // Release: the interpreter is there; partner in any_python().
  g_any_python.store(true, std::memory_order_release);
}

void before_python_unloading() noexcept {
  if (g_object == 0) return;
  const recorder::SlowPath slow_path;
  const std::lock_guard lock(g_places_mutex);
  ++g_unloading;
  g_any_python.store(false);
}

void after_python_unloading() noexcept {
  if (g_object == 0) return;
  const recorder::SlowPath slow_path;
  const std::lock_guard lock(g_places_mutex);
  if (g_unloading != 0) --g_unloading;
  sampler::CodeObject object;
  if (g_unloading == 0 && sampler::find_object(g_interpreter.begin, object) &&
      object.identity == g_object)
    g_any_python.store(true, std::memory_order_release);
}

recorder::HandlerSafeMutex& python_places_mutex() noexcept { return g_places_mutex; }

}  // namespace refrain::runtime
