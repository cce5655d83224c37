#!/usr/bin/env bash
# with_mpi.sh MPI TEST ARGUMENTS...: runs a test with another MPI than MPICH (mpi_run.h).
set -eu
export REFRAIN_TEST_MPI=$1
"$2" "${@:3}"
echo "PASS: script test"
