// Names and source lines of one process's blocks and loops.
//
// Place in the flow: between raw_profile.h and loop_profile.h; addresses are resolved by
// addresses. Thread-safety: none. Cost: two look-ups a block that ran, each address once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "addresses/resolver.h"
#include "code_profile/raw_profile.h"

namespace refrain::code_profile {

struct Place {
  std::string function, file;
  std::uint32_t line = 0;
};

class SourcePlaces {
 public:
  explicit SourcePlaces(const RawProfile& raw);

  // Of the machine code's function, without what is inlined into it; empty if there is no symbol.
  std::string symbol(std::uint64_t address);
  Place function(std::uint64_t address);
  // Of a loop the line of its head or of a jump back to it, whichever is less: the line of its `for` or
  // `while`, or the first in its `do`.
  Place loop(std::uint32_t number);
  // Does the iteration that was not finished count? Yes, unless the test at the loop's head failed.
  bool counts_last(std::uint32_t loop, const RawTrips& trips);
  const std::vector<std::string>& complaints() const { return resolver_.complaints(); }

 private:
  Place first_in(const RawBlock& block);
  bool ends_at(const RawBlock& block, const Place& place);

  const RawProfile& raw_;
  addresses::Resolver resolver_;
  std::map<std::uint32_t, Place> loops_;
};

}  // namespace refrain::code_profile
