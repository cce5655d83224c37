// Addresses of code as they are recorded: of code that was loaded where other code had been before, one of its own.
//
// Place in the flow: ARCHITECTURE.md, stage 3. A record has an address, and its name is looked up at the end of the run. When a
// plugin is unloaded and another one loaded in its place, both have code at one address. So the second one gets
// addresses that no program has, from 2^47 on, and the journal names the file as if it were loaded there.
// Code that is loaded again where it was keeps its addresses.
//
// Thread-safety: any thread; not for signal handlers once code was unloaded. Errors: of more than 256 such files the rest
// is named by those before. Cost: a load and a compare, until code that was looked at has been unloaded.
#pragma once

#include <atomic>
#include <cstdint>

#include "periodicity/symbol.h"
#include "spool/format.h"

namespace refrain::runtime {

extern constinit std::atomic<bool> g_any_code_reused;

// Some code that was loaded is not there any more.
inline bool any_code_reused() noexcept {
  return g_any_code_reused.load(std::memory_order_relaxed);
}

std::uint64_t reused_code_address(std::uint64_t address) noexcept;

inline std::uint64_t code_address(std::uint64_t address) noexcept {
  address &= spool::kAddressMask;
  return any_code_reused() ? reused_code_address(address) : address;
}
// The other way: where the code is now that has a recorded address. 0: it was unloaded, and its place may have other code.
std::uint64_t reused_loaded_address(std::uint64_t address) noexcept;
inline std::uint64_t loaded_address(std::uint64_t address) noexcept {
  return any_code_reused() ? reused_loaded_address(address) : address;
}
inline std::uint64_t code_address(const void* code) noexcept {
  return code_address(reinterpret_cast<std::uint64_t>(code));
}

// Where in the program a symbol's event came from and what it was, in one word.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: pure functions.
//
//     63..58 kind of the event's record | 57..48 detail | 47..0 code address, or a number

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
