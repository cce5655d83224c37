/* Conjugate gradients in an outer iteration that finds the smallest eigenvalue of a sparse
 * matrix (inverse power method): the classic shape of a loop nest with a fixed inner count.
 * Every parallel region is in a separate function that the iteration calls.
 *
 * Arguments: [outer iterations = 30] [rows = 1500] [inner iterations = 25]
 * Regions of an inner iteration: multiply, dot, step, dot, direct (5 events). */
#include <math.h>
#include <omp.h>

#include "common.h"

enum { kRowEntries = 9, kBlocks = 32 };

static long rows;
static int* column;   /* rows * kRowEntries, the diagonal first */
static double* entry; /* likewise */
static double partial[kBlocks];

static NOINLINE void make_matrix(void) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < rows; ++i) {
    double sum = 0;
    for (int k = 1; k < kRowEntries; ++k) {
      /* Symmetric by construction: i is coupled with i +- distance, cyclically. */
      const long distance = (k + 1) / 2 * ((k + 1) / 2);
      const long j = k % 2 ? (i + distance) % rows : (i + rows - distance) % rows;
      column[i * kRowEntries + k] = (int)j;
      entry[i * kRowEntries + k] = -1.0 / (double)distance;
      sum += 1.0 / (double)distance;
    }
    column[i * kRowEntries] = (int)i;
    entry[i * kRowEntries] = sum + 0.5 + (double)(i % 7) / 10;
  }
}

static NOINLINE void multiply(double* restrict y, const double* restrict x) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < rows; ++i) {
    double sum = 0;
    for (int k = 0; k < kRowEntries; ++k)
      sum += entry[i * kRowEntries + k] * x[column[i * kRowEntries + k]];
    y[i] = sum;
  }
}

/* Sums in blocks that do not depend on the number of threads. */
static NOINLINE double dot(const double* x, const double* y) {
#pragma omp parallel for schedule(static)
  for (int b = 0; b < kBlocks; ++b) {
    double sum = 0;
    for (long i = rows * b / kBlocks; i < rows * (b + 1) / kBlocks; ++i) sum += x[i] * y[i];
    partial[b] = sum;
  }
  double total = 0;
  for (int b = 0; b < kBlocks; ++b) total += partial[b];
  return total;
}

static NOINLINE void step(double* z, double* r, const double* p, const double* q,
                          double alpha) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < rows; ++i) {
    z[i] += alpha * p[i];
    r[i] -= alpha * q[i];
  }
}

static NOINLINE void direct(double* p, const double* r, double beta) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < rows; ++i) p[i] = r[i] + beta * p[i];
}

static NOINLINE void start(double* z, double* r, double* p, const double* x) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < rows; ++i) {
    z[i] = 0;
    r[i] = p[i] = x[i];
  }
}

static NOINLINE void normalise(double* x, const double* z, double factor) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < rows; ++i) x[i] = z[i] * factor;
}

static double* vector(void) {
  double* v = malloc((size_t)rows * sizeof *v);
  if (!v) abort();
  for (long i = 0; i < rows; ++i) v[i] = 1;
  return v;
}

int main(int argc, char** argv) {
  const long outer = argument(argc, argv, 1, 30, 0);
  rows = argument(argc, argv, 2, 1500, 64);
  const long inner = argument(argc, argv, 3, 25, 1);
  column = malloc((size_t)rows * kRowEntries * sizeof *column);
  entry = malloc((size_t)rows * kRowEntries * sizeof *entry);
  if (!column || !entry) abort();
  double *x = vector(), *z = vector(), *r = vector(), *p = vector(), *q = vector();
  make_matrix();

  long iterations = 0;
  double eigenvalue = 0, residual = 0;
  for (long o = 0; o < outer; ++o) {
    start(z, r, p, x);
    double rho = residual = (double)rows;
    for (long i = 0; i < inner; ++i, ++iterations) {
      multiply(q, p);
      const double alpha = rho / dot(p, q);
      step(z, r, p, q, alpha);
      const double rho_next = dot(r, r);
      direct(p, r, rho_next / rho);
      rho = residual = rho_next;
    }
    const double norm = sqrt(dot(z, z) / (double)rows);
    eigenvalue = 1 / norm;
    normalise(x, z, eigenvalue);
  }

  uint64_t checksum = checksum_double(0, eigenvalue);
  checksum = checksum_double(checksum, dot(x, x)); /* not the next call of the loop */
  for (long i = 0; i < rows; ++i) checksum = checksum_double(checksum, x[i]);
  printf("eigenvalue %.12f, residual %.3e, %d threads\n", eigenvalue, sqrt(residual),
         omp_get_max_threads());
  printf("iterations=%ld outer=%ld checksum=%016llx\n", iterations, outer,
         (unsigned long long)checksum);
  free(column), free(entry), free(x), free(z), free(r), free(p), free(q);
  return 0;
}
