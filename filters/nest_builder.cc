#include "filters/nest_builder.h"

#include <algorithm>
#include <iterator>

namespace refrain::filters {

using periodicity::kNoLoop;
using periodicity::LoopEvent;
using periodicity::LoopEventKind;
using Kind = NestPiece::Kind;

namespace {

constexpr std::size_t kEdge = 16;       // of a straight row: events kept at either end
constexpr std::size_t kRowEdge = 1024;  // of the distant past: pieces kept at either end

// The first piece of the row that does not begin before `position`.
template <typename Row>
auto cut(Row& row, std::uint64_t position) {
  return std::lower_bound(
      row.begin(), row.end(), position,
      [](const auto& piece, std::uint64_t p) { return piece.position < p; });
}

void add_skipped(NestPiece& skipped, const NestPiece& piece) {
  if (piece.kind == Kind::kLoop) {
    ++skipped.most;
    return;
  }
  skipped.least += piece.least;
  if (piece.kind == Kind::kSkipped) skipped.most += piece.most;
}

constexpr NestPiece kNothingSkipped{.kind = Kind::kSkipped, .least = 0, .most = 0};

// Joins equal neighbours, and cuts long straight rows to their ends.
class Condenser {
 public:
  void add(const NestPiece& piece) {
    NestPiece* last = row_.empty() ? nullptr : &row_.back();
    if (piece.kind == Kind::kLoop) {
      end_straight();
      row_.push_back(piece);
    } else if (last != nullptr && last->kind == piece.kind && straight_ != 0 &&
               (piece.kind == Kind::kSkipped || last->id == piece.id)) {
      last->least += piece.least;
      last->most += piece.most;
    } else {
      row_.push_back(piece);
      if (++straight_ == 8 * kEdge) shorten();
    }
  }

  NestRow take() {
    end_straight();
    return std::move(row_);
  }

 private:
  void end_straight() {
    if (straight_ > 2 * kEdge + 1) shorten();
    straight_ = 0;
  }

  void shorten() {
    const auto end = row_.end();
    const auto begin = end - static_cast<std::ptrdiff_t>(straight_);
    const auto from = begin + kEdge;
    const auto to = end - kEdge;
    NestPiece skipped = kNothingSkipped;
    for (auto piece = from; piece != to; ++piece) add_skipped(skipped, *piece);
    *from = skipped;
    row_.erase(from + 1, to);
    straight_ = 2 * kEdge + 1;
  }

