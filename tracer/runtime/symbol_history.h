// The latest symbols of the stream, by position: their places, and what the primary thread's counters
// were.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Loops are reported late, and their marks name events
// of the past; this is where the marks get places and counter values from.
// Thread-safety: none, the primary thread's. Units: positions, the number of symbols before.
// Cost: append() is two stores. Allocates when it is made and in keep_metrics().
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "periodicity/symbol.h"
#include "periodicity/zeroed_array.h"

namespace refrain::runtime {

class SymbolHistory {
 public:
  SymbolHistory() = default;
  // Keeps at least so many symbols.
  explicit SymbolHistory(std::size_t symbols)
      : places_(std::bit_ceil(symbols)), mask_(places_.size() - 1) {}

  // From now on so many counter values of each symbol are kept, too.
  void keep_metrics(unsigned count) {
    metrics_ = periodicity::ZeroedArray<std::uint64_t>(places_.size() * count);
    metric_count_ = count;
  }
  unsigned metric_count() const noexcept { return metric_count_; }

  // The counter values of the next symbol. Null: not known, the slot keeps what it had.
  void set_metrics(const std::uint64_t* values) noexcept {
    metrics_end_ = next_ + 1;
    if (values != nullptr)
      std::copy_n(values, metric_count_, &metrics_[(next_ & mask_) * metric_count_]);
  }
  void append(periodicity::Symbol place) noexcept { places_[next_++ & mask_] = place; }

  // Position of the next symbol.
  std::uint64_t next() const noexcept { return next_; }

  periodicity::Symbol place(std::uint64_t position) const noexcept {
    return places_[position & mask_];
  }
  // metric_count() values; null if the symbol at `position` has not come.
  const std::uint64_t* metrics(std::uint64_t position) const noexcept {
    return position < metrics_end_ ? &metrics_[(position & mask_) * metric_count_]
                                   : nullptr;
  }

 private:
  periodicity::ZeroedArray<periodicity::Symbol> places_;
  std::uint64_t mask_ = 0;
  std::uint64_t next_ = 0;
  unsigned metric_count_ = 0;
  periodicity::ZeroedArray<std::uint64_t> metrics_;
  std::uint64_t metrics_end_ = 0;  // position after the latest symbol that has values
};

}  // namespace refrain::runtime
