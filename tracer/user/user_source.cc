// Event source for what the program itself reports: the functions of refrain.h.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tracer/life/lifecycle.h"
#include "tracer/recorder/clock.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/recorder/thread_recorder.h"
#include "tracer/runtime/live_filter.h"
#include "tracer/runtime/notices.h"
#include "tracer/user/names.h"
#define REFRAIN_DISABLE /* the types alone */
#include "tracer/user/refrain.h"
#include "tracer/user/user_thread.h"

namespace refrain::user {

// --- Regions, phases, parameters, pause and resume as records and symbols. See refrain.h for what is promised.

using recorder::Clock;
using recorder::ThreadRecorder;
using runtime::g_session;
using runtime::t_thread;
using spool::Record;

namespace {

constexpr std::uint32_t kMaxNames = 1 << 20;
constexpr std::uint32_t kMaxStrings = 1 << 16;

constinit NameTable g_names(kMaxNames);
constinit NameTable g_regions(kMaxNames);
constinit NameTable g_parameters(kMaxNames);
constinit NameTable g_strings(kMaxStrings);

// The primary thread's phases that are open.
struct Phases {
  static constexpr std::size_t kMax = 64;
  std::array<RegionId, kMax> open{};
  std::size_t count = 0;
};
constinit Phases g_phases;

// A line of the journal's text.
std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (c == '\n' || c == '\0') c = ' ';
  return line;
}

void report(const ThreadRecorder& recorder, spool::TextKey key, const std::string& numbers,
            std::string_view text) noexcept {
  const recorder::SlowPath slow_path;
  try {
    g_session->put_fact(&recorder, key, numbers + " " + one_line(text));
  } catch (const std::exception&) {  // no memory: the number has no name
  }
}

bool outside() noexcept { return t_thread.teams_open == 0; }

std::uint32_t name_in(const Record& record) noexcept {
  return static_cast<std::uint32_t>(record.payload >> 32);
}

// A symbol of the agent's stream, if the thread feeds it here; else a point where it may learn
// what was decided. `cut` and `epoch` are for the record of the start.
struct Cut {
  std::uint8_t flag = 0;
  std::uint64_t epoch = 0;
};
Cut symbol(ThreadRecorder& recorder, std::uint32_t name, std::uint32_t region,
           std::uint64_t ticks) noexcept {
  Cut cut;
  if (!feeds(recorder)) {
    if (outside()) keep_up(recorder, ticks);
    return cut;
  }
  if (!g_session->auto_symbols() || g_session->in_phase()) return cut;
  if (outside()) {
    cut.flag = g_session->begin_epoch(recorder, ticks);
    cut.epoch = recorder.epoch();
  }
  g_session->on_symbol(recorder, runtime::make_symbol(spool::kUserEnter, 0, name),
                       runtime::make_symbol(spool::kUserEnter, 0, region), ticks);
  return cut;
}

void end_innermost(ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
  const Record* top = recorder.top();
  recorder.end(spool::record_words(top->kind + 1, ticks, top->payload));
}

// Index of the innermost open region of this name (0: any) that the thread may end here.
constexpr std::uint32_t kNone = ~std::uint32_t{0};
std::uint32_t find_open(const ThreadRecorder& recorder, std::uint32_t name) noexcept {
  for (std::uint32_t i = recorder.depth(); i-- > 0;) {
    const Record& open = recorder.open_region(i);
    if (open.kind == spool::kUserEnter && (name == 0 || name_in(open) == name)) return i;
    if (open.kind == spool::kImplicitTaskBegin || open.kind == spool::kParallelBegin)
      return kNone;
  }
  return kNone;
}

}  // namespace

RegionId region_of(const ThreadRecorder& recorder, std::string_view name,
                   std::string_view file, std::uint32_t line,
                   std::string_view construct) noexcept {
  RegionId id;
  const std::uint32_t named = g_names.number(name).number;
  const auto [region, is_new] =
      g_regions.number(name, construct.empty() ? file : construct, line);
  if (named == 0 || region == 0) return {};
  id = {region, named};
  if (!is_new) return id;
  try {
    const std::string whole = one_line(name);
    const std::string type = construct.empty() ? whole : kernel_type(whole);
    std::string text = type == whole ? whole : short_type(type);
    const std::string file_text = one_line(file);
    runtime::name_user_region(region, text, file_text);
    (text += spool::kTextSeparator) += file_text;
    if (!construct.empty()) (text += spool::kTextSeparator) += construct;
    if (type != whole) (text += spool::kTextSeparator) += type;
    report(
        recorder, spool::kTextUserRegion,
        std::to_string(region) + " " + std::to_string(named) + " " + std::to_string(line),
        text);
  } catch (const std::exception&) {
  }
  return id;
}

std::uint32_t name_of(std::string_view name) noexcept {
  return g_names.number(name).number;
}

