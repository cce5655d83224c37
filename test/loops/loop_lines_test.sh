#!/usr/bin/env bash
# Loops whose lines are known, as each compiler makes them at each level.
# $1: the options of clang that find its OpenMP.
set -uo pipefail
read -ra openmp <<<"${1-}"
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
status=0
check() {  # SOURCE COMMAND...
  local source=$1
  shift
  python3 test/loops/check_lines.py test/loops/print_loops "$folder" "test/loops/$source" "$@" -fopenmp || status=1
}
for level in -O0 -O1 -O2 -O3; do
  check known_loops.c gcc "$level"
  check known_loops.c clang-19 "${openmp[@]}" "$level"
  check known_loops_cc.cc g++ -std=c++20 "$level"
  check known_loops_cc.cc clang++-19 "${openmp[@]}" -std=c++20 "$level"
  check known_loops_f.f90 gfortran "$level" "-J$folder"
done
[ $status -eq 0 ] && echo "PASS: script test"
exit $status
