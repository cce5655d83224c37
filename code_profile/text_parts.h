// Numbers and names as profiles print them; private to code_profile.
//
// Thread-safety: pure.
#pragma once

#include <cstdint>
#include <string>

#include "code_profile/loop_profile.h"

namespace refrain::code_profile::text_parts {

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
