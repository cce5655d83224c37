#include "analysis/scaling/growth_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace refrain::analysis {
namespace {

struct Exponent {
  double value;
  const char* text;
};
constexpr std::array<Exponent, 11> kExponents = {{{0, ""},
                                                  {0.25, "p^(1/4)"},
                                                  {1.0 / 3, "p^(1/3)"},
                                                  {0.5, "p^(1/2)"},
                                                  {2.0 / 3, "p^(2/3)"},
                                                  {0.75, "p^(3/4)"},
                                                  {1, "p"},
                                                  {1.5, "p^(3/2)"},
                                                  {2, "p^2"},
                                                  {2.5, "p^(5/2)"},
                                                  {3, "p^3"}}};
constexpr int kMostLogarithms = 2;
constexpr double kLeastChange = 0.01;  // of the value, by a term
constexpr double kExact = 1e-9;        // relative: errors of rounding

double term_at(double p, double exponent, int logarithms) {
  return std::pow(p, exponent) * std::pow(std::log2(p), logarithms);
}

// Quantiles of Student's distribution by degrees of freedom: two-sided 5 % and 1 %.
double quantile(std::size_t freedom, bool one_percent) {
  constexpr std::array k5 = {12.71, 4.303, 3.182, 2.776, 2.571,
                             2.447, 2.365, 2.306, 2.262, 2.228};
  constexpr std::array k1 = {63.66, 9.925, 5.841, 4.604, 4.032,
                             3.707, 3.499, 3.355, 3.250, 3.169};
  if (freedom == 0) return one_percent ? k1[0] : k5[0];
  if (freedom <= k5.size()) return one_percent ? k1[freedom - 1] : k5[freedom - 1];
  const double n = static_cast<double>(freedom);  // Cornish and Fisher's first two terms
  const double z = one_percent ? 2.5758 : 1.9600;
  return z + (z * z * z + z) / (4 * n) +
         (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

struct Fit {
  double constant = 0, factor = 0;
  double squares = 0;   // of relative errors
  double left_out = 0;  // likewise, of each point by the fit of the others
  double smape = 0;
  double mean = 0, spread = 0;  // of the term, weighted
};

// Weighted by 1 / value^2. `exponent` and `logarithms` 0: a constant.
Fit fit(std::span<const GrowthPoint> points, double exponent, int logarithms) {
  const bool constant = exponent == 0 && logarithms == 0;
  Fit out;
  double weights = 0, x = 0, y = 0;
  const auto term = [&](const GrowthPoint& point) {
    return constant ? 0 : term_at(point.p, exponent, logarithms);
  };
  for (const GrowthPoint& point : points) {
    const double weight = 1 / (point.value * point.value);
    weights += weight;
    x += weight * term(point);
    y += weight * point.value;
  }
  out.mean = x / weights;
  const double mean_y = y / weights;
  double xy = 0;
  for (const GrowthPoint& point : points) {
    const double weight = 1 / (point.value * point.value);
    const double off = term(point) - out.mean;
    out.spread += weight * off * off;
    xy += weight * off * (point.value - mean_y);
  }
  out.factor = out.spread > 0 ? xy / out.spread : 0;
  out.constant = mean_y - out.factor * out.mean;
  for (const GrowthPoint& point : points) {
    const double weight = 1 / (point.value * point.value);
    const double off = term(point) - out.mean;
    const double leverage =
        weight / weights + (out.spread > 0 ? weight * off * off / out.spread : 0);
    const double error = point.value - out.constant - out.factor * term(point);
    out.squares += weight * error * error;
    const double without = error / std::max(1e-9, 1 - leverage);
    out.left_out += weight * without * without;
    const double said = point.value - without;
    out.smape += 2 * std::abs(without) / (std::abs(point.value) + std::abs(said));
  }
  out.smape /= static_cast<double>(points.size());
  return out;
}

}  // namespace

std::optional<GrowthModel> growth_of(std::span<const GrowthPoint> points) {
  std::set<double> scales;
  for (const GrowthPoint& point : points) {
    if (!(point.value > 0) || !(point.p >= 1) || !std::isfinite(point.value)) return {};
    scales.insert(point.p);
  }
  if (scales.size() < GrowthModel::kLeastScales) return {};
  const Fit constant = fit(points, 0, 0);
  GrowthModel best;
  Fit chosen = constant;
  double least = INFINITY;
  for (const Exponent& exponent : kExponents)
    for (int logarithms = 0; logarithms <= kMostLogarithms; ++logarithms) {
      if (exponent.value == 0 && logarithms == 0) continue;
      const Fit each = fit(points, exponent.value, logarithms);
      if (each.left_out >= least) continue;
      least = each.left_out;
      chosen = each;
      best.exponent = exponent.value;
      best.logarithms = logarithms;
    }
  const std::size_t freedom = points.size() - 2;
  const double error = chosen.squares / static_cast<double>(freedom);
  const double needed = std::pow(quantile(freedom, true), 2);
  const double low = term_at(*scales.begin(), best.exponent, best.logarithms);
  const double high = term_at(*scales.rbegin(), best.exponent, best.logarithms);
  const double change = std::abs(chosen.factor * (high - low));
  const double typical = std::max(chosen.constant + chosen.factor * high,
                                  chosen.constant + chosen.factor * low);
  const double count = static_cast<double>(points.size());
  if (constant.squares <= count * kExact * kExact ||
      constant.squares - chosen.squares < needed * error ||
      change < kLeastChange * typical) {
    chosen = constant;
    best.exponent = 0;
    best.logarithms = 0;
    chosen.factor = 0;
  }
  const bool flat = chosen.factor == 0;
  best.constant = chosen.constant;
  best.factor = chosen.factor;
  best.error = chosen.smape;
  best.points = 0;
  for (const GrowthPoint& point : points) best.points += 1 / (point.value * point.value);
  best.mean = chosen.mean;
  best.spread = chosen.spread;
  best.deviation = std::sqrt(chosen.squares / (count - (flat ? 1 : 2)));
  best.deviation *= quantile(points.size() - (flat ? 1 : 2), false);
  best.r2 = flat || constant.squares <= 0
                ? 0
                : 1 - chosen.squares / constant.squares * (count - 1) / (count - 2);
  return best;
}

GrowthModel::Interval GrowthModel::at(double p) const {
  Interval out;
  const double x = factor == 0 ? 0 : term_at(p, exponent, logarithms);
  out.value = std::max(0.0, constant + factor * x);
  // The noise of a run grows with its value; what is not sure of the model with the distance.
  const double off = x - mean;
  const double model = 1 / points + (factor != 0 && spread > 0 ? off * off / spread : 0);
  const double half = deviation * std::sqrt(out.value * out.value + model);
  out.low = std::max(0.0, out.value - half);
  out.high = out.value + half;
  return out;
}

std::string GrowthModel::term() const {
  if (factor == 0) return "1";
  std::string text;
  for (const Exponent& each : kExponents)
    if (each.value == exponent) text = each.text;
  if (logarithms == 0) return text;
  if (!text.empty()) text += ' ';
  return text + (logarithms == 1 ? "log p" : "log^2 p");
}

std::string GrowthModel::text() const {
  if (factor == 0) return "stays the same";
  return factor < 0 ? "falls" : "grows with " + term();
}

}  // namespace refrain::analysis
