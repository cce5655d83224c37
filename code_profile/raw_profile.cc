#include "code_profile/raw_profile.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "base/folder.h"

namespace refrain::code_profile {
namespace {

// Bump with kFormat in code_profile/counter/output.c.
constexpr std::uint64_t kFormat = 1;
// Numbers of things are those of their lines, or (loops) not much above.
constexpr std::uint64_t kMostLoops = 50'000'000;
constexpr std::size_t kDeepestNest = 1000;

class Reader {
 public:
  Reader(std::istream& in, const std::string& name) : in_(in), name_(name) {}

  RawProfile read() {
    next_line();
    if (word() != "refrain-loops") fail("it is not a file of loops");
    if (number() != kFormat) fail("the file is of another version of Refrain");
    while (!ended_) {
      next_line();
      line();
    }
    check();
    find_latches();
    leave_out_open_loops();
    return std::move(profile_);
  }

 private:
  // To read_raw_profile().
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(name_ + ":" + std::to_string(line_) + ": " + what);
  }

  void next_line() {
    ++line_;
    if (!std::getline(in_, text_)) fail("the file ends too early: the process was killed");
    rest_ = text_;
  }

  std::string_view word() {
    const std::size_t space = rest_.find(' ');
    const std::string_view found = rest_.substr(0, space);
    rest_ = space == std::string_view::npos ? std::string_view() : rest_.substr(space + 1);
    return found;
  }

  std::uint64_t number(int base = 10) {
    const std::string_view text = word();
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size() || text.empty())
      fail("a number is missing");
    return value;
  }

  std::uint32_t small(std::uint64_t limit = kNone) {
    const std::uint64_t value = number();
    if (value >= limit) fail("a number is too large");
    return static_cast<std::uint32_t>(value);
  }

  // -1 is none.
  std::uint32_t reference() {
    if (rest_.substr(0, 2) == "-1") {
      word();
      return kNone;
    }
    return small();
  }

  Counts counts() {
    Counts counts{};
    for (std::uint64_t& each : counts) each = number();
    return counts;
  }

  template <typename Item>
  Item& next_of(std::vector<Item>& items) {
    if (number() != items.size()) fail("lines are missing");
    return items.emplace_back();
  }

  template <typename Item>
  Item& one_of(std::vector<Item>& items) {
    const std::uint64_t at = number();
    if (at >= items.size()) fail("a line belongs to nothing");
    return items[at];
  }

  RawCalls calls() {
    RawCalls calls;
    calls.thread = small();
    calls.calls = number();
    calls.total = counts();
    return calls;
  }

  void line() {
    const std::string_view kind = word();
    if (kind == "end") {
      ended_ = true;
    } else if (kind == "process") {
      profile_.process = number();
      profile_.parent = number();
    } else if (kind == "command") {
      profile_.command = rest_;
    } else if (kind == "module") {
      module();
    } else if (kind == "function") {
      RawFunction& function = next_of(profile_.functions);
      function.address = number(16);
      function.module = small();
      function.recursive = number() != 0;
    } else if (kind == "called") {
      one_of(profile_.functions).called.push_back(calls());
    } else if (kind == "block") {
      block();
    } else if (kind == "call") {
      RawBlock& block = one_of(profile_.blocks);
      RawCallEdge edge;
      edge.function = small();
      edge.tail = number() != 0;
      edge.calls = calls();
      block.edges.push_back(edge);
    } else if (kind == "jump") {
      one_of(profile_.blocks).jumps.push_back(small());
    } else {
      loop_line(kind);
    }
  }

  void module() {
    RawModule& module = next_of(profile_.modules);
    module.start = number(16);
    module.end = number(16);
    module.offset = number(16);
    if (module.start >= module.end) fail("a module has no size");
    if (rest_ != "-") module.path = rest_;
  }

  void block() {
    RawBlock& block = next_of(profile_.blocks);
    block.address = number(16);
    block.bytes = small(1 << 16);
    block.module = small();
    block.function = reference();
    block.loop = reference();
    block.runs = number();
    block.of_one_run = counts();
  }

  void loop_line(std::string_view kind) {
    if (kind == "loop") {
      const std::uint64_t at = number();
      if (at < profile_.loops.size() || at > kMostLoops) fail("lines are missing");
      profile_.loops.resize(at + 1);
      RawLoop& loop = profile_.loops.back();
      loop.exists = true;
      loop.head = small();
      loop.parent = reference();
      loop.irreducible = number() != 0;
      loop.head_leaves = number() != 0;
    } else if (kind == "total") {
      RawLoopCounts& counted = one_of(profile_.loops).counts.emplace_back();
      counted.thread = small();
      counted.inherited = number();
      counted.total = counts();
    } else if (kind == "trips") {
      RawLoop& loop = one_of(profile_.loops);
      const std::uint32_t thread = small();
      if (loop.counts.empty() || loop.counts.back().thread != thread)
        fail("a line belongs to nothing");
      RawTrips& trips = loop.counts.back().trips.emplace_back();
      trips.exit = reference();
      trips.backs = number();
      trips.times = number();
    } else {
      fail("a line of no known kind");
    }
  }

