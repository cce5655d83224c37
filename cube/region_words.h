// Score-P's words for roles and paradigms of regions, as its profiles have them.
//
// Place in the flow: summary_experiment.h, waits/wait_experiment.h. Thread-safety: pure.
// Source: Score-P 8.4, SCOREP_PublicTypes.h, and how it maps them to OTF2's.
#pragma once

#include <cstdint>

namespace refrain::cube {

const char* role_word(std::uint32_t role) noexcept;          // OTF2_RegionRole
const char* paradigm_word(std::uint32_t paradigm) noexcept;  // OTF2_Paradigm

}  // namespace refrain::cube
