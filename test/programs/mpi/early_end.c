/* A process that ends before it has called MPI_Init; it uses OpenMP before.
 *
 * Arguments: [signal = 9; 0: returns from main] [iterations = 20] */
#include <signal.h>

#include "messages.h"

int main(int argc, char** argv) {
  const long number = argument(argc, argv, 1, SIGKILL, 0);
  const long limit = argument(argc, argv, 2, 20, 0);
  double sum = 0;
  for (long k = 0; k < limit; ++k) {
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; ++i) sum += i;
  }
  if (number != 0) raise((int)number);
  printf("sum=%.0f\n", sum);
  if (sum > 0) return 0;
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
