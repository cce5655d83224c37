// Counters, requests and communicators, without any MPI.
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "tracer/mpi/communicators.h"
#include "tracer/mpi/message_tables.h"

namespace refrain::mpi::tables_test {
namespace {

TEST_CASE("ChannelCounters: numbers - each channel has its own, from 0") {
  ChannelCounters counters;
  std::map<std::tuple<int, int, int>, std::uint64_t> expected;
  std::mt19937 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const auto comm = static_cast<std::uint16_t>(random() % 5);
    const int peer = static_cast<int>(random() % 40) - 1;
    const int tag = static_cast<int>(random() % 30) << (random() % 2 ? 0 : 20);
    REQUIRE(counters.next(comm, peer, tag) == expected[{comm, peer, tag}]++);
  }
  REQUIRE(expected.size() > 10'000);  // the table has grown
}

TEST_CASE("ChannelCounters: cancelled - the channel's last message gives its number back") {
  ChannelCounters counters;
  CHECK(counters.next(0, 1, 2) == 0);
  CHECK(counters.next(0, 1, 2) == 1);
  CHECK(counters.take_back(0, 1, 2, 1));
  CHECK(counters.next(0, 1, 2) == 1);
  CHECK_FALSE(counters.take_back(0, 1, 2, 0));  // not the last
  CHECK(counters.next(0, 1, 2) == 2);
  CHECK_FALSE(counters.take_back(0, 9, 9, 0));  // no such channel
  CHECK(counters.next(0, 9, 9) == 0);
}

Request request_with(std::uint32_t id) {
  Request request;
  request.id = id;
  return request;
}

TEST_CASE("RequestTable: handles - found until removed, however many there are") {
  RequestTable table;
  std::map<Handle, std::uint32_t> expected;
  std::mt19937 random(3);
  int place = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto handle = static_cast<Handle>(0x98000000u + random() % 3000);
    const auto known = expected.find(handle);
    Request* found = table.find(handle, &place);
    if (known != expected.end()) {
      REQUIRE(found != nullptr);
      REQUIRE(found->id == known->second);
      table.remove(found);
      expected.erase(known);
    } else {
      REQUIRE(found == nullptr);
      const std::uint32_t id = table.next_id();
      REQUIRE(table.add(handle, &place, request_with(id)) != nullptr);
      expected[handle] = id;
    }
    REQUIRE(table.size() == expected.size());
  }
  REQUIRE(expected.size() > 1000);
}

TEST_CASE("RequestTable: one handle for many - distinguished by the place, else by age") {
  RequestTable table;
  constexpr Handle kShared = 0x6c000001;
  int places[100] = {};
  for (std::uint32_t i = 0; i < 100; ++i)
    table.add(kShared, &places[i], request_with(i + 1));
  table.add(kShared + 256, &places[0], request_with(1000));
  CHECK(table.find(kShared, &places[5])->id == 6);
  CHECK(table.find(kShared, nullptr)->id == 1);
  CHECK(table.find(kShared, &places[90])->id == 1);  // too far to look
  table.remove(table.find(kShared, &places[5]));
  table.remove(table.find(kShared, nullptr));
  CHECK(table.find(kShared, nullptr)->id == 2);
  CHECK(table.find(kShared, &places[5])->id == 2);
  int left = 0;
  while (Request* next = table.find(kShared, nullptr)) table.remove(next), ++left;
  CHECK(left == 98);
  CHECK(table.find(kShared + 256, nullptr)->id == 1000);
  // The youngest is removed first: the next one is appended after the one before it.
  table.add(kShared, &places[1], request_with(1));
  table.add(kShared, &places[2], request_with(2));
  table.remove(table.find(kShared, &places[2]));
  table.add(kShared, &places[3], request_with(3));
  CHECK(table.find(kShared, &places[3])->id == 3);
}

TEST_CASE("RequestTable: ids - 0 is no request's") {
  RequestTable table;
  CHECK(table.next_id() == 1);
  CHECK(table.next_id() == 2);
}

Communicators::Facts facts(Handle handle, std::uint64_t parent, std::uint64_t members) {
  return {.handle = handle,
          .kind = spool::kMpiCommIntra,
          .worldwide = false,
          .rank = 0,
          .size = 2,
          .remote_size = 0,
          .parent = parent,
          .members = members};
}

TEST_CASE("Communicators: identity - the same in every member, another for every one") {
  const std::vector<int> all = {0, 1, 2, 3};
  const std::vector<int> even = {0, 2};
  const std::vector<int> odd = {1, 3};
  // What process 0 and 1 make, in their orders: both are in `all`, not in the same halves.
  Communicators zero;
  Communicators one;
  const auto world = [&](Communicators& of) {
    return of.add(facts(1, 0, hash_members(all)))->identity;
  };
  REQUIRE(world(zero) == world(one));
  const std::uint64_t parent = zero.find(1)->identity;
  zero.add(facts(2, parent, hash_members(even)));
  zero.add(facts(3, parent, hash_members(even)));
  zero.add(facts(4, parent, hash_members(all)));
  one.add(facts(2, parent, hash_members(odd)));
  one.add(facts(4, parent, hash_members(all)));
  one.add(facts(5, parent, hash_members(all)));
  CHECK(zero.find(4)->identity == one.find(4)->identity);
  std::set<std::uint64_t> distinct;
  for (const Handle handle : {1, 2, 3, 4}) distinct.insert(zero.find(handle)->identity);
  for (const Handle handle : {2, 5}) distinct.insert(one.find(handle)->identity);
  CHECK(distinct.size() == 6);
  // The order of members counts, the side from which an intercommunicator is seen does not.
  const std::vector<int> turned = {2, 0};
  CHECK(hash_members(even) != hash_members(turned));
  CHECK(hash_members(even, odd) == hash_members(odd, even));
}

TEST_CASE("Communicators: identity - tags distinguish calls of several threads") {
  const auto tagged = [](Handle handle, std::uint64_t tag) {
    Communicators::Facts of = facts(handle, 7, 77);
    of.tag = tag;
    return of;
  };
  // Each process completes the two in another order.
  Communicators zero;
  Communicators one;
  zero.add(tagged(1, 1));
  zero.add(tagged(2, 2));
  one.add(tagged(2, 2));
  one.add(tagged(1, 1));
  CHECK(zero.find(1)->identity == one.find(1)->identity);
  CHECK(zero.find(2)->identity == one.find(2)->identity);
  CHECK(zero.find(1)->identity != zero.find(2)->identity);
}

TEST_CASE("Communicators: handles - found until freed, and used again") {
  Communicators communicators;
  CHECK_FALSE(communicators.find(0x44000000)->known());
  const Communicator* first = communicators.add(facts(0x44000000, 0, 1));
  const Communicator* second = communicators.add(facts(0x44000001, 0, 1));
  CHECK(first->number == 0);
  CHECK(second->number == 1);
  CHECK(communicators.find(0x44000000) == first);
  CHECK(communicators.find(0x44000001) == second);
  const std::uint64_t generation = communicators.generation();
  CHECK(communicators.find(0x44000000) == first);
  CHECK(communicators.generation() == generation);
  communicators.remove(first);
  CHECK(communicators.generation() != generation);
  CHECK_FALSE(communicators.find(0x44000000)->known());
  CHECK(communicators.find(0x44000001) == second);
  const Communicator* again = communicators.add(facts(0x44000000, 0, 1));
  CHECK(again->number == 2);
  CHECK(communicators.find(0x44000000) == again);
}

TEST_CASE("Communicators: places - the smallest that is free, whatever the handles are") {
  Communicators communicators;
  CHECK(communicators.find(0x7f0000001000)->place == 0);
  std::vector<const Communicator*> made;
  for (std::uint16_t i = 0; i < 5; ++i) {
    made.push_back(communicators.add(facts(0x7f0000001000 + 64 * Handle{i}, 0, 1)));
    CHECK(made.back()->place == i + 1);
  }
  communicators.remove(made[3]);
  communicators.remove(made[1]);
  CHECK(communicators.add(facts(0x7f1111111110, 0, 1))->place == 2);
  CHECK(communicators.add(facts(0x7f2222222220, 0, 1))->place == 4);
  CHECK(communicators.add(facts(0x7f3333333330, 0, 1))->place == 6);
}

TEST_CASE("Communicators: handles - those that differ above 32 bits are different ones") {
  Communicators communicators;
  const Communicator* low = communicators.add(facts(0x0000000055601000, 0, 1));
  const Communicator* high = communicators.add(facts(0x0000555555601000, 0, 1));
  CHECK(communicators.find(0x0000000055601000) == low);
  CHECK(communicators.find(0x0000555555601000) == high);
  CHECK_FALSE(communicators.find(0x0000666655601000)->known());
}

TEST_CASE("RequestTable: handles - those that differ above 32 bits are different ones") {
  RequestTable table;
  int place = 0;
  table.add(0x0000000055601000, &place, request_with(1));
  table.add(0x0000555555601000, &place, request_with(2));
  CHECK(table.find(0x0000000055601000, &place)->id == 1);
  CHECK(table.find(0x0000555555601000, &place)->id == 2);
  CHECK(table.find(0x0000666655601000, &place) == nullptr);
}

TEST_CASE("Communicators: numbers - when there are no more, communicators are not known") {
  Communicators communicators;
  for (int i = 0; i < kNoCommunicator; ++i) {
    const Communicator* made = communicators.add(facts(7, 0, 1));
    REQUIRE(made != nullptr);
    communicators.remove(made);
  }
  CHECK(communicators.add(facts(7, 0, 1)) == nullptr);
  CHECK_FALSE(communicators.find(7)->known());
}

}  // namespace
}  // namespace refrain::mpi::tables_test
