// Regions, phases, parameters, pause and resume as records and symbols: what the functions of
// refrain.h do once a thread is ready.
//
// Place in the flow: ARCHITECTURE.md, stage 2. See refrain.h for what is promised.
// Each takes the calling thread's recorder, entered. Numbers: of spool/format.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "tracer/recorder/thread_recorder.h"

namespace refrain::user {

struct RegionId {
  std::uint32_t region = 0;  // name, file and line
  std::uint32_t name = 0;    // begins and ends are matched by it; 0: there is none
};

// The number of a region, made and reported to the journal if it is new; {} if there are too many.
RegionId region_of(const recorder::ThreadRecorder& recorder, std::string_view name,
                   std::string_view file, std::uint32_t line) noexcept;
// Of a name alone, for ends: 0 if nothing has begun by it.
std::uint32_t name_of(std::string_view name) noexcept;
std::uint32_t parameter_of(const recorder::ThreadRecorder& recorder,
                           std::string_view name) noexcept;

void begin_region(recorder::ThreadRecorder& recorder, RegionId id) noexcept;
void end_region(recorder::ThreadRecorder& recorder, std::uint32_t name) noexcept;
void begin_phase(recorder::ThreadRecorder& recorder, RegionId id) noexcept;
void end_phase(recorder::ThreadRecorder& recorder, std::uint32_t name) noexcept;
void put_parameter(recorder::ThreadRecorder& recorder, std::uint32_t parameter,
                   std::int64_t value) noexcept;
void put_parameter(recorder::ThreadRecorder& recorder, std::uint32_t parameter,
                   std::string_view value) noexcept;
void pause(recorder::ThreadRecorder& recorder) noexcept;
void resume(recorder::ThreadRecorder& recorder) noexcept;

}  // namespace refrain::user
