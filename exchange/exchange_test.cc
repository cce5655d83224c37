// Summaries of all ranks, merged in a tree: by lists of ranks, in threads and without.
#include <catch2/catch.hpp>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "exchange/mailboxes.h"
#include "exchange/tree.h"

namespace refrain::exchange::exchange_test {
namespace {

// Which ranks have reported, in order.
struct Report {
  std::vector<std::uint64_t> ranks;
};

Report merge(Report a, const Report& b) {
  a.ranks.insert(a.ranks.end(), b.ranks.begin(), b.ranks.end());
  return a;
}

void put(ByteWriter& out, const Report& report) {
  out.number(report.ranks.size());
  for (const std::uint64_t rank : report.ranks) out.number(rank);
}

void take(ByteReader& in, Report& report) {
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left)
    report.ranks.push_back(in.number());
}

// The result of each rank; `failing` could not do its part.
std::vector<std::optional<Report>> unite_in_threads(std::uint32_t size,
                                                    std::uint32_t failing) {
  Mailboxes boxes(size);
  std::vector<std::optional<Report>> results(size);
  std::vector<std::thread> ranks;
  for (std::uint32_t rank = 0; rank < size; ++rank)
    ranks.emplace_back([&, rank] {
      std::optional<Report> own;
      if (rank != failing) own = Report{{rank}};
      results[rank] = unite_all(*boxes.of(rank), std::move(own));
    });
  for (std::thread& rank : ranks) rank.join();
  CHECK(boxes.pending() == 0);
  return results;
}

}  // namespace

TEST_CASE("Bytes: numbers and texts - read as they were written") {
  const std::vector<std::uint64_t> numbers = {
      0, 1, 127, 128, 1U << 14, UINT32_MAX, UINT64_MAX, UINT64_MAX >> 1};
  ByteWriter out;
  for (const std::uint64_t number : numbers) {
    out.number(number);
    out.signed_number(static_cast<std::int64_t>(number));
    out.word(number);
  }
  out.text("");
  out.text(std::string("a\0b", 3));
  ByteReader in(out.bytes());
  for (const std::uint64_t number : numbers) {
    CHECK(in.number() == number);
    CHECK(in.signed_number() == static_cast<std::int64_t>(number));
    CHECK(in.word() == number);
  }
  CHECK(in.text().empty());
  CHECK(in.text() == std::string("a\0b", 3));
  CHECK(in.done());
}

TEST_CASE("Bytes: cut off or too large - a failure that stays") {
  const auto fails = [](const Bytes& bytes, auto read) {
    ByteReader in(bytes);
    read(in);
    CHECK_FALSE(in.ok());
    CHECK(in.number() == 0);
    CHECK(in.text().empty());
    CHECK_FALSE(in.done());
  };
  fails({}, [](ByteReader& in) { in.number(); });
  fails({0x80, 0x80}, [](ByteReader& in) { in.number(); });
  fails(Bytes(10, 0xff), [](ByteReader& in) { in.number(); });
  fails(Bytes(7, 1), [](ByteReader& in) { in.word(); });
  fails({3, 'a', 'b'}, [](ByteReader& in) { in.text(); });
  fails({0xff, 0xff, 0xff, 0xff, 0x7f}, [](ByteReader& in) { in.number32(); });
  fails({5, 0, 0}, [](ByteReader& in) { in.count(); });
}

TEST_CASE("Tree: places - every rank has one parent, subtrees are rows of ranks") {
  for (std::uint32_t size = 1; size < 40; ++size) {
    std::set<std::uint32_t> reached{0};
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      const TreePlace place{rank, size};
      std::uint32_t next = rank + 1;
      for (const std::uint32_t child : place.children()) {
        CHECK(TreePlace{child, size}.parent() == rank);
        CHECK(child == next);
        next = TreePlace{child, size}.end();
        CHECK(reached.insert(child).second);
      }
      CHECK(next == place.end());
    }
    CHECK(reached.size() == size);
  }
}

TEST_CASE("Tree: all ranks report - each gets all, in order of ranks") {
  for (const std::uint32_t size : {1U, 2U, 3U, 8U, 13U, 33U}) {
    const auto results = unite_in_threads(size, size);
    for (const auto& result : results) {
      REQUIRE(result);
      REQUIRE(result->ranks.size() == size);
      for (std::uint32_t rank = 0; rank < size; ++rank) CHECK(result->ranks[rank] == rank);
    }
  }
}

TEST_CASE("Tree: one rank fails - all learn of it, nobody waits") {
  for (const std::uint32_t size : {1U, 2U, 7U, 16U})
    for (std::uint32_t failing = 0; failing < size; ++failing)
      for (const auto& result : unite_in_threads(size, failing)) CHECK_FALSE(result);
}

namespace {

// A summary whose merge() fails, as without memory.
struct Heavy {
  std::uint64_t ranks = 1;
  std::uint64_t most = UINT64_MAX;
};

Heavy merge(Heavy a, const Heavy& b) {
  if (a.ranks + b.ranks > a.most) throw std::bad_alloc();
  a.ranks += b.ranks;
  return a;
}

void put(ByteWriter& out, const Heavy& heavy) {
  if (heavy.ranks == heavy.most) throw std::bad_alloc();
  out.number(heavy.ranks);
}

void take(ByteReader& in, Heavy& heavy) { heavy.ranks = in.number(); }

}  // namespace

TEST_CASE(
    "Tree: no memory in a round - all learn of it, and the next round goes "
    "well") {
  constexpr std::uint32_t kSize = 13;
  for (std::uint32_t poor = 0; poor < kSize; ++poor)
    for (const std::uint64_t most : {1U, 2U, 3U, 4U, 7U}) {
      const TreePlace place{poor, kSize};
      const bool fails = place.end() - poor >= most;
      Mailboxes boxes(kSize);
      std::vector<std::optional<Heavy>> first(kSize);
      std::vector<std::optional<Heavy>> second(kSize);
      std::vector<std::thread> ranks;
      for (std::uint32_t rank = 0; rank < kSize; ++rank)
        ranks.emplace_back([&, rank] {
          const auto exchange = boxes.of(rank);
          first[rank] =
              unite_all<Heavy>(*exchange, Heavy{1, rank == poor ? most : UINT64_MAX});
          second[rank] = unite_all<Heavy>(*exchange, Heavy{});
        });
      for (std::thread& rank : ranks) rank.join();
      CHECK(boxes.pending() == 0);
      for (std::uint32_t rank = 0; rank < kSize; ++rank) {
        CHECK(first[rank].has_value() == !fails);
        REQUIRE(second[rank]);
        CHECK(second[rank]->ranks == kSize);
      }
    }
}

TEST_CASE("Tree: damaged bytes - as if the process had failed") {
  const Bytes whole = to_bytes(std::optional<Report>(Report{{1, 300, 70'000}}));
  CHECK(from_bytes<Report>(whole));
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(
        from_bytes<Report>(Bytes(whole.begin(), whole.begin() + static_cast<long>(size))));
  Bytes longer = whole;
  longer.push_back(0);
  CHECK_FALSE(from_bytes<Report>(longer));
}

}  // namespace refrain::exchange::exchange_test