  NestRow row_;
  std::size_t straight_ = 0;  // pieces at the end that are no loops
};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

}  // namespace

NestBuilder::NestBuilder(std::uint64_t reach_events)
    : reach_(reach_events),
      crowded_(2 * reach_events + (std::size_t{1} << 16)),
      frames_(1) {}

void NestBuilder::append(periodicity::Symbol symbol) {
  Row& row = frames_.back().row;
  row.push_back({{.id = symbol}, position_++});
  if (row.size() >= crowded_) shorten(row);
}

void NestBuilder::on_loop_event(const LoopEvent& event) noexcept {
  if (event.kind == LoopEventKind::kFound) return open(event);
  if (event.level + 1u >= frames_.size()) return;
  if (event.kind == LoopEventKind::kIteration) return iterate(event);
  if (event.kind == LoopEventKind::kLeft) leave(event);
}

void NestBuilder::open(const LoopEvent& event) {
  NestLoop& loop = loops_[event.loop];
  if (loop.visits++ == 0) loop.first_event = event.position;
  loop.body_events = event.body_events;
  Row& around = frames_.back().row;
  Frame frame{.loop = event.loop, .first = event.position, .begin = event.position};
  const auto from = cut(around, event.position);
  frame.row.assign(from, around.end());
  around.erase(from, around.end());
  frames_.push_back(std::move(frame));
}

void NestBuilder::iterate(const LoopEvent& event) {
  Frame& frame = frames_[event.level + 1u];
  if (frame.any) complete(frame, event.position);
  frame.any = true;
  frame.begin = event.position;
  frame.number = event.iteration;
}

void NestBuilder::leave(const LoopEvent& event) {
  Frame frame = std::move(frames_[event.level + 1u]);
  frames_.resize(event.level + 1u);
  const bool whole = event.iteration > frame.number && frame.any;
  if (whole) complete(frame, event.position);
  loops_[event.loop].iterations += event.iteration;
  Row& around = frames_.back().row;
  if (event.iteration != 0) {
    around.push_back({{.kind = Kind::kLoop,
                       .id = event.loop,
                       .least = event.iteration,
                       .most = event.iteration},
                      frame.first});
  }
  around.insert(around.end(), frame.row.begin(), frame.row.end());
  if (around.size() >= crowded_) shorten(around);
}

// The pieces before `end` were an iteration.
void NestBuilder::complete(Frame& frame, std::uint64_t end) {
  const auto to = cut(frame.row, end);
  const auto size = static_cast<std::size_t>(to - frame.row.begin());
  vote(frame.row, size, frame.loop);
  see_body(frame.loop, frame.row, size);
  frame.row.erase(frame.row.begin(), to);
}

void NestBuilder::vote(const Row& row, std::size_t size, std::uint32_t parent) {
  for (std::size_t index = 0; index != size; ++index) {
    if (row[index].what.kind == Kind::kLoop) {
      ++details_[static_cast<std::uint32_t>(row[index].what.id)].parents[parent];
    }
  }
}

// Counts the row as an iteration of the loop. Of more than four courses that its iterations
// take, the frequent ones survive (Misra and Gries, 1982).
void NestBuilder::see_body(std::uint32_t loop, const Row& row, std::size_t size) {
  std::uint64_t hash = size;
  for (std::size_t index = 0; index != size; ++index) {
    hash =
        mixed(hash + static_cast<std::uint64_t>(row[index].what.kind), row[index].what.id);
  }
  auto& variants = details_[loop].variants;
  const auto known = std::find_if(variants.begin(), variants.end(), [hash](const auto& v) {
    return v.times != 0 && v.hash == hash;
  });
  if (known != variants.end()) {
    ++known->times;
    std::size_t index = 0;
    for (NestPiece& piece : known->body) {
      if (piece.kind != Kind::kLoop) continue;
      while (index + 1 < size && row[index].what.kind != Kind::kLoop) ++index;
      piece.least = std::min(piece.least, row[index].what.least);
      piece.most = std::max(piece.most, row[index++].what.most);
    }
    return;
  }
  const auto free = std::find_if(variants.begin(), variants.end(),
                                 [](const auto& v) { return v.times == 0; });
  if (free == variants.end()) {
    for (Variant& variant : variants) --variant.times;
    return;
  }
  Condenser condenser;
  for (std::size_t index = 0; index != size; ++index) condenser.add(row[index].what);
  *free = {hash, 1, condenser.take()};
}

// Drops the middle of what is further back than the reach: it can become part of a loop
// only together with all that follows in the row.
void NestBuilder::shorten(Row& row) {
  const auto to = cut(row, position_ - std::min(position_, reach_));
  if (to - row.begin() <= static_cast<std::ptrdiff_t>(2 * kRowEdge + 1)) return;
  const auto from = row.begin() + kRowEdge;
  const auto until = to - kRowEdge;
  NestPiece skipped = kNothingSkipped;
  for (auto piece = from; piece != until; ++piece) add_skipped(skipped, piece->what);
  vote(Row(from, until), static_cast<std::size_t>(until - from), frames_.back().loop);
  from->what = skipped;
  row.erase(from + 1, until);
}

void NestBuilder::finish() {
  const Row& row = frames_.front().row;
  vote(row, row.size(), kNoLoop);
  Condenser condenser;
  for (const Piece& piece : row) condenser.add(piece.what);
  run_ = condenser.take();
  find_levels();
}

void NestBuilder::find_levels() {
  for (auto& [number, loop] : loops_) {
    const auto& parents = details_[number].parents;
    const auto most =
        std::max_element(parents.begin(), parents.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != parents.end()) loop.parent = most->first;
  }
  for (auto& [number, loop] : loops_) {
    std::uint32_t around = loop.parent;
    while (around != kNoLoop && loop.level < loops_.size()) {
      ++loop.level;
      around = loops_[around].parent;
    }
  }
}

Nest NestBuilder::nest() const {
  Nest nest{.run = run_};
  for (const auto& [number, details] : details_) {
    // Of two equally frequent courses, the one with more loops.
    const auto most = std::max_element(
        details.variants.begin(), details.variants.end(),
        [](const Variant& a, const Variant& b) {
          return a.times != b.times ? a.times < b.times : a.body.size() > b.body.size();
        });
    if (most->times != 0) nest.bodies[number] = most->body;
  }
  return nest;
}

}  // namespace refrain::filters
