// Counters: which of those asked for there are, and a reader of them for each thread.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Set up when the session starts, before any thread
// has a recorder; each thread's reader is made when it gets one, and goes with it. What cannot be
// counted here is reported in one line, and the rest is recorded.
// An event set of PAPI has events of one component only, so a thread has one for each component.
// Thread-safety: set up by one thread; readers are their threads' own.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tracer/life/lifecycle.h"
#include "tracer/memory/memory_calls.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/recorder/thread_recorder.h"
#include "tracer/runtime/notices.h"
#include "tracer/runtime/session.h"

namespace refrain::counters {

// --- The functions of PAPI that we use, looked up while the program runs: nothing of ours needs the
// library.
//
// Place in the flow: ARCHITECTURE.md, stage 2, next to counters.cc. Names, values and types are
// those of PAPI 5 to 7 (papi.h).
// Thread-safety: load() once; the functions as PAPI has them.

struct Papi {
  static constexpr int kOk = 0;
  static constexpr int kNull = -1;  // no event set

  int (*is_initialized)() = nullptr;
  int (*library_init)(int version) = nullptr;
  int (*thread_init)(unsigned long (*id)()) = nullptr;
  int (*register_thread)() = nullptr;
  int (*unregister_thread)() = nullptr;
  int (*event_name_to_code)(const char* name, int* code) = nullptr;
  int (*get_event_component)(int code) = nullptr;
  int (*create_eventset)(int* set) = nullptr;
  int (*add_event)(int set, int code) = nullptr;
  int (*start)(int set) = nullptr;
  int (*stop)(int set, long long* values) = nullptr;
  int (*read)(int set, long long* values) = nullptr;
  int (*cleanup_eventset)(int set) = nullptr;
  int (*destroy_eventset)(int* set) = nullptr;
  char* (*strerror)(int error) = nullptr;

  // Finds the library, in the program or on its path, and starts it.
  base::Result<> load();
};

namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  void* found = dlsym(library, name);
  std::memcpy(&function, &found, sizeof function);
  return found != nullptr;
}

unsigned long thread_id() { return static_cast<unsigned long>(pthread_self()); }

}  // namespace

base::Result<> Papi::load() {
  void* library = nullptr;
  // Global: components of PAPI find what the program links (software-defined events) so.
  for (const char* name : {"libpapi.so", "libpapi.so.7.1", "libpapi.so.7.0",
                           "libpapi.so.6.0", "libpapi.so.5.7"}) {
    library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) return base::Failure{"PAPI was not found (libpapi.so)"};
  const bool all = find(library, "PAPI_is_initialized", is_initialized) &&
                   find(library, "PAPI_library_init", library_init) &&
                   find(library, "PAPI_thread_init", thread_init) &&
                   find(library, "PAPI_register_thread", register_thread) &&
                   find(library, "PAPI_unregister_thread", unregister_thread) &&
                   find(library, "PAPI_event_name_to_code", event_name_to_code) &&
                   find(library, "PAPI_get_event_component", get_event_component) &&
                   find(library, "PAPI_create_eventset", create_eventset) &&
                   find(library, "PAPI_add_event", add_event) &&
                   find(library, "PAPI_start", start) && find(library, "PAPI_stop", stop) &&
                   find(library, "PAPI_read", read) &&
                   find(library, "PAPI_cleanup_eventset", cleanup_eventset) &&
                   find(library, "PAPI_destroy_eventset", destroy_eventset) &&
                   find(library, "PAPI_strerror", strerror);
  if (!all) return base::Failure{"this version of PAPI cannot be used"};
  constexpr int kThreads = 4;  // PAPI_THREAD_LEVEL_INITED
  const int level = is_initialized();
  if (level == 0) {
    // It answers with its own version if that is another one.
    int version = library_init(7 << 24);
    if (version > 0 && version != 7 << 24) version = library_init(version);
    if (version <= 0)
      return base::Failure{std::string("PAPI cannot start: ") + strerror(version)};
  }
  if (level != kThreads && thread_init(thread_id) != kOk)
    return base::Failure{"PAPI has no support for threads"};
  return {};
}

// --- What the system counts of a thread: page faults, context switches, migrations, times.
//
// Place in the flow: ARCHITECTURE.md, stage 2, next to counters.cc. Values are those since the
// thread began, as getrusage and the scheduler have them.
// Thread-safety: the thread itself. Cost: a system call or two a read, some hundred
// nanoseconds; migrations a read of a file, some microseconds.

