// From an address of code to what the unwind tables of its object say of the function there.
//
// Place in the flow: under stack_walk.h.
// Thread-safety: pure; safe in signal handlers: _dl_find_object() of glibc 2.35 and newer takes no lock.
// With older C libraries no object is found (have_object_lookup()).
// Ownership: ranges point into the object's tables. They stay mapped while the function is on a
// stack.
// Errors: damaged tables, or tables of another form than linkers write: not found. Nothing is read
// outside of the object's mappings.
// Cost: about 20 ns for the object; a binary search and the headers of two entries.
// Source: Linux Standard Base, ".eh_frame" and ".eh_frame_hdr".
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::sampler {

// Reads numbers of unwind tables, never beyond their end.
//
// Place in the flow: under UnwindLookup, frame_rules.h, frame_expression.h.
// Thread-safety: pure; safe in signal handlers.
// Errors: once over the end, all that is read is 0, and ok() is false.
// Source: Linux Standard Base, "DWARF Extensions" (pointer encodings); DWARF 5, section 7.6 (LEB128).

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

struct CodeObject {
  std::uintptr_t begin = 0;  // of its mapping, or of one of several with holes between them
  std::uintptr_t end = 0;
  std::uintptr_t index = 0;     // .eh_frame_hdr; 0: it has none
  const char* file = nullptr;   // the loader's name; empty: the program itself
  std::uintptr_t identity = 0;  // differs from that of other objects at this address
};

bool have_object_lookup() noexcept;
bool find_object(std::uintptr_t address, CodeObject& object) noexcept;

// How the frames of a function are unwound: the entry of the function (FDE) and the one it has in
// common with others (CIE).
struct FrameProgram {
  std::uintptr_t function_begin = 0;
  ByteRange common;  // DW_CFA_ instructions
  ByteRange own;
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = -8;
  std::uint64_t return_register = 16;
  bool signal_frame = false;
};

// False: there is no entry for the address.
bool find_frame_program(const CodeObject& object, std::uintptr_t address,
                        FrameProgram& program) noexcept;

}  // namespace refrain::sampler
