#include "cube/metric_data.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

namespace refrain::cube {
namespace {

constexpr std::string_view kIndexMark = "CUBEX.INDEX";
constexpr std::string_view kPlainMark = "CUBEX.DATA";
constexpr std::string_view kPackedMark = "ZCUBEX.DATA";
constexpr std::uint8_t kSparse = 1;

// Numbers in the byte order of who wrote them.
class Bytes {
 public:
  Bytes(std::string_view text, bool swap) : text_(text), swap_(swap) {}

  template <typename T>
  bool take(T& value) {
    if (text_.size() < sizeof value) return false;
    std::array<char, sizeof value> bytes;
    std::memcpy(bytes.data(), text_.data(), sizeof value);
    if (swap_) std::ranges::reverse(bytes);
    std::memcpy(&value, bytes.data(), sizeof value);
    text_.remove_prefix(sizeof value);
    return true;
  }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
  bool swap_;
};

template <typename T>
bool take_as_double(Bytes& bytes, double& value) {
  T number{};
  if (!bytes.take(number)) return false;
  value = static_cast<double>(number);
  return true;
}

bool take_number(Bytes& bytes, Number number, double& value) {
  switch (number) {
    case Number::kDouble:
      return take_as_double<double>(bytes, value);
    case Number::kSigned64:
      return take_as_double<std::int64_t>(bytes, value);
    case Number::kUnsigned64:
      return take_as_double<std::uint64_t>(bytes, value);
    case Number::kSigned32:
      return take_as_double<std::int32_t>(bytes, value);
    case Number::kUnsigned32:
      return take_as_double<std::uint32_t>(bytes, value);
    case Number::kSigned16:
      return take_as_double<std::int16_t>(bytes, value);
    case Number::kUnsigned16:
      return take_as_double<std::uint16_t>(bytes, value);
    case Number::kSigned8:
      return take_as_double<std::int8_t>(bytes, value);
    case Number::kUnsigned8:
      return take_as_double<std::uint8_t>(bytes, value);
  }
  return false;
}

std::size_t bytes_of(Number number) {
  switch (number) {
    case Number::kDouble:
    case Number::kSigned64:
    case Number::kUnsigned64:
      return 8;
    case Number::kSigned32:
    case Number::kUnsigned32:
      return 4;
    case Number::kSigned16:
    case Number::kUnsigned16:
      return 2;
    default:
      return 1;
  }
}

struct Index {
  bool swap = false;
  bool dense = true;
  std::vector<std::uint32_t> rows;  // of a sparse one
};

std::optional<Index> read_index(std::string_view text, std::uint32_t rows) {
  if (!text.starts_with(kIndexMark)) return std::nullopt;
  text.remove_prefix(kIndexMark.size());
  Index index;
  std::uint32_t order = 0;
  if (!Bytes(text, false).take(order)) return std::nullopt;
  index.swap = order != 1;
  Bytes bytes(text, index.swap);
  std::uint16_t version = 0;
  std::uint8_t format = 0;
  if (!bytes.take(order) || order != 1 || !bytes.take(version) || !bytes.take(format))
    return std::nullopt;
  index.dense = format != kSparse;
  if (index.dense) return index;
  if (bytes.rest().empty()) return index;  // CubeLib's, of no rows
  std::uint32_t count = 0;
  if (!bytes.take(count) || count > rows || bytes.rest().size() < std::size_t{count} * 4)
    return std::nullopt;
  index.rows.resize(count);
  for (std::uint32_t& row : index.rows)
    if (!bytes.take(row) || row >= rows) return std::nullopt;
  return index;
}

struct Part {
  std::uint64_t plain_start = 0, packed_start = 0, packed_bytes = 0;
};

// Rows one after the other. Compressed ones each for itself; one that is missing there is empty.
class Rows {
 public:
  Rows(std::string_view data, bool swap, std::size_t row_bytes)
      : data_(data), row_bytes_(row_bytes) {
    if (data_.starts_with(kPlainMark)) {
      data_.remove_prefix(kPlainMark.size());
      return;
    }
    packed_ = data_.starts_with(kPackedMark);
    if (!packed_) {
      wrong_ = true;
      return;
    }
    data_.remove_prefix(kPackedMark.size());
    Bytes bytes(data_, swap);
    std::uint64_t count = 0;
    if (!bytes.take(count) || count > bytes.rest().size() / sizeof(Part)) {
      wrong_ = true;
      return;
    }
    parts_.resize(count);
    for (Part& part : parts_)
      wrong_ = wrong_ || !bytes.take(part.plain_start) || !bytes.take(part.packed_start) ||
               !bytes.take(part.packed_bytes);
    data_ = bytes.rest();
    std::ranges::sort(parts_, {}, &Part::plain_start);
  }

  bool wrong() const { return wrong_; }
  std::size_t plain_rows() const { return data_.size() / row_bytes_; }
  bool packed() const { return packed_; }

  // Of the n-th row; empty: it has no values.
  std::optional<std::string_view> row(std::uint64_t number) {
    const std::uint64_t start = number * row_bytes_;
    if (!packed_) {
      if (start > data_.size() || data_.size() - start < row_bytes_) return std::nullopt;
      return data_.substr(start, row_bytes_);
    }
    const auto part = std::ranges::lower_bound(parts_, start, {}, &Part::plain_start);
    if (part == parts_.end() || part->plain_start != start) return std::string_view();
    if (part->packed_start > data_.size() ||
        part->packed_bytes > data_.size() - part->packed_start)
      return std::nullopt;
    plain_.resize(row_bytes_);
    uLongf bytes = row_bytes_;
    const auto* from = reinterpret_cast<const Bytef*>(data_.data() + part->packed_start);
    if (uncompress(reinterpret_cast<Bytef*>(plain_.data()), &bytes, from,
                   part->packed_bytes) != Z_OK ||
        bytes != row_bytes_)
      return std::nullopt;
    return plain_;
  }

 private:
  std::string_view data_;
  std::size_t row_bytes_;
  bool packed_ = false;
  bool wrong_ = false;
  std::vector<Part> parts_;
  std::string plain_;
};

}  // namespace

base::Result<> read_metric(std::string_view index_text, std::string_view data,
                           Number number, std::uint32_t rows, std::uint32_t locations,
                           std::vector<MetricRow>& out) {
  if (locations == 0) return {};
  const std::optional<Index> index = read_index(index_text, rows);
  if (!index) return base::Failure{"its index is damaged"};
  Rows values(data, index->swap, bytes_of(number) * locations);
  if (values.wrong()) return base::Failure{"its values are damaged"};
  const std::uint64_t count =
      !index->dense
          ? index->rows.size()
          : (values.packed() ? rows : std::min<std::uint64_t>(rows, values.plain_rows()));
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto row = values.row(i);
    if (!row) return base::Failure{"its values are damaged"};
    if (row->empty()) continue;
    Bytes bytes(*row, index->swap);
    MetricRow& read = out.emplace_back();
    read.row = index->dense ? static_cast<std::uint32_t>(i) : index->rows[i];
    read.values.resize(locations);
    for (double& value : read.values)
      if (!take_number(bytes, number, value))
        return base::Failure{"its values are damaged"};
  }
  return {};
}

}  // namespace refrain::cube