enum class Usage : std::uint8_t {
  kFaults,  // minor and major
  kMinorFaults,
  kMajorFaults,
  kSwitches,  // voluntary and not
  kVoluntarySwitches,
  kInvoluntarySwitches,
  kMigrations,
  kUserTime,        // ns
  kSystemTime,      // ns
  kAllocations,     // with the setting `memory`
  kAllocatedBytes,  // likewise
};
inline constexpr std::size_t kUsages = 11;

struct UsageInfo {
  const char* name;
  const char* unit;
  Usage usage;
};
std::span<const UsageInfo> usage_table();

class ThreadUsage {
 public:
  ~ThreadUsage();
  // Reads what is asked for next. False: it cannot be known here.
  bool open(Usage usage) noexcept;
  void read() noexcept;
  std::uint64_t value(Usage usage) const noexcept;

 private:
  bool read_migrations() noexcept;

  bool allocations_ = false;
  bool migrations_ = false;
  int sched_ = -1;  // file that has them; -1: is opened each time
  recorder::FileIdentity file_;
  bool rusage_ = false;
  std::uint64_t values_[kUsages] = {};
};

namespace {

constexpr UsageInfo kTable[] = {
    {"page_faults", "#", Usage::kFaults},
    {"minor_faults", "#", Usage::kMinorFaults},
    {"major_faults", "#", Usage::kMajorFaults},
    {"context_switches", "#", Usage::kSwitches},
    {"voluntary_switches", "#", Usage::kVoluntarySwitches},
    {"involuntary_switches", "#", Usage::kInvoluntarySwitches},
    {"migrations", "#", Usage::kMigrations},
    {"user_time", "ns", Usage::kUserTime},
    {"system_time", "ns", Usage::kSystemTime},
    {"allocations", "#", Usage::kAllocations},
    {"allocated_bytes", "bytes", Usage::kAllocatedBytes},
};

std::uint64_t ns_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_usec) * 1000u;
}

int open_sched() noexcept {
  return recorder::open_apart(AT_FDCWD, "/proc/thread-self/sched", O_RDONLY);
}

}  // namespace

std::span<const UsageInfo> usage_table() { return kTable; }

ThreadUsage::~ThreadUsage() { recorder::drop_descriptor(sched_, file_); }

bool ThreadUsage::open(Usage usage) noexcept {
  if (usage == Usage::kAllocations || usage == Usage::kAllocatedBytes)
    return allocations_ = memory::counts_allocations();
  if (usage != Usage::kMigrations) return rusage_ = true;
  if (migrations_) return true;
  sched_ = recorder::keep_descriptor(open_sched());
  recorder::identify(sched_, file_);
  return migrations_ = read_migrations();
}

// Where the program has closed the descriptor it is opened again, and not kept.
bool ThreadUsage::read_migrations() noexcept {
  recorder::FileIdentity now;
  const bool kept = recorder::identify(sched_, now) && now == file_;
  const int file = kept ? sched_ : open_sched();
  if (file < 0) return false;
  char text[4096];
  const ssize_t bytes = pread(file, text, sizeof text, 0);
  if (!kept) close(file);
  if (bytes <= 0) return false;
  const std::string_view all(text, static_cast<std::size_t>(bytes));
  std::size_t at = all.find("nr_migrations");
  if (at != std::string_view::npos) at = all.find_first_of("0123456789", all.find(':', at));
  if (at == std::string_view::npos) return false;
  std::uint64_t value = 0;
  std::from_chars(all.data() + at, all.data() + all.size(), value);
  values_[static_cast<std::size_t>(Usage::kMigrations)] = value;
  return true;
}

void ThreadUsage::read() noexcept {
  if (migrations_) read_migrations();
  if (allocations_) {
    const memory::ThreadAllocations all = memory::thread_allocations();
    values_[static_cast<std::size_t>(Usage::kAllocations)] = all.calls;
    values_[static_cast<std::size_t>(Usage::kAllocatedBytes)] = all.bytes;
  }
  rusage usage{};
  if (!rusage_ || getrusage(RUSAGE_THREAD, &usage) != 0) return;
  const auto set = [this](Usage which, std::uint64_t value) {
    values_[static_cast<std::size_t>(which)] = value;
  };
  set(Usage::kFaults, static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt));
  set(Usage::kMinorFaults, static_cast<std::uint64_t>(usage.ru_minflt));
  set(Usage::kMajorFaults, static_cast<std::uint64_t>(usage.ru_majflt));
  set(Usage::kSwitches, static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw));
  set(Usage::kVoluntarySwitches, static_cast<std::uint64_t>(usage.ru_nvcsw));
  set(Usage::kInvoluntarySwitches, static_cast<std::uint64_t>(usage.ru_nivcsw));
  set(Usage::kUserTime, ns_of(usage.ru_utime));
  set(Usage::kSystemTime, ns_of(usage.ru_stime));
}

