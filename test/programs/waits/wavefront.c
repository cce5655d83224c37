/* A sweep of wavefronts through a Cartesian grid of ranks, as transport codes do it (Sweep3D): from
 * each corner to the opposite one, pipelined in blocks. A rank receives a block's borders from
 * behind, works (sleeps), and sends them ahead, so that the corner reached last waits longest.
 *
 * Arguments: dimensions = 2 (2 or 3), blocks = 3, milliseconds = 8, sweeps = 1, together = 0 (1: a
 * direction begins while the one before it is still under way elsewhere). The number of ranks is split
 * by MPI_Dims_create.
 *
 * Prints known.h's line, with more in it: for each rank its coordinates and seconds as late sender's
 * receiver, in all and by direction. A direction is named by the signs of x, y (and z) in which it
 * sweeps; "change": the part of it in the first block after the direction changed, in which a
 * rank waits because the wavefront has not come to it yet. */
#include "board.h"

enum { kMaxDimensions = 3, kMaxDirections = 8 };

static int dimensions, blocks, sweeps, together, grid[kMaxDimensions],
    place[kMaxDimensions];
static double delay;
static MPI_Comm comm;

/* A rank's receives of one dimension: place of the call in the board. The send to it has the same. */
static int call_place(int sweep, int direction, int block, int dimension, int sends) {
  const int step = (sweep * (1 << dimensions) + direction) * blocks + block;
  return kFirst + (step * dimensions + dimension) * 2 + sends;
}

/* The rank next to `from` on the grid; MPI_PROC_NULL beyond its edge. */
static int next_to(const int* coordinates, int dimension, int step) {
  int other[kMaxDimensions];
  memcpy(other, coordinates, sizeof other);
  other[dimension] += step;
  if (other[dimension] < 0 || other[dimension] >= grid[dimension]) return MPI_PROC_NULL;
  int found;
  PMPI_Cart_rank(comm, other, &found);
  return found;
}

/* +1 or -1: where a direction sweeps to. */
static int step_of(int direction, int dimension) {
  return direction >> dimension & 1 ? -1 : 1;
}

static NOINLINE void sweep_from_corner(int sweep, int direction) {
  for (int block = 0; block < blocks; ++block) {
    int border = block;
    for (int d = 0; d < dimensions; ++d) {
      const int behind = next_to(place, d, -step_of(direction, d));
      if (behind == MPI_PROC_NULL) continue;
      TIMED(call_place(sweep, direction, block, d, 0),
            MPI_Recv(&border, 1, MPI_INT, behind, d, comm, MPI_STATUS_IGNORE));
    }
    sleep_for(delay);
    for (int d = 0; d < dimensions; ++d) {
      const int ahead = next_to(place, d, step_of(direction, d));
      if (ahead == MPI_PROC_NULL) continue;
      TIMED(call_place(sweep, direction, block, d, 1),
            MPI_Send(&border, 1, MPI_INT, ahead, d, comm));
    }
  }
}

typedef struct {
  int at[kMaxDimensions];
  int behind[kMaxDirections][kMaxDimensions];
  double all, by_direction[kMaxDirections], change[kMaxDirections];
} Node;

static Node nodes[kMaxRanks];

/* While MPI still runs: who is behind whom. */
static void look_at_grid(void) {
  for (int r = 0; r < size; ++r) {
    PMPI_Cart_coords(comm, r, dimensions, nodes[r].at);
    for (int direction = 0; direction < 1 << dimensions; ++direction)
      for (int d = 0; d < dimensions; ++d)
        nodes[r].behind[direction][d] = next_to(nodes[r].at, d, -step_of(direction, d));
  }
}

/* The metric of a direction. */
static const char* refill_of(int direction) {
  static char names[kMaxDirections][64];
  char* name = names[direction];
  strcpy(name, "wavefront_refill");
  for (int d = 0; d < dimensions; ++d) {
    strcat(name, step_of(direction, d) > 0 ? "_plus_" : "_minus_");
    strncat(name, &"xyz"[d], 1);
  }
  return name;
}

