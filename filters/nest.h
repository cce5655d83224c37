// Nest: the structure of a stream, and its text:
//
//     init; 75 × [ setup; 25–40 × [ matvec; dot; axpy ]; norm ]; finish
//
// Place in the flow: after all else; for `refrain detect` and `refrain info`.
// Pure: names come from the caller. Thread-safety: none needed. Allocates.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace refrain::filters {

struct NestPiece {
  enum class Kind : std::uint8_t {
    kEvent,    // `id` is its symbol, `least` = `most` how often it came in a row
    kLoop,     // a visit: `id` is the loop, `least` … `most` its iterations
    kSkipped,  // `least` events and `most` visits of loops, not kept one by one
  };
  Kind kind = Kind::kEvent;
  std::uint64_t id = 0;
  std::uint64_t least = 1;
  std::uint64_t most = 1;
  bool operator==(const NestPiece&) const = default;
};

using NestRow = std::vector<NestPiece>;

struct Nest {
  NestRow run;                                // the whole stream
  std::map<std::uint64_t, NestRow> bodies{};  // by loop; missing: not known
};

struct NestTextLimits {
  // A straight row of more events than `events` is cut to its first and last ones, a row
  // with more inner loops than `loops` to those around its first and last ones.
  std::size_t events = 12;
  std::size_t loops = 12;
};

// The line. `name` gives the text of an event. A loop that occurs more than once is
// written out where it comes first, "10 × loop 3 [ a; b ]", and named later, "7 × loop 3".
std::string nest_text(const Nest& nest,
                      const std::function<std::string(std::uint64_t)>& name,
                      const NestTextLimits& limits = {});

// "a; b; 3 × c" of a row without loops, cut as above.
std::string event_row_text(const NestRow& row,
                           const std::function<std::string(std::uint64_t)>& name,
                           std::size_t most_events = NestTextLimits{}.events);

}  // namespace refrain::filters
