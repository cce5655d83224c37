#include <catch2/catch.hpp>

#include "periodicity/nested/irregular_visits.h"
#include "test/support/streams.h"

namespace refrain::periodicity::header_search_test {
namespace {

// How often a header is seen if no event is explained by anything else.
std::size_t headers_seen(const test::Stream& stream) {
  RecentEvents recent;
  HeaderSearch search(recent);
  std::size_t seen = 0;
  for (std::uint64_t at = 0; at != stream.size(); ++at) {
    recent.note(at, stream[at], 0);
    search.unexplained(at);
    if (search.looking() && search.look(at + 1)) ++seen;
  }
  return seen;
}

// Rows of ten events, each one of `kinds` at random, after a row that is always the same.
test::Stream rows(std::uint64_t kinds, std::uint64_t seed) {
  test::Stream stream;
  for (const auto kind : test::random_stream(2000, kinds, seed)) {
    for (std::uint64_t k = 0; k < 10; ++k) stream.push_back(k);
    for (std::uint64_t k = 0; k < 10; ++k) stream.push_back(100 * (kind + 1) + k);
  }
  return stream;
}

TEST_CASE("HeaderSearch: header - of iterations of many kinds") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CHECK(headers_seen(rows(8, seed)) > 100);
  }
}

TEST_CASE("HeaderSearch: none - in noise") {
  for (const std::uint64_t symbols : {2, 3, 4, 16}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      INFO(symbols << " symbols, seed " << seed);
      CHECK(headers_seen(test::random_stream(100000, symbols, seed)) == 0);
    }
  }
}

// Neighbours that are everywhere are no evidence.
TEST_CASE("HeaderSearch: none - in noise that is mostly one symbol") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    INFO(seed);
    auto stream = test::random_stream(100000, 100, seed);
    for (auto& symbol : stream) symbol = symbol < 5 ? symbol : 50;
    CHECK(headers_seen(stream) == 0);
  }
}

TEST_CASE("HeaderSearch: none - in kinds that come in turn") {
  test::Stream stream;
  for (std::uint64_t k = 0; k < 2000; ++k) {
    for (std::uint64_t event = 0; event < 10; ++event) stream.push_back(event);
    for (std::uint64_t event = 0; event < 5; ++event) stream.push_back(100 * (k % 9 + 1));
  }
  CHECK(headers_seen(stream) == 0);
}

}  // namespace
}  // namespace refrain::periodicity::header_search_test
