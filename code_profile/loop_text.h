// A profile of loops as text (the flat profile of the paper's Fig. 5, functions, and candidates for parallelism) and
// as JSON (docs/reference/loops.md has the format).
//
// Place in the flow: after loop_profile.h. Thread-safety: pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "code_profile/loop_profile.h"

namespace refrain::code_profile {

// "nest.c:9 in main (irreducible)"; functions without parameters.
std::string title_of(const Node& node);

// `share`: only loops and functions with this part of all at least, in the text, and among the candidates. A trip count is
// printed for at most `trips` different numbers of iterations of a loop.
std::string flat_text(const LoopProfile& profile, double share, std::size_t trips = 10);
nlohmann::ordered_json profile_value(const LoopProfile& profile, double share = 0.01);
std::string profile_json(const LoopProfile& profile, double share = 0.01);

}  // namespace refrain::code_profile

namespace refrain::code_profile::text_parts {

// Numbers and names as profiles print them; private to code_profile.
//
// Thread-safety: pure.

double part_of(std::uint64_t what, std::uint64_t all);
// "312", "52.1k", "1.20G".
std::string short_count(std::uint64_t value);
// "3 processes", "1 process".
std::string counted(std::uint64_t count, const char* one, const char* several);
// "7.51 ms".
std::string duration(double seconds);
// Of so many samples.
double seconds(const LoopProfile& profile, std::uint64_t samples);

// The flat profile of samples, without candidates; `hidden`: how many loops and functions it leaves out.
std::string sample_tables(const LoopProfile& profile, double share, std::size_t& hidden);

// What lies in the loops that the detector found, by iteration; nothing where there are none.
std::string detected_text(const LoopProfile& profile, double share);

}  // namespace refrain::code_profile::text_parts