std::uint64_t ThreadUsage::value(Usage usage) const noexcept {
  return values_[static_cast<std::size_t>(usage)];
}

// --- Which counters there are, and who reads them ---

namespace {

using recorder::MetricReader;
using recorder::ThreadRecorder;

struct Counter {
  std::string name;
  std::string unit = "#";
  bool of_papi = false;
  Usage usage{};
  int code = 0;       // PAPI's
  int component = 0;  // likewise
  // Counted by the program for itself: its value does not begin anew with a thread.
  bool absolute() const { return name.rfind("sde:::", 0) == 0; }
};

// Constant once the session has started.
struct Setup {
  Papi papi;
  std::vector<Counter> counters;
  std::vector<int> components;
  std::uint64_t kinds = 0;  // of records before which they are read
  std::uint64_t absolute = 0;
};
Setup* g_setup = nullptr;

}  // namespace

class ThreadCounters final : public MetricReader {
 public:
  ThreadCounters() {
    bool papi = false;
    for (const Counter& counter : g_setup->counters) {
      if (!counter.of_papi) usage_.open(counter.usage);
      papi |= counter.of_papi;
    }
    if (!papi) return;
    g_setup->papi.register_thread();
    for (const int component : g_setup->components) make_set(component);
  }
  ~ThreadCounters() {
    const Papi& papi = g_setup->papi;
    long long values[kMax] = {};
    for (Set& set : sets_) {
      papi.stop(set.handle, values);
      papi.cleanup_eventset(set.handle);
      papi.destroy_eventset(&set.handle);
    }
    if (!sets_.empty()) papi.unregister_thread();
  }
  ThreadCounters(const ThreadCounters&) = delete;
  ThreadCounters& operator=(const ThreadCounters&) = delete;

  unsigned count() const noexcept override {
    return static_cast<unsigned>(g_setup->counters.size());
  }
  void read(std::uint64_t* values) noexcept override {
    const recorder::LongPath long_path;
    long long read[kMax] = {};
    for (const Set& set : sets_) {
      if (g_setup->papi.read(set.handle, read) != Papi::kOk) continue;
      for (std::size_t i = 0; i < set.counters.size(); ++i)
        latest_[set.counters[i]] = static_cast<std::uint64_t>(read[i]);
    }
    usage_.read();
    for (std::size_t i = 0; i < g_setup->counters.size(); ++i) {
      const Counter& counter = g_setup->counters[i];
      values[i] = counter.of_papi ? latest_[i] : usage_.value(counter.usage);
    }
  }

 private:
  struct Set {
    int handle = Papi::kNull;
    std::vector<std::size_t> counters;  // in its order
  };

  void make_set(int component) {
    const Papi& papi = g_setup->papi;
    Set set;
    if (papi.create_eventset(&set.handle) != Papi::kOk) return;
    for (std::size_t i = 0; i < g_setup->counters.size(); ++i) {
      const Counter& counter = g_setup->counters[i];
      if (counter.of_papi && counter.component == component &&
          papi.add_event(set.handle, counter.code) == Papi::kOk)
        set.counters.push_back(i);
    }
    if (papi.start(set.handle) == Papi::kOk) return sets_.push_back(std::move(set));
    papi.cleanup_eventset(set.handle);
    papi.destroy_eventset(&set.handle);
  }

  ThreadUsage usage_;
  std::vector<Set> sets_;
  std::uint64_t latest_[kMax] = {};
};

// As runtime::t_thread.
extern constinit thread_local ThreadCounters* t_counters
    __attribute__((tls_model("initial-exec")));
constinit thread_local ThreadCounters* t_counters = nullptr;

namespace {

void on_thread(ThreadRecorder& recorder, bool begins) {
  const recorder::SlowPath slow_path;
  recorder.set_metrics(nullptr, 0, 0);
  delete t_counters;
  t_counters = nullptr;
  if (!begins) return;
  try {
    t_counters = new ThreadCounters;
    recorder.set_metrics(t_counters, g_setup->kinds, g_setup->absolute);
  } catch (const std::exception&) {  // no memory: this thread has no counters
  }
}

// --- Set-up -----------------------------------------------------------------------------

// No error if the event can be counted along with those before it.
base::Result<> try_event(const Papi& papi, const std::vector<Counter>& before,
                         Counter& counter) {
  const auto refused = [&](int code) { return base::Failure{papi.strerror(code)}; };
  int result = papi.event_name_to_code(counter.name.c_str(), &counter.code);
  if (result != Papi::kOk) return refused(result);
  counter.component = papi.get_event_component(counter.code);
  int set = Papi::kNull;
  result = papi.create_eventset(&set);
  if (result != Papi::kOk) return refused(result);
  for (const Counter& other : before)
    if (other.of_papi && other.component == counter.component)
      papi.add_event(set, other.code);
  result = papi.add_event(set, counter.code);
  long long values[MetricReader::kMax] = {};
  if (result == Papi::kOk) result = papi.start(set);
  if (result == Papi::kOk) papi.stop(set, values);
  papi.cleanup_eventset(set);
  papi.destroy_eventset(&set);
  if (result != Papi::kOk) return refused(result);
  return {};
}

class Chooser {
 public:
  explicit Chooser(Setup& setup) : setup_(setup) {}

