#include "tracer/runtime/live_filter.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/append_only_map.h"
#include "base/folder.h"
#include "filters/region_filter.h"
#include "regions/region_class.h"
#include "regions/region_table.h"
#include "spool/mpi_format.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/excluded_regions.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/modules.h"

namespace refrain::runtime {
namespace {

using regions::RegionKey;

constinit recorder::HandlerSafeMutex g_mutex;

class LiveFilter {
 public:
  explicit LiveFilter(filters::RegionFilter filter) : filter_(std::move(filter)) {}

  bool excludes(std::string_view name, std::string_view file) const noexcept {
    return filter_.excludes(name, name, file);
  }
  bool may_exclude(RegionKey key) const noexcept {
    const char* const name = regions::class_name(key.cls);
    return name != nullptr && filter_.may_exclude(name);
  }

  // With the lock.
  bool excludes_construct(RegionKey key) {
    return regions::is_left_out(
        filter_, regions::define_construct(key, symbols(key.address).at_call(key.address)));
  }
  bool excludes_function(std::uint64_t address) {
    return regions::is_left_out(
        filter_, regions::define_function(symbols(address).at(address), address));
  }

 private:
  addresses::Resolver& symbols(std::uint64_t address) {
    const bool known =
        std::any_of(modules_.begin(), modules_.end(), [&](const auto& module) {
          return address >= module.begin && address < module.end;
        });
    if (address != 0 && !known) {
      for (ModuleText& module : look_at_modules(modules_.size())) {
        texts_.push_back(module.text);
        modules_.push_back(std::move(module));
        symbols_.reset();
      }
    }
    if (symbols_ == nullptr) symbols_ = std::make_unique<addresses::Resolver>(texts_);
    return *symbols_;
  }

  const filters::RegionFilter filter_;
  std::vector<ModuleText> modules_;
  std::vector<std::string> texts_;
  std::unique_ptr<addresses::Resolver> symbols_;
};

// Numbers of what is left out.
template <std::size_t kMax>
class NumberSet {
 public:
  void add(std::uint64_t number) noexcept {
    if (number < kMax)
      words_[number / 64].fetch_or(std::uint64_t{1} << number % 64,
                                   std::memory_order_relaxed);
  }
  bool has(std::uint64_t number) const noexcept {
    return number < kMax &&
           (words_[number / 64].load(std::memory_order_relaxed) >> number % 64 & 1) != 0;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kMax / 64> words_{};
};

constexpr std::size_t kMaxProcedures = 1 << 16;
constexpr std::size_t kMaxUserRegions = 1 << 20;
constinit NumberSet<kMaxProcedures> g_procedures;
constinit NumberSet<kMaxUserRegions> g_user_regions;

enum class Answer : std::uint8_t { kUnknown, kIn, kOut };
struct Known {
  std::atomic<Answer> answer{Answer::kUnknown};
};
constinit base::AppendOnlyMap<std::uint64_t, Known, 8192, 32> g_constructs;

// Never destroyed: threads may ask until the very end.
constinit std::atomic<LiveFilter*> g_filter{nullptr};

// By address, of threads.
constinit base::AppendOnlyMap<std::uint64_t, Known, 1024, 32> g_thread_functions;

bool is_known_out(std::uint64_t function) noexcept {
  auto* const known = g_thread_functions.find(function);
  return known != nullptr &&
         known->value.answer.load(std::memory_order_relaxed) == Answer::kOut;
}

bool look_up(LiveFilter& filter, RegionKey key) noexcept {
  const recorder::SlowPath slow_path;
  bool out = false;
  recorder::attempted([&] {
    const std::lock_guard lock(g_mutex);
    out = filter.excludes_construct(key);
  });
  return out;
}

bool excludes_construct(RegionKey key) noexcept {
  LiveFilter& filter = *g_filter.load(std::memory_order_acquire);
  if (!filter.may_exclude(key)) return false;
  auto* const known = g_constructs.find_or_add(key.packed());
  if (known == nullptr) return look_up(filter, key);  // the table is full
  Answer answer = known->value.answer.load(std::memory_order_relaxed);
  if (answer == Answer::kUnknown) {
    answer = look_up(filter, key) ? Answer::kOut : Answer::kIn;
    known->value.answer.store(answer, std::memory_order_relaxed);
  }
  return answer == Answer::kOut;
}

bool excludes(spool::CallKey key, std::uint64_t team) noexcept {
  switch (key.kind()) {
    case spool::kMpiEnter:
      return g_procedures.has(key.payload >> spool::kMpiProcedureShift);
    case spool::kUserEnter:
      return g_user_regions.has(key.payload & 0xffffffff);
    case spool::kFunctionEnter:  // only those of threads are recorded if they are left out
      return is_known_out(key.payload);
    case spool::kMutexAcquired:
      return excludes_construct(regions::keys_of_node(key)[1]);
    default:
      break;
  }
  auto [region, inner] = regions::keys_of_node(key);
  if (region.address == 0 && regions::is_implicit_barrier(region.cls))
    region.address = team;
  // A single of the thread that executes it is two regions.
  const bool is_two =
      key.kind() == spool::kWorkBegin && inner.cls != regions::RegionClass::kNone;
  return excludes_construct(region) && (!is_two || excludes_construct(inner));
}

}  // namespace

void begin_live_filter(const std::string& path) {
  if (path.empty() || g_filter.load() != nullptr) return;
  const recorder::NoLowDescriptors no_low_descriptors;
  const auto text = base::small_text(path);
  filters::RegionFilter filter;
  if (!text || !filter.parse(*text).ok() || filter.empty()) return;
  g_filter.store(new LiveFilter(std::move(filter)), std::memory_order_release);
  recorder::set_excluded(excludes);
}

void name_procedure(std::uint16_t number, std::string_view name) noexcept {
  const LiveFilter* const filter = g_filter.load(std::memory_order_acquire);
  if (filter != nullptr && filter->excludes(name, regions::kMpiFile))
    g_procedures.add(number);
}

void name_user_region(std::uint32_t number, std::string_view name,
                      std::string_view file) noexcept {
  const LiveFilter* const filter = g_filter.load(std::memory_order_acquire);
  if (filter != nullptr && filter->excludes(name, file)) g_user_regions.add(number);
}

bool filter_excludes_function(std::uint64_t address) noexcept {
  LiveFilter* const filter = g_filter.load(std::memory_order_acquire);
  if (filter == nullptr) return false;
  const recorder::SlowPath slow_path;
  bool out = false;
  recorder::attempted([&] {
    const std::lock_guard lock(g_mutex);
    out = filter->excludes_function(address);
  });
  return out;
}

void name_thread_function(std::uint64_t address) noexcept {
  if (g_filter.load(std::memory_order_acquire) == nullptr) return;
  auto* const known = g_thread_functions.find_or_add(address);
  if (known == nullptr ||
      known->value.answer.load(std::memory_order_relaxed) != Answer::kUnknown)
    return;
  known->value.answer.store(filter_excludes_function(address) ? Answer::kOut : Answer::kIn,
                            std::memory_order_relaxed);
}

recorder::HandlerSafeMutex& live_filter_mutex() noexcept { return g_mutex; }

}  // namespace refrain::runtime