std::uint32_t parameter_of(const ThreadRecorder& recorder, std::string_view name) noexcept {
  const auto [number, is_new] = g_parameters.number(name);
  if (is_new) report(recorder, spool::kTextUserParameter, std::to_string(number), name);
  return number;
}

std::uint32_t innermost_region(const ThreadRecorder& recorder) noexcept {
  const std::uint32_t index = find_open(recorder, 0);
  return index == kNone ? 0 : name_in(recorder.open_region(index));
}

void begin_region(ThreadRecorder& recorder, RegionId id) noexcept {
  if (!may_begin(recorder)) return;
  const std::uint64_t ticks = Clock::now();
  const Cut cut = symbol(recorder, id.name, id.region, ticks);
  recorder.begin(spool::record_words(spool::kUserEnter, ticks,
                                     std::uint64_t{id.name} << 32 | id.region, cut.flag,
                                     cut.epoch));
}

void end_region(ThreadRecorder& recorder, std::uint32_t name) noexcept {
  if (t_user.skipped != 0) {
    --t_user.skipped;
    return;
  }
  const std::uint32_t index = find_open(recorder, name);
  if (index == kNone) return recorder.count_loss(spool::kLossUnmatched);
  const std::uint64_t ticks = Clock::now();
  while (recorder.depth() > index + 1) {
    const std::uint8_t kind = recorder.top()->kind;
    if (kind == spool::kUserEnter || kind == spool::kFunctionEnter)
      end_innermost(recorder, ticks);
    else
      recorder.drop_top(ticks);  // its own end, if it comes, is known to the writer
  }
  end_innermost(recorder, ticks);
  if (!g_session->primary().is(&recorder)) {
    if (outside()) keep_up(recorder, ticks);
  } else if (!g_session->in_phase() && in_order(recorder)) {
    g_session->on_symbol_end(ticks, recorder.depth());
  }
}

void begin_phase(ThreadRecorder& recorder, RegionId id) noexcept {
  const bool counts = outside() ? g_session->primary().claim(&recorder)
                                : g_session->primary().is(&recorder) && in_order(recorder);
  if (!counts) return begin_region(recorder, id);
  if (g_phases.count == Phases::kMax) return recorder.count_loss(spool::kLossDepth);
  recorder.uncount_event();  // its mark is no event
  g_phases.open[g_phases.count++] = id;
  g_session->phase_begin(recorder, id.name, id.region, Clock::now(), outside());
}

void end_phase(ThreadRecorder& recorder, std::uint32_t name) noexcept {
  if (!g_session->primary().is(&recorder)) return end_region(recorder, name);
  const auto begin = g_phases.open.begin();
  std::size_t at = g_phases.count;
  while (at > 0 && begin[at - 1].name != name) --at;
  if (at == 0) return end_region(recorder, name);  // begun where it did not count
  recorder.uncount_event();
  g_phases.count = at - 1;
  g_session->phase_end(recorder, name, begin[at - 1].region, Clock::now(), outside());
}

void put_parameter(ThreadRecorder& recorder, std::uint32_t parameter,
                   std::int64_t value) noexcept {
  recorder.append(spool::record_words(spool::kUserParameter, Clock::now(),
                                      static_cast<std::uint64_t>(value),
                                      spool::kParameterSigned, parameter));
}

void put_parameter(ThreadRecorder& recorder, std::uint32_t parameter,
                   std::string_view value) noexcept {
  const auto [number, is_new] = g_strings.number(value);
  if (is_new) report(recorder, spool::kTextUserString, std::to_string(number), value);
  if (number == 0) return recorder.count_loss(spool::kLossMemory);
  recorder.append(spool::record_words(spool::kUserParameter, Clock::now(), number,
                                      spool::kParameterText, parameter));
}

namespace {

bool may_pause(ThreadRecorder& recorder) noexcept {
  if (outside() ? g_session->primary().claim(&recorder)
                : g_session->primary().is(&recorder))
    return true;
  static std::atomic<bool> reported{false};
  if (!reported.exchange(true)) {
    const recorder::SlowPath slow_path;
    runtime::warn(
        "pause and resume have no effect on this thread, "
        "only on the one that opens the parallel regions");
  }
  return false;
}

}  // namespace

void pause(ThreadRecorder& recorder) noexcept {
  if (may_pause(recorder)) g_session->pause(recorder, Clock::now(), outside());
}

void resume(ThreadRecorder& recorder) noexcept {
  if (may_pause(recorder)) g_session->resume(recorder, Clock::now(), outside());
}

// --- The functions of refrain.h ---

namespace {

using runtime::Scope;

std::string_view text(const char* from) noexcept {
  return from == nullptr ? std::string_view() : std::string_view(from);
}
std::string_view text(const char* from, std::size_t bytes) noexcept {
  return from == nullptr ? std::string_view() : std::string_view(from, bytes);
}

// The id of a place: region, and name or parameter << 32. Threads that find it at the
// same time find the same.
RegionId id_of(const refrain_place& place) noexcept {
  const unsigned long id = __atomic_load_n(&place.id, __ATOMIC_RELAXED);
  return {static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32)};
}
void keep(refrain_place& place, RegionId id) noexcept {
  __atomic_store_n(&place.id, std::uint64_t{id.name} << 32 | id.region, __ATOMIC_RELAXED);
}

