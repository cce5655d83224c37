#include "spool/record_kinds.h"

#include <catch2/catch.hpp>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace refrain::spool::record_kinds_test {
namespace {

TEST_CASE("Record kinds: each has one row, its number and a name of its own") {
  std::set<unsigned> numbers;
  std::set<std::string> names;
  for (const RecordKind& row : kRecordKinds) {
    CAPTURE(static_cast<unsigned>(row.kind));
    REQUIRE(row.name != nullptr);
    CHECK(numbers.insert(row.kind).second);
    CHECK(names.insert(row.name).second);
    CHECK(kind_row(row.kind).kind == row.kind);
    CHECK(row.kind != kInvalid);
    CHECK((row.kind & kSnapshot) == 0);
  }
}

// The compiler writes the name of an enumerator, and "(Kind)5" of a number that is none.
template <Kind kKind>
constexpr bool is_enumerator() {
  const std::string_view text = __PRETTY_FUNCTION__;
  return text.substr(text.find("kKind = ")).find("Kind)") == text.npos;
}

template <std::size_t... kNumbers>
void check_enumerators(std::index_sequence<kNumbers...> /*numbers*/) {
  const bool known[] = {is_enumerator<static_cast<Kind>(kNumbers)>()...};
  CHECK(known[kWorkBegin]);
  CHECK_FALSE(known[kText - 1]);
  for (unsigned kind = 1; kind < std::size(known); ++kind) {
    CAPTURE(kind);
    CHECK((kind_row(static_cast<std::uint8_t>(kind)).name != nullptr) == known[kind]);
  }
}

TEST_CASE("Record kinds: a row for each that has a number, and no other") {
  check_enumerators(std::make_index_sequence<256>());
}

TEST_CASE("Record kinds: a begin has its end after it, an end its begin before it") {
  for (const RecordKind& row : kRecordKinds) {
    CAPTURE(row.name);
    if (row.effect == Effect::kBegin)
      CHECK(kind_row(static_cast<std::uint8_t>(row.kind + 1)).effect == Effect::kEnd);
    if (row.effect == Effect::kEnd)
      CHECK(kind_row(begin_of(row.kind)).effect == Effect::kBegin);
    if (row.may_cut) CHECK(row.effect == Effect::kBegin);
    if (row.effect == Effect::kNone) CHECK(row.region == RegionClass::kNone);
  }
}

TEST_CASE("Record kinds: parts - events and what belongs to them fit the set's bits") {
  for (const RecordKind& row : kRecordKinds) {
    CAPTURE(row.name);
    const bool of_program = row.part == Part::kEvent || row.part == Part::kDetail;
    CHECK(is_one_of(kOfProgram, row.kind) == of_program);
    CHECK(is_one_of(kEvents, row.kind) == (row.part == Part::kEvent));
    CHECK(is_one_of(kBegins, row.kind) == (row.effect == Effect::kBegin));
    if (row.effect != Effect::kNone) CHECK(row.part == Part::kEvent);
    if (row.archive_bytes != 0) CHECK(of_program);
  }
  CHECK_FALSE(is_one_of(kBegins, kWorkBegin | kSnapshot));
}

}  // namespace
}  // namespace refrain::spool::record_kinds_test
