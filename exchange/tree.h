// Merges the summaries of all processes of a job in a tree, and sends the result to all.
//
// Place in the flow: ARCHITECTURE.md, stage 5. The tree is binomial, with rank 0 at its
// root: rank r has children r + 1, r + 2, r + 4, ... below r + (lowest bit of r), so that
// each subtree is a row of ranks, [r, r + lowest bit), and is as deep as its size has bits.
// A summary S has
//     S merge(S a, const S& b)       associative; a's ranks come before b's
//     void put(ByteWriter&, const S&)
//     void take(ByteReader&, S&)     fails the reader on what put() cannot have written
// found where S is. A process that fails, or has no memory for the summaries of others,
// sends std::nullopt: then all get that, in the same step, and nobody waits.
// Thread-safety: as Exchange. Errors: std::nullopt, or what the Exchange throws.
// Cost: two messages a process; the longest path is as many merges and twice as many
// messages as the number of processes has bits. Memory: two summaries and a message at a
// time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "exchange/bytes.h"
#include "exchange/exchange.h"

namespace refrain::exchange {

// Ranks; needs no memory, so that a process without any can still take part.
class Children {
 public:
  const std::uint32_t* begin() const noexcept { return ranks_.data(); }
  const std::uint32_t* end() const noexcept { return ranks_.data() + count_; }
  bool empty() const noexcept { return count_ == 0; }
  std::uint32_t back() const noexcept { return ranks_[count_ - 1]; }
  void pop_back() noexcept { --count_; }
  void push_back(std::uint32_t rank) noexcept { ranks_[count_++] = rank; }

 private:
  std::array<std::uint32_t, 32> ranks_{};
  std::size_t count_ = 0;
};

struct TreePlace {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;

  // The first rank after this one's subtree.
  std::uint32_t end() const noexcept {
    const std::uint64_t bit = rank & (~rank + 1);
    return rank == 0
               ? size
               : static_cast<std::uint32_t>(std::min<std::uint64_t>(size, rank + bit));
  }
  std::uint32_t parent() const noexcept { return rank & (rank - 1); }
  // In order; each child's subtree ends where the next begins.
  Children children() const noexcept {
    Children out;
    for (std::uint64_t step = 1; rank + step < end(); step *= 2)
      out.push_back(static_cast<std::uint32_t>(rank + step));
    return out;
  }
};

inline TreePlace place_in(const Exchange& exchange) {
  return {exchange.rank(), exchange.size()};
}

// Merges neighbours until one is left, as the tree does; for those in one process.
template <typename Summary>
Summary merge_in_tree(std::vector<Summary> parts) {
  if (parts.empty()) return {};
  for (std::size_t step = 1; step < parts.size(); step *= 2)
    for (std::size_t i = 0; i + step < parts.size(); i += 2 * step) {
      parts[i] = merge(std::move(parts[i]), parts[i + step]);
      parts[i + step] = Summary{};
    }
  return std::move(parts.front());
}

template <typename Summary>
Bytes to_bytes(const std::optional<Summary>& summary) {
  ByteWriter out;
  out.number(summary ? 1 : 0);
  if (summary) put(out, *summary);
  return std::move(out).take();
}

// std::nullopt also if the bytes are damaged.
template <typename Summary>
std::optional<Summary> from_bytes(const Bytes& bytes) {
  ByteReader in(bytes);
  if (in.number_to(1) == 0) return std::nullopt;
  Summary summary;
  take(in, summary);
  if (!in.done()) return std::nullopt;
  return summary;
}

// std::nullopt also if the summary is too large for this process.
template <typename Summary>
void merge_bytes(std::optional<Summary>& own, const Bytes& bytes) {
  try {
    const auto part = from_bytes<Summary>(bytes);
    if (own && part) own = merge(std::move(*own), *part);
    if (!part) own.reset();
  } catch (const std::exception&) {
    own.reset();
  }
}

template <typename Summary>
Bytes bytes_to_send(const std::optional<Summary>& summary) {
  try {
    return to_bytes(summary);
  } catch (const std::exception&) {
    return {};  // also nullopt
  }
}

// First half: rank 0 gets the merged summary, others nothing.
template <typename Summary>
void gather_up(Exchange& exchange, std::optional<Summary>& own) {
  const TreePlace place = place_in(exchange);
  for (const std::uint32_t child : place.children())
    merge_bytes(own, exchange.receive(child));
  if (place.rank == 0) return;
  exchange.send(place.parent(), bytes_to_send(own));
  own.reset();
}

// Second half: all get what rank 0 has.
template <typename Summary>
void send_down(Exchange& exchange, std::optional<Summary>& all) {
  const TreePlace place = place_in(exchange);
  Children children = place.children();
  if (place.rank == 0 && children.empty()) return;
  const Bytes bytes =
      place.rank == 0 ? bytes_to_send(all) : exchange.receive(place.parent());
  for (; !children.empty(); children.pop_back()) exchange.send(children.back(), bytes);
  if (place.rank != 0) all = from_bytes<Summary>(bytes);
}

template <typename Summary>
std::optional<Summary> unite_all(Exchange& exchange, std::optional<Summary> own) {
  gather_up(exchange, own);
  send_down(exchange, own);
  return own;
}

// --- Rounds: all processes do the same ones, in the same order.

// A process failed, and all know it.
class RoundFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The summaries of all, to all.
template <typename Summary>
Summary agree(Exchange& exchange, Summary own) {
  auto all = unite_all(exchange, std::optional<Summary>(std::move(own)));
  if (!all) throw RoundFailed("another process could not do its part");
  return std::move(*all);
}

// For a round that only says that all have come this far.
struct Nothing {};
inline Nothing merge(Nothing a, const Nothing&) { return a; }
inline void put(ByteWriter&, const Nothing&) {}
inline void take(ByteReader&, Nothing&) {}

// Called by a process that failed since the last round: takes its part in the next round,
// whatever that is about, so that all learn of the failure.
inline void fail_round(Exchange& exchange) { unite_all<Nothing>(exchange, std::nullopt); }

}  // namespace refrain::exchange
