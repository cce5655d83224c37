#include "filters/nest.h"

#include <catch2/catch.hpp>

namespace refrain::filters::nest_test {
namespace {

NestPiece event(std::uint64_t symbol, std::uint64_t times = 1) {
  return {NestPiece::Kind::kEvent, symbol, times, times};
}

NestPiece loop(std::uint64_t id, std::uint64_t least, std::uint64_t most) {
  return {NestPiece::Kind::kLoop, id, least, most};
}

NestPiece loop(std::uint64_t id, std::uint64_t trips) { return loop(id, trips, trips); }

NestPiece skipped(std::uint64_t events, std::uint64_t loops) {
  return {NestPiece::Kind::kSkipped, 0, events, loops};
}

std::string letter(std::uint64_t symbol) {
  return symbol < 26 ? std::string(1, static_cast<char>('A' + symbol)) : "init";
}

std::string text(const Nest& nest, const NestTextLimits& limits = {}) {
  return nest_text(nest, letter, limits);
}

NestRow events(std::uint64_t count) {
  NestRow row;
  for (std::uint64_t symbol = 0; symbol != count; ++symbol) row.push_back(event(symbol));
  return row;
}

}  // namespace

TEST_CASE("Nest: text - a nest as one line") {
  const Nest nest{
      .run = {event(99), loop(1, 75)},
      .bodies = {{1, {event(0), loop(2, 25), event(3)}}, {2, {event(1), event(2)}}}};
  CHECK(text(nest) == "init; 75 × [ A; 25 × [ B; C ]; D ]");
}

TEST_CASE("Nest: text - nothing, events only, one loop only") {
  CHECK(text({.run = {}}) == "");
  CHECK(text({.run = {event(0)}}) == "A");
  CHECK(text({.run = {event(0), event(1)}}) == "A; B");
  CHECK(text({.run = {loop(0, 7)}, .bodies = {{0, {event(2)}}}}) == "7 × [ C ]");
}

TEST_CASE("Nest: text - trip counts that vary are a range") {
  const Nest nest{.run = {loop(0, 3)},
                  .bodies = {{0, {event(0), loop(1, 25, 40)}}, {1, {event(1)}}}};
  CHECK(text(nest) == "3 × [ A; 25–40 × [ B ] ]");
}

TEST_CASE("Nest: text - a loop that comes again is written out once, then named") {
  const Nest nest{.run = {loop(4, 10), event(2), loop(4, 12), event(3), loop(5, 6)},
                  .bodies = {{4, {event(0), event(1)}}, {5, {loop(4, 3)}}}};
  CHECK(text(nest) == "10 × loop 4 [ A; B ]; C; 12 × loop 4; D; 6 × [ 3 × loop 4 ]");
}

TEST_CASE("Nest: text - a loop that contains itself ends") {
  const Nest nest{.run = {loop(0, 2)}, .bodies = {{0, {event(0), loop(0, 3)}}}};
  CHECK(text(nest) == "2 × loop 0 [ A; 3 × loop 0 ]");
}

TEST_CASE("Nest: text - an unknown body") {
  CHECK(text({.run = {event(0), loop(7, 5)}}) == "A; 5 × [ … ]");
}

TEST_CASE("Nest: text - equal events in a row") {
  CHECK(text({.run = {event(0), event(1, 2), event(2, 3)}}) == "A; B; B; 3 × C");
}

TEST_CASE(
    "Nest: text - a straight row is cut from the limit on, and counts the cut events") {
  CHECK(text({.run = events(4)}, {.events = 4}) == "A; B; C; D");
  CHECK(text({.run = events(5)}, {.events = 4}) == "A; B; … 2 events …; E");
  CHECK(text({.run = events(13)}) == "A; B; C; D; E; F; … 4 events …; K; L; M");
  // Each row between loops is cut by itself.
  NestRow row = events(5);
  row.push_back(loop(0, 9));
  for (const NestPiece& piece : events(5)) row.push_back(piece);
  CHECK(text({.run = row, .bodies = {{0, {event(25)}}}}, {.events = 4}) ==
        "A; B; … 2 events …; E; 9 × [ Z ]; A; B; … 2 events …; E");
  // Three equal events are one word, but three events.
  CHECK(text({.run = {event(0), event(1), event(2, 3), event(3), event(4)}},
             {.events = 4}) == "A; B; … 4 events …; E");
}

TEST_CASE("Nest: text - pieces not kept are counted, also with those cut") {
  CHECK(text({.run = {event(0), skipped(100, 0), event(1)}}) == "A; … 100 events …; B");
  CHECK(text({.run = {event(0), skipped(1, 1), event(1)}}) == "A; … 1 event, 1 loop …; B");
  CHECK(text({.run = {event(0), event(1), event(2), skipped(10, 2), event(3), event(4)}},
             {.events = 4}) == "A; B; … 12 events, 2 loops …; E");
  CHECK(text({.run = {skipped(3, 0), loop(0, 2)}}) == "… 3 events …; 2 × [ … ]");
}

TEST_CASE("Nest: text - of very many loops in a row, those at its ends") {
  NestRow row;
  for (std::uint64_t id = 0; id != 9; ++id) {
    row.push_back(event(id));
    row.push_back(loop(id, id + 2));
  }
  row.push_back(event(25));
  // Six are allowed: four at the start, two at the end; three are cut, with their events.
  CHECK(text({.run = row}, {.loops = 6}) ==
        "A; 2 × [ … ]; B; 3 × [ … ]; C; 4 × [ … ]; D; 5 × [ … ]; … 3 events, 3 loops …; "
        "H; 9 × [ … ]; I; 10 × [ … ]; Z");
}

}  // namespace refrain::filters::nest_test
