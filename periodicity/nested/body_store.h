// BodyStore: the loop bodies that the nested detector knows, and how it recognises them.
//
// Place in the flow: inside LoopSearch. A body is a row of items: an event, or another loop
// with any number of iterations.
// Thread-safety: none. Cost: O(length) to add, O(1) to recognise; allocates in the
// constructor only. When items or bodies run out, everything must be forgotten (clear(),
// O(1)): this is rare and bounded, and the loops that go on are found again.
#pragma once

#include <array>
#include <cstdint>

#include "periodicity/loop_detector.h"
#include "periodicity/nested/token.h"
#include "periodicity/nested/token_history.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

// Where in a body without inner loops a part of it begins, repeats, or ends. A part is a
// row of events that comes twice or more in succession: a loop of few iterations, the same
// number each time.
struct PartMark {
  std::uint32_t item = 0;  // before which it is reported; the body's size: at its end
  std::uint32_t body = 0;  // of the part
  std::uint32_t iteration = 0;
  LoopEventKind kind = LoopEventKind::kFound;
  std::uint8_t level = 0;  // parts have parts
};

struct Body {
  std::uint32_t first_item = 0;
  std::uint32_t size = 0;
  std::uint32_t loop = 0;    // its number, never used twice
  std::uint32_t visits = 0;  // so far reported
  std::uint32_t events = 0;  // of the iteration in which it was found
  std::uint64_t hash = 0;    // of the minimal rotation
  std::uint32_t least = 0;   // where in the body the minimal rotation begins
  std::uint16_t depth = 0;   // the least
  bool ambiguous = false;    // others begin alike
  bool part = false;         // so far known as a part of other bodies only
  std::uint32_t first_mark = 0;
  std::uint32_t marks = 0;
  bool obsolete = false;  // contains the events of a loop that became known later
  // The body known before with the same slot, by length of the key.
  std::array<std::uint32_t, 4> older{kNoBody, kNoBody, kNoBody, kNoBody};
};

class BodyStore {
 public:
  struct Settings {
    std::uint32_t bodies;
    std::uint32_t items;
    std::uint32_t enough_bits;  // in bits: evidence to recognise a body
  };

  explicit BodyStore(Settings settings);

  const Body& operator[](std::uint32_t body) const noexcept { return bodies_[body]; }
  const Item* items(std::uint32_t body) const noexcept {
    return &items_[bodies_[body].first_item];
  }
  // In the order in which they are to be reported.
  const PartMark* marks(std::uint32_t body) const noexcept {
    return &marks_[bodies_[body].first_mark];
  }
  static constexpr std::uint32_t kPartLevels = 4;
  static constexpr std::uint32_t kMaxMarks = 256;  // of a body

  std::uint32_t count_visit(std::uint32_t body) noexcept { return bodies_[body].visits++; }

  // Which body the run of `tokens` is that begins at `from` with this lag, and where an
  // iteration begins: of a known body where it began before, of a new one at its first token
  // of minimum depth. kNoBody if there is no room.
  struct Found {
    std::uint32_t body;
    std::uint64_t start;
  };
  Found find_or_add(const TokenHistory& tokens, std::uint64_t from, std::uint32_t lag);

  // The tokens [from, to) are between a visit of a loop and the next one of that loop or
  // one that begins alike, and begin like these: an iteration that took another course.
  // Seen a second time, it becomes a body.
  void see_variant(const TokenHistory& tokens, std::uint64_t from, std::uint64_t to);

  // The body that begins with the last tokens, from `start` on; of several, the one that
  // became known last. What has been tried at the position `at` is excluded: the
  // loop `running` there, and, since bodies are tried in this order, `body` and later ones.
  struct Tried {
    std::uint64_t at = ~std::uint64_t{0};
    std::uint32_t body = kNoBody;
    std::uint32_t running = kNoBody;
    bool only = false;  // only bodies that begin there are asked for
  };
  using Recognised = Found;
  Recognised recognise(const TokenHistory& tokens, const Tried& tried) const noexcept {
    if (key_sizes_in_use_ == 0) return {kNoBody, 0};
    return recognise_known(tokens, tried);
  }

