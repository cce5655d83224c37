// Runs a fuzz target on its kept inputs and on random changes of them: the part of
// tools/check fuzz in tools/test. An error aborts the program.
//
// REFRAIN_TEST_FUZZ: the target.
// REFRAIN_TEST_CORPUS: their pack, among the test's data files.
// REFRAIN_TEST_SEEDS: how many random changes, the same ones each time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>
#include <vector>

#include "test/fuzz/fuzz.h"
#include "test/fuzz/pack.h"
#include "test/support/files.h"

namespace refrain {
namespace {

std::vector<std::string> corpus() {
  const char* pack = std::getenv("REFRAIN_TEST_CORPUS");
  REQUIRE(pack != nullptr);
  return fuzz::read_pack(test::read_file(test::data_file(pack)));
}

const fuzz::Target& target() {
  const char* name = std::getenv("REFRAIN_TEST_FUZZ");
  REQUIRE(name != nullptr);
  const fuzz::Target* const end = fuzz::kTargets + fuzz::kTargetCount;
  const fuzz::Target* const found = std::find_if(
      fuzz::kTargets, end, [&](const fuzz::Target& each) { return each.name == name; });
  REQUIRE(found != end);
  return *found;
}

void run(const fuzz::Target& target, const std::string& input) {
  target.run(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::string changed(std::string input, const std::vector<std::string>& all,
                    std::mt19937_64& random) {
  const auto below = [&](std::size_t n) {
    return static_cast<std::size_t>(random()) % std::max<std::size_t>(n, 1);
  };
  for (std::size_t i = 1 + below(4); i > 0; --i) {
    const std::size_t at = below(input.size());
    switch (below(5)) {
      case 0:
        if (!input.empty()) input[at] = static_cast<char>(input[at] ^ 1 << below(8));
        break;
      case 1:
        if (!input.empty()) input[at] = static_cast<char>(random());
        break;
      case 2:
        input.erase(at, 1 + below(30));
        break;
      case 3:
        input.insert(at, input.substr(below(input.size()), below(60)));
        break;
      default: {
        const std::string& other = all[below(all.size())];
        input = input.substr(0, at) + other.substr(std::min(at, other.size()));
      }
    }
  }
  return input;
}

}  // namespace

TEST_CASE("Fuzz: kept inputs, and random changes of them") {
  const std::vector<std::string> inputs = corpus();
  REQUIRE(inputs.size() >= 3);
  const fuzz::Target& wanted_target = target();
  for (const std::string& input : inputs) run(wanted_target, input);
  std::mt19937_64 random{1};
  const char* wanted = std::getenv("REFRAIN_TEST_SEEDS");
  REQUIRE(wanted != nullptr);
  const std::size_t made = std::strtoul(wanted, nullptr, 10);
  for (std::size_t i = 0; i < made; ++i)
    run(wanted_target, changed(inputs[i % inputs.size()], inputs, random));
  SUCCEED("inputs kept: " << inputs.size() << ", made: " << made);
}

}  // namespace refrain
