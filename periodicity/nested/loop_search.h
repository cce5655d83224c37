// LoopSearch: finds where a loop begins in the events that no open loop explains: a known one, or
// a run of a new one.
//
//     … x y (loop 5) z w (loop 5) z w    history: tokens, a visit of a loop is one
//           └───────────┘ start
//
// Place in the flow: inside NestedDetector. It owns the history and the bodies of all loops.
// - When the last tokens are the beginning of a known body, that is tried. What is read again
//   after an unsuccessful trial is not tried in the same way again.
// - When they repeat with some lag (TokenHistory says when that is believed), it is a new body.
// - What is between two visits of a known loop and begins like it is an iteration that took
//   another course (BodyStore::see_variant).
// Thread-safety: none. Cost: 20–40 ns a token, of TokenHistory and BodyStore; O(length of the
// body) when a loop is found. Allocates in the constructor only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "periodicity/nested/body_store.h"
#include "periodicity/nested/kept_events.h"
#include "periodicity/nested/open_loops.h"
#include "periodicity/nested/token_history.h"

namespace refrain::periodicity {

class LoopSearch {
 public:
  // `max_variant`: the longest variant that becomes a body, in tokens; 0: none does. `kept` is not
  // owned and outlives this.
  LoopSearch(const TokenHistory::Settings& history, const BodyStore::Settings& bodies,
             std::uint32_t max_variant, const KeptEvents& kept)
      : history_(history), bodies_(bodies), max_variant_(max_variant), kept_(kept) {}

  TokenHistory& history() noexcept { return history_; }
  const TokenHistory& history() const noexcept { return history_; }
  BodyStore& bodies() noexcept { return bodies_; }
  const BodyStore& bodies() const noexcept { return bodies_; }

  // The loop that begins at index `start` of the history and goes on up to its end.
  using Match = BodyStore::Found;
  // To be asked after each token appended to the history, with its position: a known loop, or
  // kNoBody.
  Match known(std::uint64_t position) noexcept {
    tried_.only = position < no_trial_before_;
    const Match known = bodies_.recognise(history_, tried_);
    if (known.body != kNoBody) look_for_variant(known.body, known.start);
    return known;
  }
  // The loop whose run the history has found with this lag; kNoBody: there is no room for it.
  Match of_run(std::uint32_t lag) noexcept;

  // Where the iteration before the one at `start` begins, if there is one whose inner loops
  // were not yet known when it was read, so that their events are there in a row; `start`
  // if not.
  std::uint64_t iteration_before(std::uint32_t body, std::uint64_t start) const noexcept;

  // The first event of an iteration of the body.
  std::uint64_t first_event(std::uint32_t body) const noexcept;

  // The outermost loop was left: its complete iterations ended at `end`, and the event at
  // `position` broke it. What is before that is read again.
  void note_left(const OpenLoop& loop, std::uint64_t end, std::uint64_t position) noexcept;

  // Empties the history; nothing counts as tried any longer.
  void restart() noexcept;

 private:
  void look_for_variant(std::uint32_t body, std::uint64_t start) noexcept;
  std::uint32_t items_before(std::uint64_t from, std::uint32_t lag) const noexcept;
  std::uint64_t rows_before(std::uint32_t body, std::uint64_t index) const noexcept;

  TokenHistory history_;
  BodyStore bodies_;
  std::uint32_t max_variant_;
  const KeptEvents& kept_;
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  std::uint64_t variant_end_ = kNowhere;  // up to where a variant was looked for
  // Tokens before that position are read again: of these only bodies that begin where the
  // broken iteration did, and have not been tried there, are tried.
  std::uint64_t no_trial_before_ = 0;
  BodyStore::Tried tried_;
};

}  // namespace refrain::periodicity
