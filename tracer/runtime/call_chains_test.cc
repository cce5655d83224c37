#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tracer/runtime/code_places.h"

namespace refrain::runtime::call_chains_test {
namespace {

struct Chain {
  std::string loops;
  std::string place;
  std::vector<std::uint64_t> addresses;
  std::vector<std::uint64_t> cfas;
};

Chain parsed(std::string_view text) {
  std::istringstream in{std::string(text)};
  Chain out;
  in >> out.loops >> out.place;
  for (std::string frame; in >> frame;) {
    const std::size_t colon = frame.find(':');
    out.addresses.push_back(std::stoull(frame.substr(0, colon), nullptr, 16));
    out.cfas.push_back(std::stoull(frame.substr(colon + 1), nullptr, 16));
  }
  return out;
}

[[gnu::noinline]] std::string event(CallChains& chains, std::uint64_t place) {
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  std::string text(chains.wants(place) ? chains.take(place, here) : std::string_view());
  asm volatile("");
  return text;
}

[[gnu::noinline]] std::string caller(CallChains& chains, std::uint64_t place) {
  std::string text = event(chains, place);
  asm volatile("");
  return text;
}

}  // namespace

TEST_CASE("CallChains: chains - from the event's place outwards") {
  CallChains chains;
  CHECK_FALSE(chains.armed());
  chains.arm(3, 4);
  REQUIRE(chains.armed());
  std::vector<Chain> parsed_chains;
  for (const std::uint64_t place : {0x10u, 0x20u})
    parsed_chains.push_back(parsed(caller(chains, place)));
  CHECK(parsed_chains[0].loops == "3");
  CHECK(parsed_chains[0].place == "10");
  CHECK(parsed_chains[1].place == "20");
  REQUIRE(parsed_chains[0].addresses.size() >= 3);
  CHECK(parsed_chains[0].addresses.front() ==
        parsed_chains[1].addresses.front());  // in caller()
  // Two calls from one function: its frame is the same, and so is all around it.
  CHECK(parsed_chains[0].addresses == parsed_chains[1].addresses);
  CHECK(parsed_chains[0].cfas == parsed_chains[1].cfas);
  for (std::size_t i = 1; i < parsed_chains[0].cfas.size(); ++i)
    CHECK(parsed_chains[0].cfas[i] > parsed_chains[0].cfas[i - 1]);
}

TEST_CASE("CallChains: cost - as many as the body has events, once for a loop") {
  CallChains chains;
  chains.arm(1, 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(chains.armed());
    event(chains, 7);
  }
  CHECK_FALSE(chains.armed());
  CHECK(chains.unwinds() == 3);
  chains.arm(1, 3);
  CHECK_FALSE(chains.armed());
  // Of a long body the first ones, then what is new.
  chains.arm(2, 100000);
  std::size_t texts = 0;
  for (int i = 0; i < 100000; ++i) texts += event(chains, 7 + i % 5 / 4).empty() ? 0 : 1;
  CHECK_FALSE(chains.armed());
  CHECK(chains.unwinds() == 3 + CallChains::kEach);
  CHECK(texts == 2);
  // Whatever comes, no more than so many.
  chains.arm(4, 1000000);
  for (int i = 0; i < 1000000; ++i) event(chains, static_cast<std::uint64_t>(i));
  CHECK(chains.unwinds() <= 3 + CallChains::kEach + CallChains::kMostOfLoop);
}

TEST_CASE("CallChains: places - each once, whatever their addresses") {
  constexpr unsigned kPlaces = 60;
  for (std::uint64_t base = 0x55d0c0de1000; base < 0x55d0c0e00000; base += 0x13000) {
    CallChains chains;
    chains.arm(1, 10 * kPlaces);
    for (std::uint64_t i = 0; i < 10 * kPlaces; ++i)
      event(chains, base + i % kPlaces * 0x75);
    CHECK(chains.unwinds() == kPlaces);
  }
}

TEST_CASE("CallChains: loops in each other - one text for both") {
  CallChains chains;
  chains.arm(1, 2);
  chains.arm(2, 4);
  CHECK(parsed(event(chains, 5)).loops == "1,2");
  CHECK(event(chains, 5).size() > 0);  // from another line
  CHECK(parsed(event(chains, 6)).loops == "2");
}

}  // namespace refrain::runtime::call_chains_test
