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

// The build id from the notes of a loaded object, in hex; "-" if it has none.
std::string build_id(const dl_phdr_info& info) {
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
          std::memcmp(name, "GNU", 4) == 0 && data + note.n_descsz <= end) {
        std::string hex;
        for (std::uint32_t k = 0; k < note.n_descsz; ++k) {
          const auto byte = static_cast<unsigned char>(data[k]);
          hex += "0123456789abcdef"[byte >> 4];
          hex += "0123456789abcdef"[byte & 15];
        }
        return hex;
      }
      at = data + (std::size_t{note.n_descsz} + 3) / 4 * 4;
    }
  }
  return "-";
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

// What is before the path in a text, without the place.
struct LoadedPart {
  std::uint64_t begin;
  std::uint64_t end;
  std::string rest;  // "offset build-id path"

  std::string text(std::uint64_t shift) const {
    char numbers[40];
    std::snprintf(numbers, sizeof numbers, "%llx %llx ",
                  static_cast<unsigned long long>(begin) + shift,
                  static_cast<unsigned long long>(end) + shift);
    return numbers + rest;
  }
};

void collect_from(const dl_phdr_info* info, std::vector<LoadedPart>& out) {
  std::string path = info->dlpi_name;
  if (path.empty()) path = executable_path();
  if (path.starts_with("linux-vdso")) path = "[vdso]";  // the kernel's: there is no file
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
    if (!path.empty() && path[0] != '/' && path[0] != '[') path = mapped_file(begin);
    if (path.empty()) return;
    char offset[24];
    std::snprintf(offset, sizeof offset, "%llx ",
                  static_cast<unsigned long long>(header.p_offset));
    out.push_back({begin, begin + header.p_memsz, offset + build_id(*info) + " " + path});
  }
}

// No exception may pass through the C library.
int collect(dl_phdr_info* info, std::size_t, void* out) {
  auto& found = *static_cast<std::vector<LoadedPart>*>(out);
  return recorder::attempted([&] { collect_from(info, found); }) ? 0 : 1;
}

std::vector<LoadedPart> loaded_parts() {
  std::vector<LoadedPart> found;
  if (dl_iterate_phdr(collect, &found) != 0) throw std::bad_alloc();
  return found;
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

std::vector<ModuleText> Modules::scan_new() {
  std::vector<ModuleText> fresh;
  for (const LoadedPart& part : loaded_parts()) {
    const std::string text = part.text(0);
    const auto same = std::find_if(known_.begin(), known_.end(),
                                   [&](const Known& k) { return k.text == text; });
    if (same != known_.end()) {
      if (std::exchange(same->gone, false)) reused_.set_shift(same->range, same->shift);
      continue;
    }
    Known known{part.begin, part.end, text};
    known.shift = shift_for(part.begin, part.end);
    if (known.shift != 0) known.range = reused_.add(part.begin, part.end, known.shift);
    if (known.range == ReusedCode::kNone) known.shift = 0;
    fresh.push_back(
        {part.begin + known.shift, part.end + known.shift, part.text(known.shift)});
    known_.push_back(std::move(known));
  }
  return fresh;
}

bool Modules::note_unloaded() {
  const std::vector<LoadedPart> parts = loaded_parts();
  bool any = false;
  for (Known& known : known_) {
    const bool there = std::any_of(parts.begin(), parts.end(), [&](const LoadedPart& part) {
      return part.begin == known.begin && part.text(0) == known.text;
    });
    if (known.gone || there) continue;
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
