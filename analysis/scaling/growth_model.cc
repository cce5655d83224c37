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
constexpr int kMaxLogarithms = 2;
constexpr double kMinChange = 0.01;  // of the value, by a term
constexpr double kExact = 1e-9;      // relative: errors of rounding

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

struct Trial {
  GrowthModel::Fit fit;
  double left_out = 0;  // squares of errors, of each point by the fit of the others
  double smape = 0;     // likewise
};

// Weighted by 1 / value^2. `exponent` and `logarithms` 0: a constant.
Trial trial_of(std::span<const GrowthPoint> points, double exponent, int logarithms) {
  const bool constant = exponent == 0 && logarithms == 0;
  Trial trial;
  GrowthModel::Fit& out = trial.fit;
  out.exponent = exponent;
  out.logarithms = logarithms;
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
    trial.left_out += weight * without * without;
    const double said = point.value - without;
    trial.smape += 2 * std::abs(without) / (std::abs(point.value) + std::abs(said));
  }
  trial.smape /= static_cast<double>(points.size());
  out.weights = weights;
  const std::size_t freedom = points.size() - (constant ? 1 : 2);
  out.deviation =
      std::sqrt(out.squares / static_cast<double>(freedom)) * quantile(freedom, false);
  return trial;
}

}  // namespace

std::optional<GrowthModel> growth_of(std::span<const GrowthPoint> points) {
  std::set<double> scales;
  for (const GrowthPoint& point : points) {
    if (!(point.value > 0) || !(point.p >= 1) || !std::isfinite(point.value)) return {};
    scales.insert(point.p);
  }
  if (scales.size() < GrowthModel::kMinScales) return {};
  const Trial constant = trial_of(points, 0, 0);
  std::vector<Trial> trials;
  for (const Exponent& exponent : kExponents)
    for (int logarithms = 0; logarithms <= kMaxLogarithms; ++logarithms)
      if (exponent.value != 0 || logarithms != 0)
        trials.push_back(trial_of(points, exponent.value, logarithms));
  const Trial best = *std::ranges::min_element(trials, {}, &Trial::left_out);
  const auto count = static_cast<double>(points.size());
  const std::size_t freedom = points.size() - 2;
  const double error = best.fit.squares / static_cast<double>(freedom);
  const double low = best.fit.at(*scales.begin()), high = best.fit.at(*scales.rbegin());
  const double explained = constant.fit.squares - best.fit.squares;
  const bool flat = constant.fit.squares <= count * kExact * kExact ||
                    explained < std::pow(quantile(freedom, true), 2) * error ||
                    std::abs(high - low) < kMinChange * std::max(high, low);
  const Trial& chosen = flat ? constant : best;
  if (chosen.smape > GrowthModel::kMaxError) return {};
  GrowthModel out;
  out.constant = chosen.fit.constant;
  out.factor = chosen.fit.factor;
  out.exponent = chosen.fit.exponent;
  out.logarithms = chosen.fit.logarithms;
  out.error = chosen.smape;
  out.fits.push_back(chosen.fit);
  if (flat) return out;
  out.r2 = 1 - best.fit.squares / constant.fit.squares * (count - 1) / (count - 2);
  const double least = std::ranges::min(trials, {}, [](const Trial& trial) {
                         return trial.fit.squares;
                       }).fit.squares;
  const double most =
      least * (1 + std::pow(quantile(freedom, false), 2) / static_cast<double>(freedom));
  for (const Trial& trial : trials)
    if (trial.fit.squares <= most) out.fits.push_back(trial.fit);
  return out;
}

double GrowthModel::Fit::at(double p) const {
  return constant + (factor == 0 ? 0 : factor * term_at(p, exponent, logarithms));
}

GrowthModel::Interval GrowthModel::Fit::around(double p) const {
  const double value = at(p);
  // The noise of a run grows with its value; what is not sure of the model with the distance.
  double model = 1 / weights;
  if (factor != 0 && spread > 0)
    model += std::pow(term_at(p, exponent, logarithms) - mean, 2) / spread;
  const double half = deviation * std::sqrt(value * value + model);
  return {.value = value, .low = value - half, .high = value + half};
}

GrowthModel::Interval GrowthModel::at(double p) const {
  const Fit itself{.constant = constant,
                   .factor = factor,
                   .exponent = exponent,
                   .logarithms = logarithms};
  const double value = std::max(0.0, itself.at(p));
  Interval out = {.value = value, .low = value, .high = value};
  for (const Fit& fit : fits) {
    const Interval each = fit.around(p);
    out.low = std::min(out.low, std::max(0.0, each.low));
    out.high = std::max(out.high, each.high);
  }
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
