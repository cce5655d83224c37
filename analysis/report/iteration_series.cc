#include "analysis/report/iteration_series.h"

#include <algorithm>
#include <numeric>

namespace refrain::report {
namespace {

void unite(SeriesRow& to, const SeriesRow& next) {
  to.end_ns = next.end_ns;
  to.sum_ns += next.sum_ns;
  to.min_ns = std::min(to.min_ns, next.min_ns);
  to.max_ns = std::max(to.max_ns, next.max_ns);
  to.count += next.count;
  to.state = std::max(to.state, next.state);
  to.why |= next.why;
}

bool longer(const IterationSeries::Slow& a, const IterationSeries::Slow& b) {
  return a.ns != b.ns ? a.ns > b.ns : a.number < b.number;
}

}  // namespace

void IterationSeries::add(double number, double begin_ns, double end_ns,
                          IterationState state) {
  const double ns = end_ns - begin_ns;
  ++iterations_;
  const SeriesRow row{.first = number,
                      .begin_ns = begin_ns,
                      .end_ns = end_ns,
                      .sum_ns = ns,
                      .min_ns = ns,
                      .max_ns = ns,
                      .state = state};
  if (!rows_.empty() && rows_.back().count < per_) {
    unite(rows_.back(), row);
  } else {
    rows_.push_back(row);
    if (rows_.size() > most_) merge();
  }
  slowest_.push_back({number, begin_ns, ns});
  std::ranges::push_heap(slowest_, longer);
  if (slowest_.size() <= kSlowest) return;
  std::ranges::pop_heap(slowest_, longer);
  slowest_.pop_back();
}

void IterationSeries::merge() {
  per_ *= 2;
  std::size_t to = 0;
  for (std::size_t i = 0; i < rows_.size(); i += 2) {
    rows_[to] = rows_[i];
    if (i + 1 < rows_.size()) unite(rows_[to], rows_[i + 1]);
    ++to;
  }
  rows_.resize(to);
}

SeriesRow* IterationSeries::at(double ns) {
  auto found = std::ranges::upper_bound(rows_, ns, {}, &SeriesRow::begin_ns);
  if (found == rows_.begin()) return nullptr;
  --found;
  return ns <= found->end_ns ? &*found : nullptr;
}

SeriesRow* IterationSeries::before(const SeriesRow* row) {
  return row == nullptr || row == rows_.data()
             ? nullptr
             : &rows_[static_cast<std::size_t>(row - rows_.data() - 1)];
}

double IterationSeries::median_ns() const {
  if (rows_.empty()) return 0;
  std::vector<std::uint32_t> order(rows_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return rows_[i].mean_ns(); });
  std::uint64_t before = 0;
  for (const std::uint32_t i : order) {
    before += rows_[i].count;
    if (2 * before >= iterations_) return rows_[i].mean_ns();
  }
  return rows_[order.back()].mean_ns();
}

std::vector<IterationSeries::Slow> IterationSeries::slowest() const {
  std::vector<Slow> out = slowest_;
  std::ranges::sort(out, longer);
  return out;
}

}  // namespace refrain::report