// Of a place where something begins; name 0: it cannot be recorded.
RegionId begin_of(const Scope& scope, refrain_place& place) noexcept {
  RegionId id = id_of(place);
  if (id.region != 0) [[likely]]
    return id;
  id = region_of(*scope, text(place.name), text(place.file),
                 static_cast<std::uint32_t>(place.line));
  if (id.name != 0)
    keep(place, id);
  else
    scope->count_loss(spool::kLossMemory);
  return id;
}
std::uint32_t name_at(refrain_place& place) noexcept {
  RegionId id = id_of(place);
  if (id.name != 0) [[likely]]
    return id.name;
  id.name = name_of(text(place.name));
  keep(place, id);
  return id.name;
}
std::uint32_t parameter_at(const Scope& scope, refrain_place& place) noexcept {
  RegionId id = id_of(place);
  if (id.name != 0) [[likely]]
    return id.name;
  id.name = parameter_of(*scope, text(place.name));
  keep(place, id);
  return id.name;
}

template <void (*begin)(recorder::ThreadRecorder&, RegionId) noexcept>
void begin_at(refrain_place* place) noexcept {
  if (!ready()) return;
  const Scope scope;
  if (!scope) return;
  if (const RegionId id = begin_of(scope, *place); id.name != 0) begin(*scope, id);
}
template <void (*end)(recorder::ThreadRecorder&, std::uint32_t) noexcept>
void end_at(refrain_place* place) noexcept {
  if (!ready()) return;
  const Scope scope;
  if (scope) end(*scope, name_at(*place));
}
template <void (*begin)(recorder::ThreadRecorder&, RegionId) noexcept>
void begin_named(const char* name, std::size_t bytes, const char* file,
                 std::size_t file_bytes, int line) noexcept {
  if (!ready()) return;
  const Scope scope;
  if (!scope) return;
  const RegionId id = region_of(*scope, text(name, bytes), text(file, file_bytes),
                                static_cast<std::uint32_t>(line));
  if (id.name != 0)
    begin(*scope, id);
  else
    scope->count_loss(spool::kLossMemory);
}
template <void (*end)(recorder::ThreadRecorder&, std::uint32_t) noexcept>
void end_named(const char* name, std::size_t bytes) noexcept {
  if (!ready()) return;
  const Scope scope;
  if (scope) end(*scope, name_of(text(name, bytes)));
}

void parameter_int(refrain_place* place, long value) noexcept {
  if (!ready()) return;
  const Scope scope;
  if (scope) put_parameter(*scope, parameter_at(scope, *place), std::int64_t{value});
}
void parameter_string(refrain_place* place, const char* value) noexcept {
  if (!ready()) return;
  const Scope scope;
  if (scope) put_parameter(*scope, parameter_at(scope, *place), text(value));
}
void named_parameter_int(const char* name, std::size_t bytes, long value) noexcept {
  if (!ready()) return;
  const Scope scope;
  if (scope)
    put_parameter(*scope, parameter_of(*scope, text(name, bytes)), std::int64_t{value});
}
void named_parameter_string(const char* name, std::size_t bytes, const char* value,
                            std::size_t value_bytes) noexcept {
  if (!ready()) return;
  const Scope scope;
  if (scope)
    put_parameter(*scope, parameter_of(*scope, text(name, bytes)),
                  text(value, value_bytes));
}

template <void (*change)(recorder::ThreadRecorder&) noexcept>
void change_recording() noexcept {
  if (!ready()) return;
  const Scope scope;
  if (!scope) return;
  scope->uncount_event();
  change(*scope);
}

constexpr refrain_api kApi = {
    sizeof(refrain_api),       begin_at<begin_region>,  end_at<end_region>,
    begin_at<begin_phase>,     end_at<end_phase>,       parameter_int,
    parameter_string,          change_recording<pause>, change_recording<resume>,
    begin_named<begin_region>, end_named<end_region>,   begin_named<begin_phase>,
    end_named<end_phase>,      named_parameter_int,     named_parameter_string};

}  // namespace
}  // namespace refrain::user

// What refrain.h looks for, once in each executable and library of the program. Null: the program
// is not to be traced, and its calls do nothing from then on.
extern "C" __attribute__((visibility("default"))) const refrain_api* refrain_get_api(
    unsigned version) {
  // Where the tracer itself has called the program (its malloc) it may be just reading the settings.
  return version == 1 && (refrain::recorder::OwnCode::is_here() ||
                          refrain::runtime::tracing_enabled())
             ? &refrain::user::kApi
             : nullptr;
}
