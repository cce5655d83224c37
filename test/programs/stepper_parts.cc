// The regions of stepper.cc.
#include "stepper.h"

namespace stepper {
namespace {

template <typename Value, typename Change>
__attribute__((noinline)) void for_each_cell(std::vector<Value>& cells, Change change) {
#pragma omp parallel for
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = change(cells[i], i);
}

}  // namespace

void advance(Field<double>& field, double step) {
  for_each_cell(field.now, [step](double value, std::size_t) { return value + step; });
#pragma omp parallel for
  for (std::size_t i = 0; i < field.now.size(); ++i) field.next[i] = field.now[i];
}

void solve(Field<double>& field, int iterations) {
  for (int iteration = 0; iteration < iterations; ++iteration) {
    for_each_cell(field.next, [](double value, std::size_t) { return value * 0.5; });
#pragma omp parallel for
    for (std::size_t i = 0; i < field.now.size(); ++i) field.now[i] += field.next[i];
  }
}

long account(const Field<double>& field) {
  long sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (std::size_t i = 0; i < field.now.size(); ++i) sum += static_cast<long>(field.now[i]);
  return sum;
}

}  // namespace stepper
