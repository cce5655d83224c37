#include "filters/nest.h"

#include <algorithm>
#include <span>

namespace refrain::filters {
namespace {

using Kind = NestPiece::Kind;
using Name = std::function<std::string(std::uint64_t)>;
using Pieces = std::span<const NestPiece>;

std::string counted(std::uint64_t number, const char* one, const char* more) {
  return std::to_string(number) + " " + (number == 1 ? one : more);
}

std::string skipped_text(std::uint64_t events, std::uint64_t loops) {
  std::string text = "… ";
  if (events != 0 || loops == 0) text += counted(events, "event", "events");
  if (events != 0 && loops != 0) text += ", ";
  if (loops != 0) text += counted(loops, "loop", "loops");
  return text + " …";
}

std::string trips_text(const NestPiece& loop) {
  std::string text = std::to_string(loop.least);
  if (loop.most != loop.least) text += "–" + std::to_string(loop.most);
  return text + " × ";
}

std::string event_text(const NestPiece& event, const Name& name) {
  // Twice in a row is easier to read written out; from three on it is a number.
  if (event.least == 2) return name(event.id) + "; " + name(event.id);
  return (event.least > 2 ? std::to_string(event.least) + " × " : "") + name(event.id);
}

std::uint64_t loops_in(const NestPiece& piece) {
  if (piece.kind == Kind::kLoop) return 1;
  return piece.kind == Kind::kSkipped ? piece.most : 0;
}

class Writer {
 public:
  Writer(const Nest& nest, const Name& name, const NestTextLimits& limits)
      : nest_(nest), name_(name), limits_(limits) {}

  std::string write() {
    row(nest_.run);
    std::string text;
    for (const Part& part : parts_) {
      if (part.label_of == nullptr || part.label_of->named) text += part.text;
    }
    return text;
  }

 private:
  struct Loop {
    bool named = false;  // occurs again, by its name
  };
  struct Part {
    std::string text;
    const Loop* label_of = nullptr;  // only shown if that loop is named later
  };

  void put(std::string text) { parts_.push_back({std::move(text), nullptr}); }

  void separate(bool& first) {
    if (!first) put("; ");
    first = false;
  }

  void row(Pieces pieces) {
    const auto loops = static_cast<std::size_t>(
        std::count_if(pieces.begin(), pieces.end(),
                      [](const NestPiece& piece) { return piece.kind == Kind::kLoop; }));
    bool first = true;
    if (loops <= limits_.loops) return straight_and_loops(pieces, first);
    // Too many loops in one row: those at its start and its end.
    const std::size_t head = end_of_loop(pieces, limits_.loops - limits_.loops / 3);
    const std::size_t tail = end_of_loop(pieces, loops - limits_.loops / 3);
    straight_and_loops(pieces.first(head), first);
    std::uint64_t events = 0;
    std::uint64_t visits = 0;
    for (const NestPiece& piece : pieces.subspan(head, tail - head)) {
      if (piece.kind != Kind::kLoop) events += piece.least;
      visits += loops_in(piece);
    }
    separate(first);
    put(skipped_text(events, visits));
    straight_and_loops(pieces.subspan(tail), first);
  }

  // The index after the loop with this number, from 1.
  static std::size_t end_of_loop(Pieces pieces, std::size_t number) {
    std::size_t index = 0;
    while (number != 0) number -= pieces[index++].kind == Kind::kLoop ? 1 : 0;
    return index;
  }

  void straight_and_loops(Pieces pieces, bool& first) {
    while (!pieces.empty()) {
      const auto next =
          std::find_if(pieces.begin(), pieces.end(),
                       [](const NestPiece& piece) { return piece.kind == Kind::kLoop; });
      const auto straight = static_cast<std::size_t>(next - pieces.begin());
      if (straight != 0) {
        separate(first);
        const NestRow events(pieces.begin(), next);
        put(event_row_text(events, name_, limits_.events));
      }
      if (straight == pieces.size()) return;
      separate(first);
      loop(*next);
      pieces = pieces.subspan(straight + 1);
    }
  }

  void loop(const NestPiece& visit) {
    const std::string label = "loop " + std::to_string(visit.id);
    const auto [at, is_new] = loops_.try_emplace(visit.id);
    put(trips_text(visit));
    if (!is_new) {
      at->second.named = true;
      return put(label);
    }
    parts_.push_back({label + " ", &at->second});
    put("[ ");
    const auto body = nest_.bodies.find(visit.id);
    if (body == nest_.bodies.end())
      put("…");
    else
      row(body->second);
    put(" ]");
  }

  const Nest& nest_;
  const Name& name_;
  const NestTextLimits& limits_;
  std::map<std::uint64_t, Loop> loops_;  // written out so far
  std::vector<Part> parts_;
};

}  // namespace

std::string event_row_text(const NestRow& row, const Name& name, std::size_t most_events) {
  // Pieces of several equal events count as one: their text is as short.
  const bool whole = row.size() <= most_events &&
                     std::none_of(row.begin(), row.end(), [](const NestPiece& piece) {
                       return piece.kind == Kind::kSkipped;
                     });
  const std::size_t head = whole ? row.size() : std::min(row.size(), (most_events + 1) / 2);
  const std::size_t tail = whole ? 0 : std::min(row.size() - head, most_events / 4);
  std::string text;
  std::uint64_t events = 0;
  std::uint64_t loops = 0;
  for (std::size_t index = 0; index != row.size(); ++index) {
    const NestPiece& piece = row[index];
    const bool shown = index < head || index >= row.size() - tail;
    if (!shown || piece.kind == Kind::kSkipped) {
      events += piece.least;
      loops += loops_in(piece);
      continue;
    }
    if (events + loops != 0)
      text += (text.empty() ? "" : "; ") + skipped_text(events, loops);
    events = loops = 0;
    text += (text.empty() ? "" : "; ") + event_text(piece, name);
  }
  if (events + loops != 0) text += (text.empty() ? "" : "; ") + skipped_text(events, loops);
  return text;
}

std::string nest_text(const Nest& nest, const Name& name, const NestTextLimits& limits) {
  return Writer(nest, name, limits).write();
}

}  // namespace refrain::filters
