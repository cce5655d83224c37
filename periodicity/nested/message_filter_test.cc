#include "periodicity/nested/message_filter.h"

#include <catch2/catch.hpp>
#include <vector>

#include "test/support/streams.h"

namespace refrain::periodicity::message_filter_test {
namespace {

class Filter {
 public:
  // Reads events none of which a loop explains.
  void read(const test::Stream& symbols) {
    for (const auto symbol : symbols) {
      events.recent.note(events.position, symbol, 3);
      history.append({.id = symbol, .position = events.position, .depth = 3});
      ++events.position;
      filter.unexplained();
    }
  }

  ExpectedEvents events;
  TokenHistory history{{.capacity = 1024, .max_lag = 256, .enough_bits = 20}};
  BodyStore bodies{{.bodies = 16, .items = 1024, .enough_bits = 10}};
  MessageFilter filter{events, history, bodies, true, 16, 1024};
};

// Four events in a row, with a message after each that comes nondeterministically.
test::Stream with_messages(std::size_t rounds) {
  const auto chance = test::random_stream(4 * rounds, 50, 3);
  test::Stream stream;
  for (const auto message : chance) {
    stream.push_back(stream.size() / 2 % 4 + 1);
    stream.push_back(kMessageSymbol | message);
  }
  return stream;
}

TEST_CASE("MessageFilter: due - messages of chance between events that repeat") {
  Filter filter;
  filter.read(with_messages(50));
  CHECK(filter.filter.due());
  filter.filter.begin();
  CHECK_FALSE(filter.filter.due());
}

TEST_CASE("MessageFilter: due - not where the other events come by chance, too") {
  Filter filter;
  auto stream = test::random_stream(2000, 50, 3);
  for (std::size_t k = 0; k < stream.size(); k += 2) stream[k] |= kMessageSymbol;
  filter.read(stream);
  CHECK_FALSE(filter.filter.due());
}

TEST_CASE("MessageFilter: due - not where messages follow the rule, too") {
  Filter filter;
  test::Stream stream;
  for (std::uint64_t k = 0; k != 1000; ++k) {
    stream.push_back(k % 4 + 1);
    stream.push_back(kMessageSymbol | (k % 4));
  }
  filter.read(stream);
  CHECK_FALSE(filter.filter.due());
}

TEST_CASE("MessageFilter: read_again - the history without messages, then what waited") {
  Filter filter;
  filter.read({1, kMessageSymbol | 7, 2, kMessageSymbol | 8, 3});
  TokenDeque pending(16);
  pending.push_back({.id = kMessageSymbol | 9, .position = 5});
  pending.push_back({.id = MessageFilter::kNoEvent, .position = 6, .events = 0});
  pending.push_back({.id = 4, .position = 6});
  filter.filter.outdate_bodies();
  filter.filter.read_again(pending);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> tokens;
  while (!pending.empty()) {
    const Token token = pending.pop_front();
    tokens.emplace_back(token.id, token.position);
  }
  CHECK(tokens == std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                      {1, 0}, {2, 2}, {3, 4}, {4, 6}});
}

TEST_CASE("MessageFilter: read_again - a loop with messages is read again as its events") {
  Filter filter;
  TokenHistory body_tokens({.capacity = 64, .max_lag = 16, .enough_bits = 4});
  test::Stream visit;
  for (int k = 0; k != 4; ++k) {
    for (const std::uint64_t symbol : {Symbol{1}, kMessageSymbol | 7, Symbol{2}}) {
      body_tokens.append({.id = symbol});
      filter.events.recent.note(filter.events.position++, symbol, 2);
    }
  }
  const auto body = filter.bodies.find_or_add(body_tokens, 0, 3).body;
  REQUIRE(body != kNoBody);
  filter.history.append({.id = loop_token_id(filter.bodies[body].loop),
                         .position = 0,
                         .events = 12,
                         .body = body});
  TokenDeque pending(16);
  filter.filter.outdate_bodies();
  filter.filter.read_again(pending);
  CHECK(filter.bodies[body].obsolete);
  REQUIRE(pending.size() == 8);
  CHECK(pending.pop_front().id == 1);
  const Token second = pending.pop_front();
  CHECK(second.id == 2);
  CHECK(second.position == 2);
  CHECK(second.depth == 2);
}

}  // namespace
}  // namespace refrain::periodicity::message_filter_test
