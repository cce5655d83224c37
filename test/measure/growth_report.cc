// What models of growth say of synthetic data: a line for each set of data, for test/measure/growth_extrap.py, which has Extra-P model the
// same. The data are those of docs/lab/scaling.md.
//
//   form's exponent and logarithms, scales, noise, found exponent and logarithms ("- -": no model), values at 1, 2, 4, ... threads
#include <cstdio>
#include <random>

#include "analysis/scaling/growth_model.h"
#include "test/measure/growth_data.h"

int main() {
  constexpr int kRounds = 100;
  for (const int scales : {5, 8})
    for (const double noise : {0.0, 0.02, 0.05, 0.1}) {
      std::mt19937 random(42);
      for (const auto& form : refrain::test::kGrowthForms)
        for (int round = 0; round != kRounds; ++round) {
          const auto points = refrain::test::growth_data(
              form, static_cast<std::size_t>(scales), noise, random);
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
