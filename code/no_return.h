// Functions that never return to who calls them, or several times, by the names that they have.
//
// Place in the flow: ARCHITECTURE.md, stage 5, under code/block_graph.h. Pure. Cost: logarithmic.
#pragma once

#include <string_view>

namespace refrain::code {

// Of C, C++, Fortran, and what their compilers call; `name` as the linker has it.
bool never_returns(std::string_view name);
// Returns true if the name has a word that such functions of libraries have in theirs: of others it is not worth looking.
bool may_never_return(std::string_view name);
// setjmp and its sisters.
bool returns_again(std::string_view name);

}  // namespace refrain::code
