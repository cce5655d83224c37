// Reads numbers of unwind tables, never beyond their end.
//
// Place in the flow: under unwind_lookup.h, frame_rules.h, frame_expression.h.
// Thread-safety: pure; safe in signal handlers.
// Errors: once over the end, all that is read is 0, and ok() is false.
// Source: Linux Standard Base, "DWARF Extensions" (pointer encodings); DWARF 5, section 7.6 (LEB128).
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::sampler {

struct ByteRange {
  const std::uint8_t* begin = nullptr;
  const std::uint8_t* end = nullptr;
};

class TableCursor {
 public:
  explicit TableCursor(ByteRange range) noexcept : at_(range.begin), end_(range.end) {}

  bool ok() const noexcept { return ok_; }
  bool more() const noexcept { return ok_ && at_ < end_; }
  const std::uint8_t* at() const noexcept { return at_; }
  std::uintptr_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(at_); }

  template <class Number>
  Number fixed() noexcept {
    Number number = 0;
    if (!ok_ || end_ - at_ < static_cast<std::ptrdiff_t>(sizeof number)) {
      ok_ = false;
      return 0;
    }
    __builtin_memcpy(&number, at_, sizeof number);
    at_ += sizeof number;
    return number;
  }
  std::uint8_t byte() noexcept { return fixed<std::uint8_t>(); }

  std::uint64_t uleb() noexcept {
    int shift = 0;
    return leb(shift);
  }
  std::int64_t sleb() noexcept {
    int shift = 0;
    std::uint64_t number = leb(shift);
    if (shift < 64 && (number >> (shift - 1) & 1) != 0)
      number |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(number);
  }

  // The next `bytes`, which are skipped.
  ByteRange block(std::uint64_t bytes) noexcept {
    if (!ok_ || bytes > static_cast<std::uint64_t>(end_ - at_)) {
      ok_ = false;
      return {at_, at_};
    }
    at_ += bytes;
    return {at_ - bytes, at_};
  }
  ByteRange block() noexcept { return block(uleb()); }

  // A pointer in one of the DW_EH_PE_ encodings. DW_EH_PE_indirect is not followed.
  std::uint64_t encoded(std::uint8_t encoding) noexcept {
    const std::uintptr_t here = address();
    std::uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:  // absptr
      case 0x04:
      case 0x0c:
        value = fixed<std::uint64_t>();
        break;
      case 0x01:
        value = uleb();
        break;
      case 0x02:
        value = fixed<std::uint16_t>();
        break;
      case 0x03:
        value = fixed<std::uint32_t>();
        break;
      case 0x09:
        value = static_cast<std::uint64_t>(sleb());
        break;
      case 0x0a:
        value = extended(fixed<std::int16_t>());
        break;
      case 0x0b:
        value = extended(fixed<std::int32_t>());
        break;
      default:
        ok_ = false;
    }
    switch (encoding & 0x70) {
      case 0x00:
        return value;
      case 0x10:
        return value + here;  // pcrel
      default:
        ok_ = false;
        return 0;
    }
  }

 private:
  static std::uint64_t extended(std::int64_t number) noexcept {
    return static_cast<std::uint64_t>(number);
  }
  std::uint64_t leb(int& shift) noexcept {
    std::uint64_t number = 0;
    std::uint8_t next = 0;
    do {
      next = byte();
      if (shift < 64) number |= std::uint64_t{next & 0x7fu} << shift;
      shift += 7;
    } while ((next & 0x80) != 0 && ok_);
    return number;
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool ok_ = true;
};

}  // namespace refrain::sampler