  std::uint32_t size() const noexcept { return body_count_; }
  void set_events(std::uint32_t body, std::uint64_t events) noexcept {
    bodies_[body].events = static_cast<std::uint32_t>(events);
  }
  // It will not be recognised any more.
  void outdate(std::uint32_t body) noexcept { bodies_[body].obsolete = true; }

  // The number of the next loop; take_loop() uses it for a loop that has no body here.
  std::uint32_t next_loop() const noexcept { return next_loop_; }
  void take_loop() noexcept { ++next_loop_; }

  // Returns true if the body is not the only one that begins like this.
  bool ambiguous(std::uint32_t body) const noexcept { return bodies_[body].ambiguous; }

  void clear() noexcept;

 private:
  static constexpr std::array<std::uint32_t, 4> kKeySizes{3, 6, 12, 24};
  static constexpr int kMaxAlike = 16;  // bodies tried with one key

  Recognised recognise_known(const TokenHistory& tokens, const Tried& tried) const noexcept;
  bool begins_like(std::uint32_t body, const TokenHistory& tokens, std::uint64_t start,
                   std::uint32_t size) const noexcept;
  std::uint32_t find(std::uint64_t hash, std::uint32_t size) const noexcept;
  struct Form {           // what does not depend on where an iteration is said to begin
    std::uint64_t hash;   // of the minimal rotation
    std::uint32_t least;  // where that begins
  };
  Form form_of(const TokenHistory& tokens, std::uint64_t from, std::uint32_t size);
  Form form_of_scratch(std::uint32_t size) noexcept;
  std::uint32_t add(const TokenHistory& tokens, std::uint64_t start, std::uint32_t size,
                    Form form);
  std::uint32_t add_body(std::uint32_t size, Form form) noexcept;
  void find_parts(std::uint32_t body) noexcept;
  void parts_between(std::uint32_t from, std::uint32_t to, std::uint8_t level) noexcept;
  struct Repeat {
    std::uint32_t lag = 0;
    std::uint32_t end = 0;
  };
  Repeat repeat_at(std::uint32_t from, std::uint32_t to) noexcept;
  void add_part(std::uint32_t from, Repeat repeat, std::uint8_t level) noexcept;
  Found part_of(std::uint32_t from, std::uint32_t size) noexcept;
  bool mark_part(PartMark mark) noexcept;
  void outdate_bodies_with(std::uint32_t inner) noexcept;
  void add_keys(std::uint32_t body, std::uint32_t bits_per_token);
  std::uint64_t slot_of(std::uint64_t hash) const noexcept { return mix(hash) >> shift_; }

  struct Slot {
    std::uint32_t body = 0;
    std::uint32_t epoch = 0;  // valid if the store's own
  };

  // Elements are set before they are read: untouched ones cost nothing.
  ZeroedArray<Body> bodies_;
  ZeroedArray<Item> items_;
  ZeroedArray<Symbol> scratch_;
  std::uint32_t body_count_ = 0;
  std::uint32_t item_count_ = 0;
  std::uint32_t next_loop_ = 0;
  std::uint32_t enough_bits_;
  struct Variant {
    std::uint64_t hash = 0;
    std::uint64_t first_end = 0;  // index of the history where it ended first
  };
  std::array<Variant, 256> variants_{};
  ZeroedArray<Slot> by_hash_;  // open addressing; no AppendOnlyMap, for it is cleared
  ZeroedArray<Slot> by_key_;   // direct: the latest body; older ones are chained
  int shift_;
  std::uint32_t epoch_ = 1;
  ZeroedArray<PartMark> marks_;
  std::uint32_t mark_count_ = 0;
  std::uint32_t most_marks_ = 0;  // with those of this body
  // While parts are looked for: item of the body from which the same event comes next, and
  // how much more may be done.
  ZeroedArray<std::uint32_t> next_same_;
  std::array<std::uint32_t, 1024> last_same_{};
  const Item* whole_ = nullptr;
  std::uint32_t effort_ = 0;
  std::uint32_t key_sizes_in_use_ = 0;  // bit per entry of kKeySizes
};

}  // namespace refrain::periodicity
