// The reference of a location in the archive.
//
// Place in the flow: ARCHITECTURE.md, stage 5; events, definitions and markers use it.
// Readers derive the number of a thread in its process from the reference in two ways: from
// the upper half, or as the difference to the smallest one of the process, of which some
// keep the lower half only. So the upper half is the thread's number and the lower half
// counts through all locations of the archive, process by process.
// Thread-safety: pure.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>

namespace refrain::writer {

// `first`: number of the process' first location, counted through all processes.
constexpr OTF2_LocationRef location_reference(std::uint64_t first,
                                              std::uint64_t thread) noexcept {
  return thread << 32 | (first + thread);
}

// Of a device's streams, which come after all threads of the archive. `locations`: of all processes;
// `index`: of the stream, counted through all processes; `number`: among those of its device.
constexpr OTF2_LocationRef stream_reference(std::uint64_t locations, std::uint64_t index,
                                            std::uint64_t number) noexcept {
  return number << 32 | (locations + index);
}

}  // namespace refrain::writer
