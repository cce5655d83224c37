// A time-step loop in main whose regions lie in functions of another file (stepper_parts.cc),
// templates and members among them; in each step a solver iterates, whose loop is there.
//
// Arguments: [steps = 60] [cells = 200]
// Regions of a step: two of advance(), 12 times two of solve(), one of account().
#include "stepper.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const long steps = argc > 1 ? std::atol(argv[1]) : 60;
  const long cells = argc > 2 ? std::atol(argv[2]) : 200;
  stepper::Field<double> field(cells);
  long checksum = 0;
  for (long step = 0; step < steps; ++step) {
    stepper::advance(field, 0.5);
    stepper::solve(field, 12);
    checksum += stepper::account(field);
  }
  std::printf("iterations=%ld checksum=%ld\n", steps, checksum);
  return 0;
}
