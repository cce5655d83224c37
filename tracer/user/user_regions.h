// Regions and parameters that the program reports, as records and symbols: what refrain.h's functions and Kokkos' do
// once a thread is ready.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Each takes the calling thread's recorder, entered (runtime::Scope).
// Numbers: of spool/format.h. Errors: what cannot be recorded is counted as lost. Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "tracer/recorder/thread_recorder.h"

namespace refrain::user {

struct RegionId {
  std::uint32_t region = 0;  // name, file and line
  std::uint32_t name = 0;    // begins and ends are matched by it; 0: there is none
};

// `construct`: of Kokkos, "parallel_for". Cost: a hash of the texts; a new one allocates, and goes to the journal.
RegionId region_of(const recorder::ThreadRecorder& recorder, std::string_view name,
                   std::string_view file, std::uint32_t line,
                   std::string_view construct = {}) noexcept;
std::uint32_t parameter_of(const recorder::ThreadRecorder& recorder,
                           std::string_view name) noexcept;

void begin_region(recorder::ThreadRecorder& recorder, RegionId id) noexcept;
void end_region(recorder::ThreadRecorder& recorder, std::uint32_t name) noexcept;
// The name of the innermost open region that the thread may end here; 0: there is none.
std::uint32_t innermost_region(const recorder::ThreadRecorder& recorder) noexcept;

void put_parameter(recorder::ThreadRecorder& recorder, std::uint32_t parameter,
                   std::int64_t value) noexcept;
void put_parameter(recorder::ThreadRecorder& recorder, std::uint32_t parameter,
                   std::string_view value) noexcept;

}  // namespace refrain::user
