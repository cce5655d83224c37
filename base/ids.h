// Numbers of things of one kind: a location's cannot be taken for a process'.
//
//   LocationId location{3};
//   names[location];               // an id is its number where a number is wanted: subscripts, files, messages
//   ProcessId process = location;  // does not compile; nor does a number that is not said to be an id
//
// Of which list an id is the index, whoever has the list says. Thread-safety: that of a value. Errors: none.
// Cost: that of 32 bits.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace refrain::base {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  // Another kind of id is no integer.
  constexpr explicit Id(std::integral auto number)
      : number_(static_cast<std::uint32_t>(number)) {}

  constexpr operator std::uint32_t() const { return number_; }
  constexpr Id& operator++() { return ++number_, *this; }

  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::uint32_t number_ = 0;
};

template <class A, class B>
bool operator==(Id<A>, Id<B>) = delete;

}  // namespace refrain::base

template <class Tag>
struct std::hash<refrain::base::Id<Tag>> {
  std::size_t operator()(refrain::base::Id<Tag> id) const noexcept {
    return std::hash<std::uint32_t>()(id);
  }
};

namespace refrain {

using LocationId = base::Id<struct LocationTag>;  // a thread
using ProcessId = base::Id<struct ProcessTag>;
using RegionId = base::Id<struct RegionTag>;
using PathId = base::Id<struct PathTag>;  // a call path
using LoopId = base::Id<struct LoopTag>;  // a detected loop

}  // namespace refrain
