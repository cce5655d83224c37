// A value of an attribute or a property in 64 bits, as ExtraValue has it.
//
// Place in the flow: private to reader/, where libotf2 hands over values. Thread-safety: any
// thread. Errors: none; a value of unknown type is read as 32 bits. Cost: O(1).
#pragma once

#include <otf2/otf2.h>

#include <bit>
#include <cstdint>

namespace refrain::reader {

// Integers with their sign, floating point as its own bits, references as numbers.
inline std::uint64_t widened(OTF2_Type type, const OTF2_AttributeValue& value) {
  const auto from_signed = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  switch (type) {
    case OTF2_TYPE_UINT8:
      return value.uint8;
    case OTF2_TYPE_UINT16:
      return value.uint16;
    case OTF2_TYPE_INT8:
      return from_signed(value.int8);
    case OTF2_TYPE_INT16:
      return from_signed(value.int16);
    case OTF2_TYPE_INT32:
      return from_signed(value.int32);
    case OTF2_TYPE_FLOAT:
      return std::bit_cast<std::uint32_t>(value.float32);
    case OTF2_TYPE_UINT64:
    case OTF2_TYPE_INT64:
    case OTF2_TYPE_DOUBLE:
    case OTF2_TYPE_LOCATION:
      return value.uint64;
    default:
      return value.uint32;  // 32 bits, and references
  }
}

}  // namespace refrain::reader
