// short_name: a demangled function's name as people write it.
//
// Place in the flow: for lines that people read (the structure of a run). Pure.
//
//     "CalcForces(Domain&) [clone .omp_outlined]"  ->  "CalcForces"
//     "std::vector<int> ns::f<int>(long) const"    ->  "ns::f"
//     "compute.omp_outlined_debug__"               ->  "compute"
#pragma once

#include <string>
#include <string_view>

namespace refrain::addresses {

// What is in square brackets stands for code without a name, and stays.
// Without parameters, template arguments, result type, and what a compiler adds to the
// names of OpenMP regions' functions. Cost: linear.
std::string short_name(std::string_view function);

// Likewise of a place in it, where its line is not known: "ns::f<int>(long) [clone .cold]+0x40" -> "ns::f [clone .cold]+0x40".
std::string short_place(std::string_view place);

// What follows the last '/' of a path.
std::string base_name(const std::string& path);

}  // namespace refrain::addresses
