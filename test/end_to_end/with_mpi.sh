#!/usr/bin/env bash
# with_mpi.sh MPI TEST ARGUMENTS...: runs a test with another MPI than MPICH (mpi_run.h), in its short form.
set -eu
export REFRAIN_TEST_MPI=$1
unset REFRAIN_TEST_LENGTH
exec "$2" "${@:3}"
