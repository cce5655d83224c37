// Counters: which of those asked for there are, and a reader of them for each thread.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Set up when the session starts, before any thread
// has a recorder; each thread's reader is made when it gets one, and goes with it. What cannot be
// counted here is reported in one line, and the rest is recorded.
// An event set of PAPI has events of one component only, so a thread has one for each component.
// Thread-safety: set up by one thread; readers are their threads' own.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/counters/papi.h"
#include "tracer/counters/thread_usage.h"
#include "tracer/life/at_load.h"
#include "tracer/life/lifecycle.h"
#include "tracer/recorder/metric_reader.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/notices.h"
#include "tracer/runtime/session.h"

namespace refrain::counters {
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
    long long values[kMost] = {};
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
    long long read[kMost] = {};
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
  std::uint64_t latest_[kMost] = {};
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

// Whether the event can be counted along with those before it.
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
  long long values[MetricReader::kMost] = {};
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
    if (setup_.counters.size() == MetricReader::kMost)
      return miss(counter.name, "more than " + std::to_string(MetricReader::kMost));
    const auto table = usage_table();
    const auto known = std::find_if(table.begin(), table.end(), [&](const UsageInfo& info) {
      return counter.name == info.name;
    });
    if (known == table.end()) return take_papi(std::move(counter));
    counter.usage = known->usage;
    counter.unit = known->unit;
    ThreadUsage usage;
    if (!usage.open(known->usage)) return miss(counter.name, "not reported by this system");
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
