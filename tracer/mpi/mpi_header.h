// <mpi.h>, the C part of it. Its declarations get default visibility, so that the program finds our
// definitions.
#pragma once

#define MPICH_SKIP_MPICXX 1
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop
