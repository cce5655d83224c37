#include "exchange/bytes.h"

namespace refrain::exchange {
namespace {

constexpr std::uint8_t kMore = 0x80;
constexpr unsigned kBits = 7;

}  // namespace

void ByteWriter::number(std::uint64_t value) {
  for (; value >= kMore; value >>= kBits)
    bytes_.push_back(static_cast<std::uint8_t>(value) | kMore);
  bytes_.push_back(static_cast<std::uint8_t>(value));
}

// The sign is the lowest bit, so that small numbers of either sign are short.
void ByteWriter::signed_number(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  number(bits << 1 ^ (value < 0 ? ~std::uint64_t{0} : 0));
}

void ByteWriter::word(std::uint64_t value) {
  for (unsigned shift = 0; shift < 64; shift += 8)
    bytes_.push_back(static_cast<std::uint8_t>(value >> shift));
}

void ByteWriter::text(std::string_view value) {
  number(value.size());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

std::uint64_t ByteReader::number() noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += kBits) {
    const std::uint8_t byte = rest_.front();
    rest_ = rest_.subspan(1);
    const std::uint64_t part = byte & (kMore - 1);
    if (part << shift >> shift != part) break;
    value |= part << shift;
    if ((byte & kMore) == 0) return value;
  }
  fail();
  return 0;
}

std::int64_t ByteReader::signed_number() noexcept {
  const std::uint64_t bits = number();
  return static_cast<std::int64_t>(bits >> 1 ^ ((bits & 1) != 0 ? ~std::uint64_t{0} : 0));
}

std::uint64_t ByteReader::word() noexcept {
  if (rest_.size() < sizeof(std::uint64_t)) {
    fail();
    return 0;
  }
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{rest_[i]} << 8 * i;
  rest_ = rest_.subspan(8);
  return value;
}

std::string ByteReader::text() {
  const std::size_t length = count();
  std::string out(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(length));
  rest_ = rest_.subspan(length);
  return out;
}

std::size_t ByteReader::count() noexcept {
  const std::uint64_t value = number();  // before asking how many bytes are left
  if (value <= rest_.size()) return static_cast<std::size_t>(value);
  fail();
  return 0;
}

std::uint64_t ByteReader::number_to(std::uint64_t most) noexcept {
  const std::uint64_t value = number();
  if (value <= most) return value;
  fail();
  return 0;
}

}  // namespace refrain::exchange