  // What was written later than what refers to it.
  void check() const {
    const auto in = [](std::uint32_t at, std::size_t size) {
      return at == kNone || at < size;
    };
    const std::size_t modules = profile_.modules.size(), blocks = profile_.blocks.size(),
                      functions = profile_.functions.size(), loops = profile_.loops.size();
    for (const RawFunction& function : profile_.functions)
      if (function.module >= modules) fail("a function is in no module");
    for (const RawBlock& block : profile_.blocks) {
      if (block.module >= modules || !in(block.function, functions) ||
          !in(block.loop, loops))
        fail("a block is in no module, function or loop");
      if (block.loop != kNone && !profile_.loops[block.loop].exists)
        fail("a block is in a loop that is none");
      for (const RawCallEdge& edge : block.edges)
        if (edge.function >= functions) fail("a call has no function");
      for (const std::uint32_t jump : block.jumps)
        if (jump >= blocks) fail("a jump goes nowhere");
    }
    for (const RawLoop& loop : profile_.loops) {
      if (!loop.exists) continue;
      if (loop.head >= blocks || !in(loop.parent, loops)) fail("a loop has no head");
      for (const RawLoopCounts& counts : loop.counts)
        for (const RawTrips& trips : counts.trips)
          if (!in(trips.exit, blocks)) fail("a trip has no end");
      check_nest(loop);
    }
  }

  void check_nest(const RawLoop& loop) const {
    std::size_t depth = 0;
    for (const RawLoop* at = &loop; at->parent != kNone; ++depth) {
      if (at->parent >= profile_.loops.size() || depth > kDeepestNest)
        fail("a loop is in itself, or in too many");
      at = &profile_.loops[at->parent];
      if (!at->exists) fail("a loop is in none");
    }
  }

  void find_latches() {
    for (std::uint32_t i = 0; i < profile_.blocks.size(); ++i)
      for (const std::uint32_t to : profile_.blocks[i].jumps)
        for (std::uint32_t at = profile_.blocks[i].loop; at != kNone;
             at = profile_.loops[at].parent)
          if (profile_.loops[at].head == to) profile_.loops[at].latches.push_back(i);
  }

  // What only a call that never returned would have closed, as in the C library's code around main:
  // the tool takes it that calls return.
  bool is_open(const RawLoop& loop) const {
    for (const RawLoopCounts& counts : loop.counts) {
      if (counts.inherited != 0) return false;
      for (const RawTrips& trips : counts.trips)
        if (trips.backs != 0) return false;
    }
    return !loop.latches.empty() &&
           std::ranges::all_of(loop.latches, [&](std::uint32_t latch) {
             return std::ranges::any_of(profile_.blocks[latch].edges,
                                        [](const RawCallEdge& edge) { return !edge.tail; });
           });
  }

  void leave_out_open_loops() {
    std::vector<std::uint32_t> now(profile_.loops.size());
    for (std::uint32_t i = 0; i < now.size(); ++i) {
      now[i] = i;
      while (now[i] != kNone && is_open(profile_.loops[now[i]]))
        now[i] = profile_.loops[now[i]].parent;
    }
    for (RawBlock& block : profile_.blocks)
      if (block.loop != kNone) block.loop = now[block.loop];
    for (std::uint32_t i = 0; i < now.size(); ++i) {
      RawLoop& loop = profile_.loops[i];
      if (now[i] != i) loop = {};
      if (loop.exists && loop.parent != kNone) loop.parent = now[loop.parent];
    }
  }

  std::istream& in_;
  const std::string& name_;
  std::string text_;
  std::string_view rest_;
  std::size_t line_ = 0;
  bool ended_ = false;
  RawProfile profile_;
};

}  // namespace

base::Result<RawProfile> read_raw_profile(std::istream& in, const std::string& name) {
  try {
    return Reader(in, name).read();
  } catch (const std::exception& problem) {
    return base::Failure{problem.what()};
  }
}

base::Result<RawProfile> read_raw_profile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !base::is_regular_file(path))
    return base::Failure{path + ": is not a regular file"};
  std::ifstream in(path, std::ios::binary);
  if (!in) return base::Failure{path + ": cannot be read"};
  return read_raw_profile(in, path);
}

}  // namespace refrain::code_profile