  void choose(const std::string& list) {
    for (std::size_t at = 0; at <= list.size();) {
      const std::size_t end = std::min(list.find(',', at), list.size());
      std::string name = list.substr(at, end - at);
      name.erase(0, name.find_first_not_of(' '));
      name.erase(name.find_last_not_of(' ') + 1);
      if (!name.empty()) take(std::move(name));
      at = end + 1;
    }
  }
  // One line, if something is missing.
  std::string missing() const {
    if (missing_.empty()) return {};
    std::string here;
    for (const Counter& counter : setup_.counters)
      here += (here.empty() ? "" : ", ") + counter.name;
    std::string always;
    for (const UsageInfo& info : usage_table())
      always += (always.empty() ? "" : ", ") + std::string(info.name);
    return "counters: " + (here.empty() ? "none" : here) + "; not available: " + missing_ +
           "; available from the system: " + always;
  }

 private:
  void take(std::string name) {
    Counter counter;
    counter.name = std::move(name);
    if (setup_.counters.size() == MetricReader::kMax)
      return miss(counter.name, "more than " + std::to_string(MetricReader::kMax));
    const auto table = usage_table();
    const auto known = std::find_if(table.begin(), table.end(), [&](const UsageInfo& info) {
      return counter.name == info.name;
    });
    if (known == table.end()) return take_papi(std::move(counter));
    counter.usage = known->usage;
    counter.unit = known->unit;
    ThreadUsage usage;
    if (!usage.open(known->usage))
      return miss(counter.name, known->usage >= Usage::kAllocations
                                    ? "only with --memory"
                                    : "not reported by this system");
    setup_.counters.push_back(std::move(counter));
  }

  void take_papi(Counter counter) {
    if (!loaded_) loaded_ = setup_.papi.load();
    counter.of_papi = true;
    const auto counted =
        *loaded_ ? try_event(setup_.papi, setup_.counters, counter) : *loaded_;
    if (!counted) return miss(counter.name, counted.error());
    if (std::find(setup_.components.begin(), setup_.components.end(), counter.component) ==
        setup_.components.end())
      setup_.components.push_back(counter.component);
    setup_.counters.push_back(std::move(counter));
  }

  void miss(const std::string& name, const std::string& why) {
    missing_ += (missing_.empty() ? "" : ", ") + name + " (" + why + ")";
  }

  Setup& setup_;
  std::optional<base::Result<>> loaded_;  // of PAPI; none: not tried yet
  std::string missing_;
};

// Forks and joins have none: the implicit task inside has the same.
std::uint64_t kinds_of(const std::string& where) {
  const auto both = [](std::uint8_t begin) { return std::uint64_t{3} << begin; };
  if (where != "all") return both(spool::kImplicitTaskBegin);
  return (spool::kBegins | spool::kEnds) & ~both(spool::kParallelBegin);
}

void on_start(runtime::Session& session) {
  const filters::Settings& settings = session.settings();
  if (settings.counters.empty()) return;
  auto* setup = new Setup;
  Chooser chooser(*setup);
  chooser.choose(settings.counters);
  if (const std::string line = chooser.missing();
      !line.empty() && runtime::speaks_for_job())
    runtime::warn(line);
  if (setup->counters.empty()) {
    delete setup;
    return;
  }
  setup->kinds = kinds_of(settings.counters_at);
  std::string text;
  for (std::size_t i = 0; i < setup->counters.size(); ++i) {
    const Counter& counter = setup->counters[i];
    if (counter.absolute()) setup->absolute |= std::uint64_t{1} << i;
    text += counter.unit + " sum " + counter.name + "\n";
  }
  g_setup = setup;
  session.set_metrics(text, static_cast<unsigned>(setup->counters.size()), on_thread);
}

void name_start() { runtime::set_start_hook(on_start); }
REFRAIN_AT_LOAD(name_start);

}  // namespace
}  // namespace refrain::counters
