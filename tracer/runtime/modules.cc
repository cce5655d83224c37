#include "tracer/runtime/modules.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/own_stack.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/code_address.h"
#include "tracer/runtime/python_places.h"

namespace refrain::runtime {
namespace {

std::string executable_path() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : std::string();
}

// The build id from the notes of a loaded object; empty if it has none.
std::string_view build_id(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr);
    const char* end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* name = at + sizeof note;
      const char* data = name + (std::size_t{note.n_namesz} + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(name, "GNU", 4) == 0 && data + note.n_descsz <= end)
        return {data, note.n_descsz};
      at = data + (std::size_t{note.n_descsz} + 3) / 4 * 4;
    }
  }
  return {};
}

std::string in_hex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

// The file that is mapped at an address, as the kernel knows it: the loader has the name that it was given, and
// the program may have changed its directory since. Empty: not known.
std::string mapped_file(std::uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %*s %*s %*s %n", &begin, &end, &path_at) <
            2 ||
        address < begin || address >= end)
      continue;
    const std::string path =
        line.substr(std::min(static_cast<std::size_t>(path_at), line.size()));
    return path.starts_with('/') ? path : std::string();
  }
  return {};
}

// "start end offset build-id path", `shift` higher than it is. Empty: it has no file.
std::string text_of(const dl_phdr_info& info, const ElfW(Phdr) & header,
                    std::uint64_t shift) {
  const std::uint64_t begin = info.dlpi_addr + header.p_vaddr;
  std::string path = info.dlpi_name;
  if (path.empty()) path = executable_path();
  if (path.starts_with("linux-vdso")) path = "[vdso]";  // the kernel's: there is no file
  if (!path.empty() && path[0] != '/' && path[0] != '[') path = mapped_file(begin);
  if (path.empty()) return {};
  const std::string_view id = build_id(info);
  char numbers[64];
  std::snprintf(numbers, sizeof numbers, "%llx %llx %llx ",
                static_cast<unsigned long long>(begin + shift),
                static_cast<unsigned long long>(begin + header.p_memsz + shift),
                static_cast<unsigned long long>(header.p_offset));
  return numbers + (id.empty() ? "-" : in_hex(id)) + " " + path;
}

// Calls with (object, segment) of all that is code. No exception may pass through the C library.
template <typename Each>
void for_loaded(Each each) {
  const auto take = [](dl_phdr_info* info, std::size_t, void* data) {
    return recorder::attempted([&] {
      for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0)
          (*static_cast<Each*>(data))(*info, header);
      }
    })
               ? 0
               : 1;
  };
  if (dl_iterate_phdr(take, &each) != 0) throw std::bad_alloc();
}

