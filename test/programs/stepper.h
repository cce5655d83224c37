// The functions that stepper.cc calls: see there.
#pragma once

#include <cstddef>
#include <vector>

namespace stepper {

template <typename Value>
struct Field {
  explicit Field(long cells) : now(static_cast<std::size_t>(cells), Value(1)), next(now) {}
  std::vector<Value> now, next;
};

void advance(Field<double>& field, double step);
void solve(Field<double>& field, int iterations);
long account(const Field<double>& field);

}  // namespace stepper
