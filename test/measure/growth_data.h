// Values that grow with the number of threads by a known form, with noise.
//
// Thread-safety: pure, but for the generator. Units: none; threads 1, 2, 4, ...
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "analysis/scaling/growth_model.h"

namespace refrain::test {

struct GrowthForm {
  double exponent;
  int logarithms;

  bool flat() const { return exponent == 0 && logarithms == 0; }
  double value(double p, double constant = 2, double factor = 0.5) const {
    return flat() ? constant
                  : constant +
                        factor * std::pow(p, exponent) * std::pow(std::log2(p), logarithms);
  }
};

// Of each class in which a person would put it.
inline constexpr std::array<GrowthForm, 17> kGrowthForms = {{{0, 0},
                                                             {0, 1},
                                                             {0, 2},
                                                             {0.25, 0},
                                                             {1.0 / 3, 0},
                                                             {0.5, 0},
                                                             {0.5, 1},
                                                             {2.0 / 3, 0},
                                                             {0.75, 0},
                                                             {1, 0},
                                                             {1, 1},
                                                             {1, 2},
                                                             {1.5, 0},
                                                             {2, 0},
                                                             {2, 1},
                                                             {2.5, 0},
                                                             {3, 0}}};

inline std::vector<analysis::GrowthPoint> growth_data(const GrowthForm& form,
                                                      std::size_t scales, double noise,
                                                      std::mt19937& random) {
  std::normal_distribution<double> normal(0, 1);
  std::vector<analysis::GrowthPoint> out;
  for (std::size_t i = 0; i < scales; ++i) {
    const double p = std::pow(2.0, static_cast<double>(i));
    out.push_back({p, form.value(p) * std::max(0.1, 1 + noise * normal(random))});
  }
  return out;
}

}  // namespace refrain::test