// How many files the loader has loaded and unloaded so far.
struct LoadCounts {
  unsigned long long loaded = 0;
  unsigned long long unloaded = 0;
};
LoadCounts load_counts() noexcept {
  LoadCounts counts;
  const auto take = [](dl_phdr_info* info, std::size_t size, void* out) {
    if (size >= offsetof(dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
      *static_cast<LoadCounts*>(out) = {info->dlpi_adds, info->dlpi_subs};
    return 1;
  };
  dl_iterate_phdr(take, &counts);
  return counts;
}

// --- Those of the process

constinit recorder::HandlerSafeMutex g_modules_mutex;
constinit ReusedCode g_reused;

// Never destroyed: threads may ask until the very end.
struct ProcessModules {
  Modules modules{g_reused};
  std::vector<ModuleText> seen;
  LoadCounts counts;

  void look() {
    const LoadCounts now = load_counts();
    if (!seen.empty() && now.loaded == counts.loaded && now.unloaded == counts.unloaded)
      return;
    for (ModuleText& module : modules.scan_new()) seen.push_back(std::move(module));
    counts = now;
  }
};
constinit std::atomic<ProcessModules*> g_modules{nullptr};

}  // namespace

constinit std::atomic<bool> g_any_code_reused{false};

std::size_t ReusedCode::add(std::uint64_t begin, std::uint64_t end,
                            std::uint64_t shift) noexcept {
  const std::size_t range = count_.load(std::memory_order_relaxed);
  if (range == ranges_.size()) return kNone;
  ranges_[range].begin = begin;
  ranges_[range].end = end;
  ranges_[range].shift.store(shift, std::memory_order_relaxed);
  if (begin < lowest_.load(std::memory_order_relaxed)) lowest_.store(begin);
  if (end > highest_.load(std::memory_order_relaxed)) highest_.store(end);
  // Release: the range is complete before it counts; partner in find().
  count_.store(range + 1, std::memory_order_release);
  return range;
}

void ReusedCode::set_shift(std::size_t range, std::uint64_t shift) noexcept {
  if (range != kNone) ranges_[range].shift.store(shift, std::memory_order_relaxed);
}

ReusedCode::Found ReusedCode::find(std::uint64_t address) const noexcept {
  Found found{address, false};
  if (in_none(address)) return found;
  for (std::size_t i = count_.load(std::memory_order_acquire); i-- > 0;) {
    const Range& range = ranges_[i];
    if (address < range.begin || address >= range.end) continue;
    const std::uint64_t shift = range.shift.load(std::memory_order_relaxed);
    if (shift != kGone) return {address + shift, false};
    found.gone = true;
  }
  return found;
}

std::uint64_t ReusedCode::loaded(std::uint64_t recorded) const noexcept {
  if (recorded < kFirst && in_none(recorded)) return recorded;
  for (std::size_t i = count_.load(std::memory_order_acquire); i-- > 0;) {
    const Range& range = ranges_[i];
    const std::uint64_t shift = range.shift.load(std::memory_order_relaxed);
    if (shift != kGone && recorded - shift >= range.begin && recorded - shift < range.end)
      return recorded - shift;
  }
  const Found found = find(recorded);
  return found.gone || found.address != recorded ? 0 : recorded;
}

std::uint64_t Modules::shift_for(std::uint64_t begin, std::uint64_t end) noexcept {
  const bool used_before = std::any_of(known_.begin(), known_.end(), [&](const Known& k) {
    return k.gone && begin < k.end && k.begin < end;
  });
  if (!used_before) return 0;
  constexpr std::uint64_t kApart = std::uint64_t{1} << 21;
  const std::uint64_t at = next_free_ + begin % kApart;
  const std::uint64_t next = (at + (end - begin)) / kApart * kApart + 2 * kApart;
  if (next > kPythonAddresses) return 0;
  next_free_ = next;
  return at - begin;
}

// Open MPI unloads some sixty libraries while it starts: a look at a hundred that are known makes no texts.
Modules::Known* Modules::find(const dl_phdr_info& info, std::uint64_t begin,
                              std::uint64_t end) {
  for (Known& known : known_)
    if (known.begin == begin && known.end == end && known.name == info.dlpi_name &&
        known.id == build_id(info))
      return &known;
  return nullptr;
}

std::vector<ModuleText> Modules::scan_new() {
  std::vector<ModuleText> fresh;
  for_loaded([&](const dl_phdr_info& info, const ElfW(Phdr) & header) {
    const std::uint64_t begin = info.dlpi_addr + header.p_vaddr;
    const std::uint64_t end = begin + header.p_memsz;
    if (Known* const same = find(info, begin, end); same != nullptr) {
      if (std::exchange(same->gone, false)) reused_.set_shift(same->range, same->shift);
      return;
    }
    std::string text = text_of(info, header, 0);
    if (text.empty()) return;
    Known known{begin, end, info.dlpi_name, std::string(build_id(info))};
    known.shift = shift_for(begin, end);
    if (known.shift != 0) known.range = reused_.add(begin, end, known.shift);
    if (known.range == ReusedCode::kNone) known.shift = 0;
    if (known.shift != 0) text = text_of(info, header, known.shift);
    fresh.push_back({begin + known.shift, end + known.shift, std::move(text)});
    known_.push_back(std::move(known));
  });
  return fresh;
}

bool Modules::note_unloaded() {
  for (Known& known : known_) known.there = false;
  for_loaded([&](const dl_phdr_info& info, const ElfW(Phdr) & header) {
    const std::uint64_t begin = info.dlpi_addr + header.p_vaddr;
    if (Known* const known = find(info, begin, begin + header.p_memsz); known != nullptr)
      known->there = true;
  });
  bool any = false;
  for (Known& known : known_) {
    if (known.gone || known.there) continue;
    any = known.gone = true;
    if (known.range == ReusedCode::kNone)
      known.range = reused_.add(known.begin, known.end, ReusedCode::kGone);
    else
      reused_.set_shift(known.range, ReusedCode::kGone);
  }
  return any;
}

bool Modules::covers(std::uint64_t address) const noexcept {
  return std::any_of(known_.begin(), known_.end(), [&](const Known& k) {
    return !k.gone && address - k.shift >= k.begin && address - k.shift < k.end;
  });
}

std::vector<ModuleText> look_at_modules(std::size_t known) {
  const std::lock_guard lock(g_modules_mutex);
  ProcessModules* modules = g_modules.load(std::memory_order_relaxed);
  if (modules == nullptr) {
    modules = new ProcessModules;
    g_modules.store(modules);
  }
  modules->look();
  return {modules->seen.begin() +
              static_cast<std::ptrdiff_t>(std::min(known, modules->seen.size())),
          modules->seen.end()};
}

void note_region_function(std::uint64_t call, std::uint64_t function) noexcept {
  ProcessModules* const modules = g_modules.load(std::memory_order_relaxed);
  if (modules == nullptr) return;
  const recorder::SlowPath slow_path;
  const std::lock_guard lock(g_modules_mutex);
  recorder::attempted([&] {
    char text[80];
    std::snprintf(text, sizeof text, "%llx %llx %llx - [function]",
                  static_cast<unsigned long long>(call),
                  1 + static_cast<unsigned long long>(call),
                  static_cast<unsigned long long>(function));
    modules->seen.push_back({0, 0, text});
  });
}

bool note_place(std::uint64_t address, std::string text) noexcept {
  ProcessModules* const modules = g_modules.load(std::memory_order_relaxed);
  if (modules == nullptr) return false;
  const recorder::SlowPath slow_path;
  const std::lock_guard lock(g_modules_mutex);
  return recorder::attempted([&] {
    modules->seen.push_back({address, address + 1, std::move(text)});
  });
}

// What is unloaded now may be in records that name it.
void before_unloading() noexcept {
  before_python_unloading();
  if (g_modules.load(std::memory_order_relaxed) == nullptr) return;
  const recorder::SlowPath slow_path;
  const std::lock_guard lock(g_modules_mutex);
  recorder::on_own_stack([] { recorder::attempted([] { g_modules.load()->look(); }); });
}

void after_unloading() noexcept {
  after_python_unloading();
  ProcessModules* const modules = g_modules.load(std::memory_order_relaxed);
  if (modules == nullptr) return;
  const recorder::SlowPath slow_path;
  const std::lock_guard lock(g_modules_mutex);
  if (load_counts().unloaded == modules->counts.unloaded) return;
  recorder::on_own_stack([modules] {
    recorder::attempted([modules] {
      if (modules->modules.note_unloaded()) g_any_code_reused.store(true);
    });
  });
}

std::uint64_t reused_code_address(std::uint64_t address) noexcept {
  const ReusedCode::Found found = g_reused.find(address);
  if (!found.gone) [[likely]]
    return found.address;
  const recorder::SlowPath slow_path;
  const std::lock_guard lock(g_modules_mutex);
  recorder::on_own_stack([] { recorder::attempted([] { g_modules.load()->look(); }); });
  return g_reused.find(address).address;
}

std::uint64_t reused_loaded_address(std::uint64_t address) noexcept {
  return g_reused.loaded(address);
}

recorder::HandlerSafeMutex& modules_mutex() noexcept { return g_modules_mutex; }

}  // namespace refrain::runtime
