#include "tracer/sampler/rule_cache.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

using namespace refrain::sampler;

namespace {

constexpr std::uintptr_t kObject = 0x7f0000001000;

// Every field tells which address it was made for.
CompactRule rule_of(std::uintptr_t address) {
  CompactRule rule;
  rule.offset = static_cast<std::int32_t>(address);
  rule.base = static_cast<std::uint8_t>(address % 16);
  for (std::int8_t& saved : rule.saved) saved = static_cast<std::int8_t>(address % 100);
  return rule;
}

bool is_rule_of(std::uintptr_t address, const CompactRule& rule) {
  const CompactRule expected = rule_of(address);
  bool same = rule.offset == expected.offset && rule.base == expected.base;
  for (unsigned i = 0; i != sizeof rule.saved; ++i)
    same = same && rule.saved[i] == expected.saved[i];
  return same;
}

RegisterRule at_cfa(std::int64_t offset) { return {RuleKind::kAtCfa, offset}; }

}  // namespace

TEST_CASE("Rule cache: rules - found by address and object") {
  const auto cache = std::make_unique<RuleCache>();
  CompactRule rule;
  CHECK_FALSE(cache->find(0, 0, rule));
  CHECK_FALSE(cache->find(0x401000, kObject, rule));
  cache->keep(0x401000, kObject, rule_of(0x401000));
  REQUIRE(cache->find(0x401000, kObject, rule));
  CHECK(is_rule_of(0x401000, rule));
  CHECK_FALSE(cache->find(0x401001, kObject, rule));
  // Another library at the same place.
  CHECK_FALSE(cache->find(0x401000, kObject + 64, rule));
}

TEST_CASE("Rule cache: threads - no mixture of two rules is found") {
  const auto cache = std::make_unique<RuleCache>();
  // Many more addresses than entries: threads write the same entries all the time.
  constexpr std::uintptr_t kAddresses = 1 << 16;
  std::atomic<unsigned> mixed{0};
  std::atomic<unsigned> found{0};
  const auto work = [&](std::uintptr_t from) {
    for (std::uintptr_t i = 0; i != 4 * kAddresses; ++i) {
      const std::uintptr_t address = 1 + (from + i * 7919) % kAddresses;
      CompactRule rule;
      cache->keep(address, kObject, rule_of(address));
      for (const std::uintptr_t other : {address, address - 1 + (i & 1)})
        if (cache->find(other, kObject, rule)) {
          ++found;
          if (!is_rule_of(other, rule)) ++mixed;
        }
    }
  };
  std::vector<std::thread> threads;
  for (std::uintptr_t from : {1, 20000, 40000}) threads.emplace_back(work, from);
  for (std::thread& thread : threads) thread.join();
  CHECK(found > kAddresses);
  CHECK(mixed == 0);
}

TEST_CASE("Rule cache: compact rules - what fits into one, and what does not") {
  FrameRules rules;
  rules.cfa_offset = 48;
  rules.registers[kProgramCounter] = at_cfa(-8);
  rules.registers[kFramePointer] = at_cfa(-16);
  CompactRule compact;
  REQUIRE(make_compact(rules, compact));
  CHECK(compact.form == CompactRule::kFromCfa);
  CHECK(compact.base == kStackPointer);
  CHECK(compact.offset == 48);
  CHECK(compact.saved[0] == CompactRule::kNotSaved);
  CHECK(compact.saved[1] == -2);

  FrameRules far = rules;
  far.registers[kRbx] = at_cfa(-4096);
  CHECK_FALSE(make_compact(far, compact));
  FrameRules odd = rules;
  odd.registers[kRbx] = at_cfa(-20);
  CHECK_FALSE(make_compact(odd, compact));
  FrameRules more = rules;
  more.registers[10] = at_cfa(-24);
  CHECK_FALSE(make_compact(more, compact));
  FrameRules elsewhere = rules;
  elsewhere.registers[kProgramCounter] = at_cfa(-16);
  CHECK_FALSE(make_compact(elsewhere, compact));
  FrameRules signal = rules;
  signal.signal_frame = true;
  CHECK_FALSE(make_compact(signal, compact));

  FrameRules outermost = rules;
  outermost.registers[kProgramCounter] = {RuleKind::kUndefined, 0};
  REQUIRE(make_compact(outermost, compact));
  CHECK(compact.form == CompactRule::kOutermost);
}

TEST_CASE("Rule cache: compact rules - a function that aligned its stack") {
  // breg6 -8, deref; and where registers are saved: breg6 0, breg6 -16
  static const std::uint8_t kFrame[] = {3, 0x76, 0x78, 0x06};
  static const std::uint8_t kPointer[] = {2, 0x76, 0x00};
  static const std::uint8_t kSaved[] = {2, 0x76, 0x70};
  const auto at = [](const std::uint8_t* place) {
    return RegisterRule{RuleKind::kAtExpression, reinterpret_cast<std::int64_t>(place)};
  };
  FrameRules rules;
  rules.cfa_expression = kFrame;
  rules.registers[kProgramCounter] = at_cfa(-8);
  rules.registers[kFramePointer] = at(kPointer);
  rules.registers[12] = at(kSaved);
  CompactRule compact;
  REQUIRE(make_compact(rules, compact));
  CHECK(compact.form == CompactRule::kAlignedStack);
  CHECK(compact.base == kFramePointer);
  CHECK(compact.offset == -8);
  CHECK(compact.saved[1] == 0);
  CHECK(compact.saved[2] == -2);
}
