/* Conjugate gradients with the matrix divided into blocks of a grid of ranks, as in NPB's CG:
 * the product is summed along the rows of the grid, sent across its diagonal and broadcast
 * in its columns; scalar products are summed along a row.
 *
 * The grid is square (the next power of 4 below; other ranks only take part in the check of
 * convergence): 1 rank of 1 to 3, 4 of 4 to 15.
 *
 * Arguments: [outer iterations = 4] [inner iterations = 6] [unknowns = 32]
 * MPI calls of an inner iteration, on ranks in the grid: Allreduce (row), Send and Recv
 * (off the diagonal), Bcast (column), 2 Allreduce (row); of an outer one: Allreduce. */
#include <math.h>

#include "messages.h"

enum { kTranspose = 31 };

typedef struct {
  Group row, column, grid;
  int side, i, j, n; /* n: unknowns a block */
  double *matrix, *x, *r, *p, *q, *partial, *message;
} Solver;

/* The elements of the (symmetric, positive definite) matrix. */
static double element(int a, int b) { return a == b ? 8 : 1.0 / (1 + (a - b) * (a - b)); }

/* q = A p; p and q are distributed along the columns of the grid. */
static NOINLINE void multiply(Solver* s) {
  const int n = s->n;
  for (int a = 0; a < n; ++a) {
    s->partial[a] = 0;
    for (int b = 0; b < n; ++b) s->partial[a] += s->matrix[a * n + b] * s->p[b];
  }
  /* Now rank (i, j) has what column j gives to the rows i; sum over the row of ranks. */
  double* sum = s->message + 1;
  MPI_Allreduce(s->partial, sum, n, MPI_DOUBLE, MPI_SUM, s->row.handle);
  if (s->i != s->j) { /* rows i are needed where columns i are */
    const int partner = s->j * s->side + s->i;
    const int length = message_made(&s->grid, s->message, n, partner, kTranspose);
    double* incoming = s->message + MESSAGE_ROOM(n);
    MPI_Status status;
    if (s->i < s->j)
      MPI_Send(s->message, length, MPI_DOUBLE, partner, kTranspose, s->grid.handle);
    MPI_Recv(incoming, MESSAGE_ROOM(n), MPI_DOUBLE, partner, kTranspose, s->grid.handle,
             &status);
    message_got(&s->grid, incoming, &status);
    if (s->i > s->j)
      MPI_Send(s->message, length, MPI_DOUBLE, partner, kTranspose, s->grid.handle);
    memcpy(s->q, incoming + 1, (size_t)n * sizeof(double));
  } else {
    memcpy(s->q, sum, (size_t)n * sizeof(double));
  }
  MPI_Bcast(s->q, n, MPI_DOUBLE, s->j, s->column.handle);
}

/* Every rank of a column has the same; a row of ranks has all of it. */
static double row_product(const Solver* s, const double* a, const double* b) {
  double mine = 0, result;
  for (int k = 0; k < s->n; ++k) mine += a[k] * b[k];
  MPI_Allreduce(&mine, &result, 1, MPI_DOUBLE, MPI_SUM, s->row.handle);
  return result;
}

static double solve(Solver* s, long inner) {
  double rho = 0;
  for (int k = 0; k < s->n; ++k) {
    s->x[k] = 0;
    s->r[k] = s->p[k] = 1 + (s->j * s->n + k) % 3;
  }
  rho = row_product(s, s->r, s->r);
  for (long it = 0; it < inner; ++it) {
    multiply(s);
    const double alpha = rho / row_product(s, s->p, s->q);
    for (int k = 0; k < s->n; ++k) {
      s->x[k] += alpha * s->p[k];
      s->r[k] -= alpha * s->q[k];
    }
    const double next = row_product(s, s->r, s->r), beta = next / rho;
    rho = next;
    for (int k = 0; k < s->n; ++k) s->p[k] = s->r[k] + beta * s->p[k];
  }
  return sqrt(rho);
}

static void begin(Solver* s, const Group* all, int unknowns, int in_grid) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, in_grid ? 0 : MPI_UNDEFINED, all->rank, &comm);
  if (!in_grid) return;
  s->grid = group_of(comm, "grid");
  s->i = s->grid.rank / s->side;
  s->j = s->grid.rank % s->side;
  static char row_name[32], column_name[32];
  snprintf(row_name, sizeof row_name, "row-%d", s->i);
  snprintf(column_name, sizeof column_name, "column-%d", s->j);
  MPI_Comm_split(s->grid.handle, s->i, s->j, &comm);
  s->row = group_of(comm, row_name);
  MPI_Comm_split(s->grid.handle, s->j, s->i, &comm);
  s->column = group_of(comm, column_name);
  const int n = s->n = unknowns / s->side;
  s->matrix = malloc((size_t)(n * n) * sizeof(double));
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) s->matrix[a * n + b] = element(s->i * n + a, s->j * n + b);
  s->x = calloc((size_t)(5 * n), sizeof(double));
  s->r = s->x + n, s->p = s->r + n, s->q = s->p + n, s->partial = s->q + n;
  s->message = calloc((size_t)(2 * MESSAGE_ROOM(n)), sizeof(double));
}

static void end(Solver* s) {
  free(s->matrix), free(s->x), free(s->message);
  Group* const groups[] = {&s->column, &s->row, &s->grid};
  for (int i = 0; i < 3; ++i) {
    MPI_Comm_free(&groups[i]->handle);
    group_free(groups[i]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long outer = argument(argc, argv, 1, 4, 0);
  const long inner = argument(argc, argv, 2, 6, 1);
  Solver s;
  memset(&s, 0, sizeof s);
  s.side = 1;
  while (4 * s.side * s.side <= all.size) s.side *= 2;
  const int in_grid = all.rank < s.side * s.side;
  begin(&s, &all, (int)argument(argc, argv, 3, 32, 4), in_grid);

  long iterations = 0;
  double residual = 0;
  for (long k = 0; k < outer; ++k) {
    const double mine = in_grid ? solve(&s, inner) : 0;
    MPI_Allreduce(&mine, &residual, 1, MPI_DOUBLE, MPI_MAX, all.handle);
    ++iterations;
  }

  uint64_t checksum = 0;
  for (int k = 0; in_grid && k < s.n; ++k) checksum = checksum_double(checksum, s.x[k]);
  if (all.rank == 0) printf("residual %.6e after %ld inner iterations\n", residual, inner);
  print_result(&all, iterations, checksum);
  if (in_grid) end(&s);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
