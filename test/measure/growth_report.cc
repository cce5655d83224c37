// What models of growth say of synthetic data: a line for each set of data, for test/measure/growth_extrap.py, which has Extra-P model the
// same. The data are those of docs/lab/scaling.md.
//
//   form's exponent and logarithms, scales, noise, found exponent and logarithms ("- -": no model), values at 1, 2, 4, ... threads
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "analysis/scaling/growth_model.h"

int main() {
  struct Form {
    double exponent;
    int logarithms;
  };
  constexpr Form kForms[] = {{0, 0},   {0, 1},   {0, 2},       {0.25, 0}, {1.0 / 3, 0},
                             {0.5, 0}, {0.5, 1}, {2.0 / 3, 0}, {0.75, 0}, {1, 0},
                             {1, 1},   {1, 2},   {1.5, 0},     {2, 0},    {2, 1},
                             {2.5, 0}, {3, 0}};
  constexpr int kRounds = 100;
  for (const int scales : {5, 8})
    for (const double noise : {0.0, 0.02, 0.05, 0.1}) {
      std::mt19937 random(42);
      std::normal_distribution<double> normal(0, 1);
      for (const Form& form : kForms)
        for (int round = 0; round != kRounds; ++round) {
          std::vector<refrain::analysis::GrowthPoint> points;
          for (int i = 0; i != scales; ++i) {
            const double p = std::pow(2.0, i);
            const bool flat = form.exponent == 0 && form.logarithms == 0;
            const double term =
                flat ? 0 : std::pow(p, form.exponent) * std::pow(i, form.logarithms);
            points.push_back(
                {p, (2 + 0.5 * term) * std::max(0.1, 1 + noise * normal(random))});
          }
          std::printf("%.17g %d %d %g ", form.exponent, form.logarithms, scales, noise);
          const auto model = refrain::analysis::growth_of(points);
          if (!model)
            std::printf("- -");
          else if (model->factor == 0)
            std::printf("0 0");
          else
            std::printf("%.17g %d", model->exponent, model->logarithms);
          for (const auto& point : points) std::printf(" %.17g", point.value);
          std::printf("\n");
        }
    }
}
