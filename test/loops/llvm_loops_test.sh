#!/usr/bin/env bash
# The loops of the machine code are those that clang says it has made, with the same headers and depths.
# $1: the options of clang that find its OpenMP.
set -uo pipefail
read -ra openmp <<<"${1-}"
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
status=0
for source in test/loops/switches.c test/programs/cg.c; do
  for level in -O0 -O1 -O2 -O3; do
    python3 test/loops/compare_with_llvm.py test/loops/print_loops clang-19 "$folder" "$source" "$level" "${openmp[@]}" -fPIC -fopenmp || status=1
  done
done
[ $status -eq 0 ] && echo "PASS: script test"
exit $status
