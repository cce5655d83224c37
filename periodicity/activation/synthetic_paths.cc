#include "periodicity/activation/synthetic_paths.h"

#include <algorithm>

namespace refrain::periodicity::testing {

namespace {

constexpr std::uint64_t kMaxTurns = 20'000;  // where nothing is an event

}  // namespace

SyntheticProgram::SyntheticProgram(std::uint64_t seed, Shape shape)
    : random_(seed), shape_(shape) {
  // A function calls those after it only.
  for (std::size_t i = 0; i != shape.functions; ++i)
    functions_.push_back(block(i, 0, true));
  for (std::size_t i = 0; i != shape.functions; ++i)
    place(i, functions_[i], {.function = i + 1, .loops = {}, .steps = {}, .in_loop = {}},
          0);
}

std::vector<Statement> SyntheticProgram::block(std::size_t function, unsigned depth,
                                               bool first) {
  using Kind = Statement::Kind;
  std::vector<Statement> made;
  const auto leaf = [&](Kind kind) {
    Statement statement{.kind = kind, .place = next_place_++, .blocks = {}};
    if (kind != Kind::kEvent)
      statement.callee =
          function + 1 + any(shape_.functions - static_cast<unsigned>(function) - 1);
    made.push_back(std::move(statement));
  };
  if (first && shape_.events_first) leaf(Kind::kEvent);
  const unsigned count = 1 + any(4);
  for (unsigned i = 0; i != count; ++i) {
    const bool calls = function + 1 < shape_.functions;
    const unsigned kind = any(depth < shape_.depth ? 10 : 4);
    if (kind < 2) {
      leaf(Kind::kEvent);
    } else if (kind < 4) {
      leaf(!calls ? Kind::kEvent : any(3) == 0 ? Kind::kRegion : Kind::kCall);
    } else if (kind < 8) {
      Statement loop{.kind = Kind::kLoop,
                     .place = next_place_++,
                     .trips = any(shape_.trips),
                     .blocks = {}};
      loop.blocks.push_back(block(function, depth + 1, true));
      made.push_back(std::move(loop));
    } else {
      Statement branch{.kind = Kind::kBranch, .blocks = {}};
      const unsigned ways = 2 + any(2);
      for (unsigned way = 0; way != ways; ++way)
        branch.blocks.push_back(block(function, depth + 1, false));
      made.push_back(std::move(branch));
    }
  }
  return made;
}

void SyntheticProgram::place(std::size_t function, const std::vector<Statement>& block,
                             Where where, unsigned index) {
  where.steps.emplace_back(index, 0);
  where.in_loop.push_back(false);
  for (unsigned i = 0; i != block.size(); ++i) {
    const Statement& statement = block[i];
    where.steps.back().second = i;
    where.in_loop.back() = statement.kind == Statement::Kind::kLoop;
    if (statement.blocks.empty()) places_[statement.place] = where;
    Where inside = where;
    if (statement.kind == Statement::Kind::kLoop) inside.loops.push_back(statement.place);
    for (unsigned way = 0; way != statement.blocks.size(); ++way)
      place(function, statement.blocks[way], inside, way);
  }
}

// Both ways down from the function's begin are the same for a while. Then one statement comes after the other, or they lie in
// different ways of a branch.
bool SyntheticProgram::forward(Place from, Place to) noexcept {
  const Where& a = places_[from];
  const Where& b = places_[to];
  std::size_t i = 0;
  while (i != a.steps.size() && i != b.steps.size() && a.steps[i] == b.steps[i]) ++i;
  if (i == a.steps.size() || i == b.steps.size()) return false;
  return a.steps[i].first == b.steps[i].first && a.steps[i].second < b.steps[i].second;
}

std::span<const PathFrame> SyntheticProgram::frames(std::uint32_t path) noexcept {
  return frames_[path];
}

void SyntheticProgram::run(std::uint64_t most,
                           const std::function<void(std::uint32_t)>& event) {
  left_ = most;
  event_ = event;
  execute(0, functions_[0]);
}

void SyntheticProgram::event(Place call) {
  if (left_ == 0) return;
  --left_;
  std::vector<std::uint64_t> around;
  for (std::size_t i = 0; i != around_.size(); ++i) {
    around.push_back(around_[i]);
    if (!running_[i].silent) continue;
    running_[i].silent = false;
    ++counts_[around];
    if (++running_[i].iterations == 2) came_round_[around] = true;
  }
  std::vector<PathFrame> frames = stack_;
  frames.push_back({call, stack_.size()});
  std::vector<std::pair<Place, std::uint64_t>> key;
  for (const PathFrame& frame : frames) key.emplace_back(frame.place, frame.base);
  const auto [at, is_new] =
      paths_.try_emplace(std::move(key), static_cast<std::uint32_t>(frames_.size()));
  if (is_new) frames_.push_back(std::move(frames));
  event_(at->second);
}

void SyntheticProgram::execute(std::size_t function, const std::vector<Statement>& block,
                               std::size_t steps_at) {
  using Kind = Statement::Kind;
  for (const Statement& statement : block) {
    if (left_ == 0) return;
    if (static_cast<std::size_t>(&statement - block.data()) == steps_at) {
      ++running_.back().counter;
      running_.back().late = true;
    }
    switch (statement.kind) {
      case Kind::kEvent:
        event(statement.place);
        break;
      case Kind::kRegion:
        event(statement.place);
        [[fallthrough]];
      case Kind::kCall:
        stack_.push_back({statement.place, stack_.size()});
        execute(statement.callee, functions_[statement.callee]);
        stack_.pop_back();
        break;
      case Kind::kBranch:
        execute(function,
                statement.blocks[any(static_cast<unsigned>(statement.blocks.size()))]);
        break;
      case Kind::kLoop: {
        const unsigned trips = 1 + any(statement.trips + 1);
        const std::uint64_t first = statement.place % 2 == 0 ? turns_ : 0;
        around_.push_back(statement.place);
        running_.push_back({.counter = first});
        for (unsigned trip = 0; trip != trips && left_ != 0; ++trip) {
          if (++turns_ == kMaxTurns) left_ = 0;
          running_.back().counter = first + trip;
          running_.back().silent = true;
          running_.back().late = false;
          const bool midst = shape_.midst && statement.place % 3 != 0;
          execute(function, statement.blocks[0], midst ? 1 : ~std::size_t{0});
        }
        around_.pop_back();
        running_.pop_back();
      }
    }
  }
}

// Not on all paths, where not all loops have one.
std::span<const CarriedWord> SyntheticProgram::carried(std::uint32_t path) noexcept {
  carried_.clear();
  for (std::size_t i = 0; i != std::min<std::size_t>(around_.size(), kMaxCarried); ++i) {
    const std::uint64_t chance = around_[i] * 7919 % 100;
    if (chance >= shape_.carrying) continue;
    if (shape_.carrying < 100 && (path + around_[i]) % 5 == 0) continue;
    carried_.push_back({reinterpret_cast<std::uint64_t>(&running_[i].counter), 0xffffffff,
                        i + (running_[i].late ? kMaxCarried : 0)});
  }
  return carried_;
}

LoopCounts SyntheticProgram::counts() const {
  LoopCounts counts;
  for (const auto& [headers, count] : counts_)
    if (came_round_.contains(headers)) counts[headers] = count;
  return counts;
}

}  // namespace refrain::periodicity::testing
