#include <zlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "cube/cubex_reader.h"

namespace refrain::cube::metric_data_test {
namespace {

template <typename T>
std::string bytes(T value, bool swap) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  if (swap) std::ranges::reverse(out);
  return out;
}

std::string index(bool swap, const std::vector<std::uint32_t>& rows, bool dense = false) {
  std::string out = "CUBEX.INDEX" + bytes(std::uint32_t{1}, swap) +
                    bytes(std::uint16_t{0}, swap) +
                    bytes(static_cast<std::uint8_t>(dense ? 0 : 1), swap);
  if (dense) return out;
  out += bytes(static_cast<std::uint32_t>(rows.size()), swap);
  for (const std::uint32_t row : rows) out += bytes(row, swap);
  return out;
}

}  // namespace

TEST_CASE("Values of a metric: plain and sparse, in either byte order") {
  for (const bool swap : {false, true}) {
    std::string data = "CUBEX.DATA";
    for (const double value : {1.5, 2.5, -3.0, 4.0}) data += bytes(value, swap);
    std::vector<MetricRow> rows;
    CHECK(read_metric(index(swap, {4, 1}), data, Number::kDouble, 6, 2, rows).ok());
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].row == 4);
    CHECK(rows[0].values == std::vector<double>{1.5, 2.5});
    CHECK(rows[1].row == 1);
    CHECK(rows[1].values == std::vector<double>{-3.0, 4.0});
  }
}

TEST_CASE("Values of a metric: dense ones, of each width") {
  std::string data = "CUBEX.DATA";
  for (const std::uint16_t value : {7, 8, 9, 65535}) data += bytes(value, true);
  std::vector<MetricRow> rows;
  CHECK(read_metric(index(true, {}, true), data, Number::kUnsigned16, 2, 2, rows).ok());
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].values == std::vector<double>{9, 65535});
  rows.clear();
  CHECK(read_metric(index(true, {}, true), data, Number::kSigned16, 2, 2, rows).ok());
  CHECK(rows[1].values == std::vector<double>{9, -1});
}

TEST_CASE("Values of a metric: compressed row by row, a missing one is empty") {
  const std::string plain = bytes(2.0, false) + bytes(6.0, false);
  std::string packed(compressBound(plain.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(plain.data()), plain.size());
  packed.resize(size);
  const auto file = [&](std::uint64_t start, std::uint64_t length) {
    return "ZCUBEX.DATA" + bytes(std::uint64_t{1}, false) +
           bytes(std::uint64_t{16}, false) + bytes(start, false) + bytes(length, false) +
           packed;
  };
  std::vector<MetricRow> rows;
  CHECK(read_metric(index(false, {3, 5}), file(0, size), Number::kDouble, 6, 2, rows).ok());
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].row == 5);
  CHECK(rows[0].values == std::vector<double>{2.0, 6.0});
  // Beyond the end.
  CHECK_FALSE(
      read_metric(index(false, {3, 5}), file(8, size), Number::kDouble, 6, 2, rows).ok());
  CHECK_FALSE(read_metric(index(false, {3, 5}), file(0, ~std::uint64_t{0}), Number::kDouble,
                          6, 2, rows)
                  .ok());
}

TEST_CASE("Values of a metric: an index or values that do not fit are refused") {
  std::vector<MetricRow> rows;
  const std::string data = "CUBEX.DATA" + bytes(1.0, false);
  // As CubeLib writes a metric without values.
  CHECK(read_metric(index(false, {1}).substr(0, 18), "CUBEX.DATA", Number::kDouble, 6, 1,
                    rows)
            .ok());
  CHECK_FALSE(read_metric("", data, Number::kDouble, 6, 1, rows).ok());
  CHECK_FALSE(read_metric(index(false, {6}), data, Number::kDouble, 6, 1, rows).ok());
  CHECK_FALSE(read_metric(index(false, {1, 2}), data, Number::kDouble, 6, 1, rows).ok());
  CHECK_FALSE(
      read_metric(index(false, {1}).substr(0, 20), data, Number::kDouble, 6, 1, rows).ok());
  CHECK_FALSE(read_metric(index(false, {1}), "CUBE", Number::kDouble, 6, 1, rows).ok());
  CHECK_FALSE(read_metric(index(false, {1}),
                          "ZCUBEX.DATA" + bytes(~std::uint64_t{0}, false), Number::kDouble,
                          6, 1, rows)
                  .ok());
}

}  // namespace refrain::cube::metric_data_test
