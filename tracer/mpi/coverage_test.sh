#!/usr/bin/env bash
# The tables and the installed MPIs (the arguments) have the same procedures; a table that has one less, or a
# parameter more, is found out.
set -u
folder=$(dirname "$0")
export PYTHONDONTWRITEBYTECODE=1
fail() { echo "FAIL: $*"; exit 1; }

for mpi in "$@"; do
  python3 "$folder/coverage.py" "$folder" "$mpi" || fail "the tables are not what is installed of $mpi"
done

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mpi=
spoil() {  # spoil FILE EXPRESSION WORD: after sed's EXPRESSION a complaint names WORD
  cp -rL "$folder"/*.tsv "$folder/templates" "$copy"
  sed -i "$2" "$copy/$1"
  python3 "$folder/coverage.py" "$copy" "$mpi" >"$copy/said" 2>&1 && fail "not found: $2"
  grep -q "$3" "$copy/said" || fail "$2: $(cat "$copy/said")"
}
for mpi in "$@"; do
  spoil procedures.tsv '/^MPI_Barrier\t/d' MPI_Barrier
  spoil procedures.tsv '/^MPI_Send\t/s/int count/MPI_Count count/' 'MPI_Send: mpi.h says'
  spoil procedures.tsv '/^MPI_Isend\t/s/\tft\tf8\t/\tx\tx\t/' 'MPI_Isend: has no wrapper'
  spoil semantics.tsv '/^MPI_Isend\t/d' 'MPI_Isend: semantics.tsv does not have it'
  spoil semantics.tsv '/^MPI_Finalize\t/s/Finalize()$/Finalize(comm)/' "no parameter 'comm'"
  case $mpi in
    mpich) spoil procedures.tsv '/^MPI_Wait\t/s/\tf8\t/\tf\t/' mpi_wait_f08_ ;;
    openmpi)
      spoil procedures.tsv '/^MPI_Wait\t/s/\tf8\tf8\t/\tf8\tf\t/' mpi_wait_f08_
      spoil procedures.tsv '/^MPI_Attr_get\t/s/\tfw\tfw\t/\tfw\tf\t/' 'MPI_Attr_get: its Fortran procedure does not call'
      ;;
  esac
done
echo "PASS: script test"
