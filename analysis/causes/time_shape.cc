#include "analysis/causes/time_shape.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

namespace refrain::analysis {
namespace {

constexpr std::size_t kMin = 8;         // below that nothing is said of when
constexpr std::size_t kMaxTrend = 512;  // values of which a trend is asked
constexpr double kChance = 0.01;
constexpr double kMuch = 0.25;  // of the larger amount, that a change or trend must be
constexpr double kStill =
    0.25;  // of the larger amount: what has as much has the cause, too
constexpr double kLeftOver =
    0.6;  // of the deviations from one level, that a change or trend may leave

double deviation(const std::vector<double>& values, double from) {
  double sum = 0;
  for (const double value : values) sum += std::abs(value - from);
  return sum;
}

double mean(std::span<const Amount> amounts) {
  double sum = 0, count = 0;
  for (const Amount& amount : amounts) {
    sum += amount.each * static_cast<double>(amount.count);
    count += static_cast<double>(amount.count);
  }
  return count > 0 ? sum / count : 0;
}

std::vector<double> values_of(std::span<const Amount> amounts) {
  std::vector<double> values;
  values.reserve(amounts.size());
  for (const Amount& amount : amounts) values.push_back(amount.each);
  return values;
}

// Values that are not smaller have half of the sum.
double half_of_all(std::vector<double> values) {
  std::ranges::sort(values, std::greater());
  double all = 0, sum = 0;
  for (const double value : values) all += std::max(0.0, value);
  for (const double value : values) {
    sum += std::max(0.0, value);
    if (2 * sum >= all) return value;
  }
  return 0;
}

// Where most of these are in a row, with few others among them: the first one and the last one; none: nowhere.
std::optional<std::pair<std::size_t, std::size_t>> in_a_row(
    const std::vector<std::size_t>& found, std::size_t all) {
  if (found.size() <= 3) return {};
  std::vector<bool> is(all);
  for (const std::size_t i : found) is[i] = true;
  // The part in which they are most more than the others.
  std::ptrdiff_t sum = 0, most = 0;
  std::size_t begin = 0, first = 0, last = 0;
  for (std::size_t i = 0; i < all; ++i) {
    if (sum < 0) {
      begin = i;
      sum = 0;
    }
    sum += is[i] ? 1 : -1;
    if (sum <= most) continue;
    most = sum;
    first = begin;
    last = i;
  }
  const auto inside = static_cast<std::size_t>(
      std::count(is.begin() + static_cast<std::ptrdiff_t>(first),
                 is.begin() + static_cast<std::ptrdiff_t>(last) + 1, true));
  if (10 * inside < 8 * found.size() || 10 * inside < 8 * (last - first + 1)) return {};
  return std::pair{first, last};
}

// A few values at an end are no level.
std::size_t fewest(std::size_t all) { return std::max<std::size_t>(3, all / 50); }

// They are a level that changes once, rather.
bool is_at_an_end(const std::vector<std::size_t>& found, std::size_t all) {
  const auto row = in_a_row(found, all);
  return row && (row->first < fewest(all) || row->second + fewest(all) >= all);
}

// They are at equal distances, mostly.
struct Period {
  std::uint64_t step = 0;  // 0: they are not
  double equal = 0;        // so many of the distances
};
Period period_of(std::span<const Amount> amounts, const std::vector<std::size_t>& found) {
  constexpr double kMostly = 0.8;
  if (found.size() < 3) return {};
  std::vector<double> steps;
  for (const std::size_t i : found)
    if (amounts[i].count != 1) return {};
  steps.reserve(found.size());
  for (std::size_t i = 1; i < found.size(); ++i)
    steps.push_back(
        static_cast<double>(amounts[found[i]].first - amounts[found[i - 1]].first));
  const double step = median_of(steps);
  const double equal = static_cast<double>(std::ranges::count(steps, step)) /
                       static_cast<double>(steps.size());
  if (step < 2 || equal < kMostly) return {};
  return {static_cast<std::uint64_t>(step), equal};
}

// Those that have nearly all of it, and half as much each as those that have half of it, or more: what is beside them is chance.
std::vector<std::size_t> largest(std::span<const Amount> amounts,
                                 const std::vector<std::size_t>& found) {
  constexpr double kNearlyAll = 0.8;
  std::vector<double> values;
  double all = 0, in = 0;
  for (const std::size_t i : found) {
    values.push_back(amounts[i].each);
    all += std::max(0.0, amounts[i].each);
  }
  const double limit = half_of_all(values) / 2;
  std::vector<std::size_t> out;
  for (const std::size_t i : found) {
    if (amounts[i].each < limit) continue;
    out.push_back(i);
    in += std::max(0.0, amounts[i].each);
  }
  return in >= kNearlyAll * all ? out : found;
}

// These iterations have it; or the largest of them, where these come at equal distances rather than all.
TimeShape shape_of_some(std::span<const Amount> amounts, std::vector<std::size_t> found) {
  Period period = period_of(amounts, found);
  std::vector<std::size_t> most = largest(amounts, found);
  if (const Period of_most = period_of(amounts, most); of_most.equal > period.equal) {
    period = of_most;
    found = std::move(most);
  }
  TimeShape shape{.kind = TimeShape::Kind::kSome, .from = amounts[found.front()].first};
  double sum = 0;
  const auto add = [&](std::size_t i) {
    shape.number += amounts[i].count;
    sum += amounts[i].each * static_cast<double>(amounts[i].count);
  };
  shape.period = period.step;
  const auto row = in_a_row(found, amounts.size());
  if (shape.period != 0) {
    shape.kind = TimeShape::Kind::kEvery;
  } else if (row) {
    shape.kind = TimeShape::Kind::kBetween;
    shape.from = amounts[row->first].first;
    shape.until = amounts[row->second].first + amounts[row->second].count;
    for (std::size_t i = row->first; i <= row->second; ++i) add(i);
  }
  if (!row || shape.period != 0)
    for (const std::size_t i : found) add(i);
  shape.after = sum / static_cast<double>(std::max<std::uint64_t>(1, shape.number));
  return shape;
}

// The smaller amounts are of the same cause: three of four are no chance next to the larger ones. Then it does not end with
// these.
bool goes_on(std::vector<double> smaller, double larger) {
  if (smaller.empty()) return false;
  const auto quarter = smaller.begin() + static_cast<std::ptrdiff_t>(smaller.size() / 4);
  std::ranges::nth_element(smaller, quarter);
  return *quarter >= kStill * larger;
}

// Those above a limit, if they have most of it all, and the others nothing of it; none: they do not.
std::vector<std::size_t> most_above(std::span<const Amount> amounts, double limit) {
  double all = 0, in = 0;
  std::vector<std::size_t> found;
  std::vector<double> above, below;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const double time =
        std::max(0.0, amounts[i].each) * static_cast<double>(amounts[i].count);
    all += time;
    (amounts[i].each > limit ? above : below).push_back(amounts[i].each);
    if (amounts[i].each <= limit) continue;
    in += time;
    found.push_back(i);
  }
  if (in < 0.6 * all || goes_on(std::move(below), median_of(std::move(above))))
    found.clear();
  return found;
}

// Few iterations that have most of it.
bool some(std::span<const Amount> amounts, TimeShape& shape) {
  const std::vector<double> values = values_of(amounts);
  const double middle = median_of(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  // 3.5 deviations, of which the MAD is 0.6745; and not what is small next to those that have half of it all.
  const double limit = middle + std::max(3.5 * median_of(distances) / 0.6745,
                                         0.25 * (half_of_all(values) - middle));
  const std::vector<std::size_t> found = most_above(amounts, limit);
  if (found.empty() || 10 * found.size() > 3 * amounts.size() ||
      is_at_an_end(found, amounts.size()))
    return false;
  shape = shape_of_some(amounts, found);
  shape.before = middle;
  return true;
}

// Two levels, in any order, that leave no more than this, in absolute deviations.
bool levels(std::span<const Amount> amounts, double most, TimeShape& shape) {
  const std::vector<double> values = values_of(amounts);
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  double all = 0;
  for (const double value : sorted) all += value;
  double sum = 0, best = -1;
  std::size_t at = 0;  // how many are low
  const auto n = static_cast<double>(sorted.size());
  for (std::size_t k = 1; k < sorted.size(); ++k) {
    sum += sorted[k - 1];
    const auto low = static_cast<double>(k);
    const double distance = sum / low - (all - sum) / (n - low);
    const double between = low * (n - low) * distance * distance;
    if (between <= best) continue;
    best = between;
    at = k;
  }
  const auto split = sorted.begin() + static_cast<std::ptrdiff_t>(at);
  const std::vector<double> low(sorted.begin(), split), high(split, sorted.end());
  const double below = median_of(low), above = median_of(high);
  if (deviation(low, below) + deviation(high, above) > most ||
      above - below < kMuch * std::max(std::abs(above), std::abs(below)))
    return false;
  const std::vector<std::size_t> found =
      most_above(amounts, (low.back() + high.front()) / 2);
  if (found.empty() || is_at_an_end(found, amounts.size())) return false;
  shape = shape_of_some(amounts, found);
  shape.before = below;
  return true;
}

// Returns true if there are two levels, one after the other, with p < kChance.
bool changes(const std::vector<double>& values) {
  const std::size_t n = values.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(n);
  for (std::size_t i = 0; i < n;) {  // equal values have the mean of their ranks
    std::size_t end = i;
    while (end < n && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k)
      ranks[order[k]] = static_cast<double>(i + end + 1) / 2;
    i = end;
  }
  const auto size = static_cast<double>(n);
  double sum = 0, most = 0;
  for (std::size_t k = 0; k + 1 < n; ++k) {
    sum += 2 * ranks[k];
    most = std::max(most, std::abs(sum - static_cast<double>(k + 1) * (size + 1)));
  }
  const double p = 2 * std::exp(-6 * most * most / (size * size * size + size * size));
  return p < kChance;
}

// Where two levels leave the least squares: ranks say that there are two, and where only to a few values.
std::size_t split(const std::vector<double>& values) {
  double all = 0;
  for (const double value : values) all += value;
  const std::size_t least = fewest(values.size());
  double sum = 0, most = -1;
  std::size_t at = least;
  for (std::size_t k = 1; k + least <= values.size(); ++k) {
    sum += values[k - 1];
    if (k < least) continue;
    const auto before = static_cast<double>(k);
    const auto after = static_cast<double>(values.size() - k);
    const double explained = sum * sum / before + (all - sum) * (all - sum) / after;
    if (explained <= most) continue;
    most = explained;
    at = k;
  }
  return at;
}

struct Line {
  double slope = 0;
  double offset = 0;
  bool is_trend = false;
};

// Over the numbers of values.
Line trend(const std::vector<double>& values) {
  const std::size_t step = (values.size() + kMaxTrend - 1) / kMaxTrend;
  std::vector<double> x, y;
  for (std::size_t i = 0; i < values.size(); i += step) {
    const std::size_t end = std::min(values.size(), i + step);
    x.push_back(static_cast<double>(i + end - 1) / 2);
    y.push_back(median_of({values.begin() + static_cast<std::ptrdiff_t>(i),
                           values.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  const auto n = static_cast<double>(x.size());
  double s = 0;
  std::vector<double> slopes;
  slopes.reserve(x.size() * (x.size() - 1) / 2);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = i + 1; k < x.size(); ++k) {
      s += y[k] > y[i] ? 1 : y[k] < y[i] ? -1 : 0;
      slopes.push_back((y[k] - y[i]) / (x[k] - x[i]));
    }
  Line line;
  const double spread = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  line.is_trend =
      spread > 0 && std::erfc((std::abs(s) - 1) / spread / std::sqrt(2.0)) < kChance;
  line.slope = median_of(std::move(slopes));
  std::vector<double> rest;
  rest.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) rest.push_back(y[i] - line.slope * x[i]);
  line.offset = median_of(std::move(rest));
  return line;
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

bool TimeShape::has(std::uint64_t iteration) const {
  switch (kind) {
    case Kind::kSince:
      return iteration >= from;
    case Kind::kUntil:
      return iteration < from;
    case Kind::kBetween:
      return iteration >= from && iteration < until;
    case Kind::kEvery:
      return iteration >= from &&
             (iteration - from) % std::max<std::uint64_t>(1, period) == 0;
    case Kind::kAll:
    case Kind::kGrowing:
    case Kind::kSome:
      break;
  }
  return true;
}

std::uint64_t iterations_of(const TimeShape& shape, std::uint64_t all) {
  using Kind = TimeShape::Kind;
  switch (shape.kind) {
    case Kind::kSince:
      return all - std::min(all, shape.from);
    case Kind::kUntil:
      return std::min(all, shape.from);
    case Kind::kEvery:
    case Kind::kSome:
    case Kind::kBetween:
      return std::min(all, shape.number);
    case Kind::kAll:
    case Kind::kGrowing:
      break;
  }
  return all;
}

TimeShape shape_of(std::span<const Amount> amounts) {
  TimeShape shape{.after = mean(amounts)};
  if (amounts.size() < kMin) return shape;
  constexpr double kLittle = 0.35, kClearly = 0.8;
  const std::vector<double> values = values_of(amounts);
  const double one = deviation(values, median_of(values));
  if (TimeShape few; some(amounts, few)) {
    // As outliers are taken for noise where they are many, there may be more.
    TimeShape more;
    return levels(amounts, kLittle * one, more) && more.number > few.number ? more : few;
  }
  const std::size_t at = split(values);
  const std::vector<double> before(values.begin(),
                                   values.begin() + static_cast<std::ptrdiff_t>(at));
  const std::vector<double> after(values.begin() + static_cast<std::ptrdiff_t>(at),
                                  values.end());
  double two = one;
  if (changes(values))
    two = deviation(before, median_of(before)) + deviation(after, median_of(after));
  const Line line = trend(values);
  double along = one;
  if (line.is_trend) {
    along = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      along += std::abs(values[i] - line.offset - line.slope * static_cast<double>(i));
  }
  const double least = std::min(two, along);
  if (TimeShape found; levels(amounts, std::min(kLittle * one, kClearly * least), found))
    return found;
  if (least >= kLeftOver * one) return shape;
  TimeShape found = shape;
  if (two <= along) {
    found.before = mean(amounts.first(at));
    found.after = mean(amounts.subspan(at));
    found.kind =
        found.after > found.before ? TimeShape::Kind::kSince : TimeShape::Kind::kUntil;
    found.from = amounts[at].first;
  } else if (line.slope > 0) {
    found.kind = TimeShape::Kind::kGrowing;
    found.before = std::max(0.0, line.offset);
    found.after = line.offset + line.slope * static_cast<double>(values.size() - 1);
  }
  const double larger = std::max(std::abs(found.before), std::abs(found.after));
  if (std::abs(found.after - found.before) < kMuch * larger) return shape;
  if (found.kind == TimeShape::Kind::kGrowing ||
      !goes_on(found.after > found.before ? before : after, larger))
    return found;
  shape.change = found.from;
  shape.first = found.before;
  shape.then = found.after;
  return shape;
}

}  // namespace refrain::analysis
