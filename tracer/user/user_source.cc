#include "tracer/user/user_source.h"

#include <cstring>

#include "tracer/life/lifecycle.h"
#include "tracer/recorder/slow_path.h"
#define REFRAIN_DISABLE /* the types alone */
#include "tracer/user/refrain.h"
#include "tracer/user/regions.h"
#include "tracer/user/user_thread.h"

namespace refrain::user {
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
  return version == 1 &&
                 (refrain::recorder::OwnCode::is_here() || refrain::runtime::wanted())
             ? &refrain::user::kApi
             : nullptr;
}
