// Models of synthetic data: which form is found, with and without noise.
#include "analysis/scaling/growth_model.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "test/measure/growth_data.h"

namespace refrain::analysis::growth_model_test {
namespace {

// none, logarithm, less than p, p, more
int growth_class(double exponent, int logarithms) {
  if (exponent == 0) return logarithms == 0 ? 0 : 1;
  return exponent < 1 ? 2 : exponent == 1 ? 3 : 4;
}

struct Shares {
  double same_class = 0;  // of all
  double near = 0;        // the exponent is at most a quarter off
  double flat = 0;        // of constants, that are found to be
  double inside =
      0;  // of models: the interval has the true value at four times the largest run
};

Shares shares(std::size_t scales, double noise) {
  std::mt19937 random(42);
  Shares out;
  double models = 0;
  constexpr int kRounds = 100;
  for (const test::GrowthForm& form : test::kGrowthForms)
    for (int round = 0; round < kRounds; ++round) {
      const auto points = test::growth_data(form, scales, noise, random);
      const auto model = growth_of(points);
      if (!model) continue;
      ++models;
      const bool flat = model->factor == 0;
      const double i = flat ? 0 : model->exponent;
      const int j = flat ? 0 : model->logarithms;
      out.same_class +=
          growth_class(i, j) == growth_class(form.exponent, form.logarithms) ? 1 : 0;
      out.near += std::abs(i - form.exponent) <= 0.26 ? 1 : 0;
      if (&form == &test::kGrowthForms[0]) out.flat += flat ? 1.0 / kRounds : 0;
      const double far = 4 * points.back().p;
      const auto there = model->at(far);
      const double truth = form.value(far);
      out.inside += there.low <= truth * (1 + 1e-9) && truth <= there.high * (1 + 1e-9);
    }
  const double all = static_cast<double>(test::kGrowthForms.size()) * kRounds;
  out.same_class /= all;
  out.near /= all;
  out.inside /= models;
  return out;
}

}  // namespace

TEST_CASE("Growth model: without noise - each form is found, with its numbers") {
  std::mt19937 random(1);
  for (const std::size_t scales : {5, 7})
    for (const test::GrowthForm& form : test::kGrowthForms) {
      const auto model = growth_of(test::growth_data(form, scales, 0, random));
      REQUIRE(model);
      CAPTURE(form.exponent, form.logarithms, model->term());
      const bool flat = form.flat();
      CHECK((model->factor == 0) == flat);
      CHECK(model->constant == Approx(2));
      CHECK(model->at(1024).value == Approx(form.value(1024)));
      if (flat) continue;
      CHECK(model->exponent == Approx(form.exponent));
      CHECK(model->logarithms == form.logarithms);
      CHECK(model->factor == Approx(0.5));
      CHECK(model->error < 1e-6);
      CHECK(model->r2 == Approx(1));
    }
}

TEST_CASE("Growth model: words") {
  const auto text = [](double exponent, int logarithms, double factor = 1) {
    GrowthModel model;
    model.factor = factor;
    model.exponent = exponent;
    model.logarithms = logarithms;
    return model.text();
  };
  CHECK(text(0, 1) == "grows with log p");
  CHECK(text(1, 0) == "grows with p");
  CHECK(text(1, 1) == "grows with p log p");
  CHECK(text(0.5, 2) == "grows with p^(1/2) log^2 p");
  CHECK(text(1, 0, -1) == "falls");
  CHECK(text(0, 0, 0) == "stays the same");
}

TEST_CASE("Growth model: too few scales, values that are none, or only noise - no model") {
  std::mt19937 random(1);
  CHECK_FALSE(growth_of(test::growth_data({1, 0}, 4, 0, random)));
  auto points = test::growth_data({1, 0}, 4, 0, random);
  points.insert(points.end(), points.begin(), points.end());
  CHECK_FALSE(growth_of(points));
  points = test::growth_data({1, 0}, 5, 0, random);
  points[2].value = 0;
  CHECK_FALSE(growth_of(points));
  CHECK_FALSE(growth_of({}));
  // Nothing but noise.
  points.clear();
  for (const double value : {1, 100, 3, 200, 2, 150})
    points.push_back({std::pow(2.0, static_cast<double>(points.size())), value});
  CHECK_FALSE(growth_of(points));
}

TEST_CASE("Growth model: falls - never below nothing") {
  std::vector<GrowthPoint> points;
  for (const double p : {1, 2, 4, 8, 16}) points.push_back({p, 10 - 0.5 * p});
  const auto model = growth_of(points);
  REQUIRE(model);
  CHECK(model->text() == "falls");
  CHECK(model->at(4).value == Approx(8));
  CHECK(model->at(64).value == 0);
}

// docs/reference/scaling.md has the figures (run with -s).
TEST_CASE("Growth model: noise - how often the growth is the right one") {
  struct Case {
    std::size_t scales;
    double noise, same_class, near, inside;
  };
  for (const Case& each :
       {Case{5, 0, 1, 1, 1}, Case{5, 0.02, 0.85, 0.85, 0.9}, Case{5, 0.05, 0.65, 0.65, 0.8},
        Case{5, 0.1, 0.5, 0.5, 0.75}, Case{8, 0, 1, 1, 1}, Case{8, 0.02, 0.95, 0.95, 0.95},
        Case{8, 0.05, 0.9, 0.9, 0.95}, Case{8, 0.1, 0.8, 0.8, 0.9}}) {
    CAPTURE(each.scales, each.noise);
    const Shares found = shares(each.scales, each.noise);
    CHECK(found.same_class >= each.same_class);
    CHECK(found.near >= each.near);
    CHECK(found.flat >= 0.9);
    CHECK(found.inside >= each.inside);
  }
}

}  // namespace refrain::analysis::growth_model_test
