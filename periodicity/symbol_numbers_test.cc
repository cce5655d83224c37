#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "periodicity/nested/nested_detector.h"
#include "periodicity/symbol.h"
#include "test/support/loop_record.h"

namespace refrain::periodicity::symbol_numbers_test {
namespace {

// The parallel regions of an adaptive mesh, as addresses in a program that is loaded at
// `base`: new numbers of patches and levels every eighth step.
class Mesh {
 public:
  explicit Mesh(Symbol base) : base_(base) {
    std::mt19937 random(1);
    std::vector<int> patches = {6, 8, 10};
    std::size_t levels = 2;
    for (int step = 0; step < 400; ++step) {
      if (step % 8 == 7) {
        region(5);
        levels = 1 + random() % 3;
        for (int& count : patches) count = 5 + static_cast<int>(random() % 8);
      }
      region(4);
      advance(0, levels, patches);
    }
  }

  std::vector<Symbol> symbols;

 private:
  void region(Symbol number) {
    symbols.push_back(Symbol{3} << 56 | (base_ + 0x90 * number));
  }
  void advance(std::size_t level, std::size_t levels, const std::vector<int>& patches) {
    for (int patch = 0; patch < patches[level]; ++patch) {
      region(1);
      region(2);
    }
    region(3);
    for (int sub = 0; sub < 2 && level + 1 < levels; ++sub)
      advance(level + 1, levels, patches);
  }

  Symbol base_;
};

// What the nested detector reports of the symbols, in one text.
std::string reported(const std::vector<Symbol>& symbols, bool numbered) {
  SymbolNumbers numbers;
  NestedDetector detector;
  test::LoopRecord record;
  for (const Symbol symbol : symbols)
    detector.push(numbered ? numbers.number(symbol) : symbol, 0, record);
  detector.finish(record);
  std::string text;
  for (const LoopEvent& event : record.events)
    text += std::to_string(static_cast<int>(event.kind)) + " " +
            std::to_string(event.loop) + " " + std::to_string(event.position) + "\n";
  return text;
}

}  // namespace

TEST_CASE("SymbolNumbers: numbers - are given in the order of the stream") {
  SymbolNumbers numbers;
  CHECK(numbers.number(700) == 1);
  CHECK(numbers.number(5) == 2);
  CHECK(numbers.number(700) == 1);
  CHECK(numbers.number(0) == 3);
  CHECK(numbers.number(~Symbol{0}) == 4);
  CHECK(numbers.number(0) == 3);
}

TEST_CASE("SymbolNumbers: numbers - run out, and symbols stay different") {
  constexpr Symbol kFirst = Symbol{1} << 56;
  SymbolNumbers numbers;
  for (Symbol i = 0; i < SymbolNumbers::kMax; ++i)
    CHECK(numbers.number(kFirst + i) == i + 1);
  for (Symbol i = 0; i < 2 * SymbolNumbers::kMax; ++i)
    CHECK(numbers.number(kFirst + i) == (i < SymbolNumbers::kMax ? i + 1 : kFirst + i));
}

TEST_CASE("SymbolNumbers: loops - do not depend on where a program is loaded") {
  std::mt19937_64 random(11);
  const auto base = [&random] { return 0x550000000000 + (random() % (1 << 30) << 12); };
  const std::string wanted = reported(Mesh(base()).symbols, true);
  int differ = 0;
  for (int run = 0; run < 60; ++run) {
    const std::vector<Symbol> symbols = Mesh(base()).symbols;
    CHECK((reported(symbols, true) == wanted));
    differ += reported(symbols, false) != reported(Mesh(0x555555554000).symbols, false);
  }
  CHECK(differ > 0);  // else numbers are not needed
}

}  // namespace refrain::periodicity::symbol_numbers_test
