// <mpi.h>, the C part of it. What it declares the program shall see where we define it.
#pragma once

#define MPICH_SKIP_MPICXX 1
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop
