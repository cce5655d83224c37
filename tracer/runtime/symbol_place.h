// Where in the program a symbol's event came from and what it was, in one word.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: pure functions.
//
//     63..58 kind of the event's record | 57..48 detail | 47..0 code address, or a number
#pragma once

#include <cstdint>

#include "periodicity/symbol.h"
#include "spool/format.h"

namespace refrain::runtime {

inline constexpr unsigned kPlaceDetailShift = 48;
inline constexpr unsigned kPlaceKindShift = 58;

// Symbols that encode more than this word (MPI: communicator, callers) are hashes; this word is their place.
// `detail` has 10 bits: a construct's kind, or the number of an MPI procedure.
inline periodicity::Symbol make_symbol(spool::Kind kind, std::uint16_t detail,
                                       std::uint64_t address) noexcept {
  return (address & spool::kAddressMask) | std::uint64_t{kind} << kPlaceKindShift |
         std::uint64_t{detail} << kPlaceDetailShift;
}

inline std::uint64_t kind_of_place(periodicity::Symbol place) noexcept {
  return place >> kPlaceKindShift;
}
inline std::uint64_t detail_of_place(periodicity::Symbol place) noexcept {
  return place >> kPlaceDetailShift & 0x3ff;
}
inline std::uint64_t address_of_place(periodicity::Symbol place) noexcept {
  return place & spool::kAddressMask;
}

}  // namespace refrain::runtime
