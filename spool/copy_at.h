// A copy of what lies in an area of a spool, which another process may be changing.
//
// Thread-safety: pure. Errors: the caller knows that the area goes that far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace refrain::spool {

template <typename T>
T copy_at(std::span<const std::byte> area, std::uint64_t offset) {
  T value;
  std::memcpy(static_cast<void*>(&value), area.data() + offset, sizeof value);
  return value;
}

}  // namespace refrain::spool