static void expect_waits(void) {
  for (int r = 0; r < size; ++r)
    for (int sweep = 0; sweep < sweeps; ++sweep)
      for (int direction = 0; direction < 1 << dimensions; ++direction)
        for (int block = 0; block < blocks; ++block)
          for (int d = 0; d < dimensions; ++d) {
            const int behind = nodes[r].behind[direction][d];
            if (behind == MPI_PROC_NULL) continue;
            const double wait =
                late_sender(call_of(behind, call_place(sweep, direction, block, d, 1)),
                            call_of(r, call_place(sweep, direction, block, d, 0)));
            nodes[r].all += wait;
            nodes[r].by_direction[direction] += wait;
            expect("mpi_latesender", wait);
            if (block != 0) continue;
            nodes[r].change[direction] += wait;
            expect("wavefront_refill", wait);
            expect(refill_of(direction), wait);
          }
  /* The corner that a direction reaches last comes after as many sleeps as there are dimensions. */
  for (int direction = 0; !together && direction < 1 << dimensions; ++direction)
    for (int r = 0; r < size; ++r) {
      int last = 1;
      for (int d = 0; d < dimensions; ++d)
        last &= nodes[r].at[d] == (step_of(direction, d) > 0 ? grid[d] - 1 : 0);
      int steps = 0;
      for (int d = 0; d < dimensions; ++d) steps += grid[d] - 1;
      if (last && nodes[r].change[direction] < 0.8 * delay * steps * sweeps) disturbed = 1;
    }
  /* Messages of the two or three sides are received in one order everywhere. */
  leave_open("mpi_latesender_wo");
  leave_open("mpi_lswo_different");
  leave_open("mpi_lswo_same");
}

static void print_nodes(void) {
  printf("{\"grid\": [");
  for (int d = 0; d < dimensions; ++d) printf("%s%d", d ? ", " : "", grid[d]);
  printf("], \"ranks\": [");
  for (int r = 0; r < size; ++r) {
    printf("%s{\"at\": [", r ? ", " : "");
    for (int d = 0; d < dimensions; ++d) printf("%s%d", d ? ", " : "", nodes[r].at[d]);
    printf("], \"mpi_latesender\": %.9f, \"directions\": {", nodes[r].all);
    for (int direction = 0; direction < 1 << dimensions; ++direction) {
      printf("%s\"", direction ? ", " : "");
      for (int d = 0; d < dimensions; ++d)
        printf("%c%c", step_of(direction, d) > 0 ? '+' : '-', "xyz"[d]);
      printf("\": {\"all\": %.9f, \"change\": %.9f}", nodes[r].by_direction[direction],
             nodes[r].change[direction]);
    }
    printf("}}");
  }
  printf("]}\n");
  fflush(stdout);
}

int main(int argc, char** argv) {
  dimensions = (int)argument(argc, argv, 1, 2, 2);
  blocks = (int)argument(argc, argv, 2, 3, 1);
  delay = (double)argument(argc, argv, 3, 8, 1) * 1e-3;
  sweeps = (int)argument(argc, argv, 4, 1, 1);
  together = (int)argument(argc, argv, 5, 0, 0);
  if (dimensions > kMaxDimensions || call_place(sweeps, 0, 0, 0, 0) > kMaxCalls) {
    fprintf(
        stderr,
        "%s: 2 or 3 dimensions, and sweeps * directions * blocks * dimensions * 2 <= %d\n",
        argv[0], kMaxCalls - kFirst);
    return 2;
  }
  begin(&argc, &argv, MPI_THREAD_SINGLE);
  const int periods[kMaxDimensions] = {0, 0, 0};
  MPI_Dims_create(size, dimensions, grid);
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, grid, periods, 0, &comm);
  MPI_Cart_coords(comm, rank, dimensions, place);
  look_at_grid();
  align();
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (int direction = 0; direction < 1 << dimensions; ++direction) {
      sweep_from_corner(sweep, direction);
      if (!together) align();
    }
  align();
  MPI_Comm_free(&comm);
  if (!end()) return 0;
  expect_waits();
  expect_ends();
  print_expected(dimensions == 2 ? "wavefront:2" : "wavefront:3", size, 1,
                 sweeps * (1 << dimensions) * blocks * dimensions * size / 4);
  print_nodes();
  return 0;
}
