#!/usr/bin/env bash
# Reports of real runs in the real Chromium: each view opens, its numbers are those that `refrain profile --json`,
# `refrain analyze --json` and `refrain loops --json` print, nothing is asked for.
# report_page_test.sh REFRAIN CHECK RUN ...: recorded runs (test/runs), of OpenMP with samples, MPI, both, two visits of one loop, and in full.
set -euo pipefail
refrain=$(realpath "$1") check=$(realpath "$2")
shift 2
for program in node chromium chromedriver; do
  command -v "$program" > /dev/null || { echo "no $program: tools/setup installs it"; exit 1; }
done
for run in openmp mpi hybrid visits full; do
  cp -rL "$1/archive" "$TEST_TMPDIR/$run"
  shift
done
cd "$TEST_TMPDIR"
chmod -R u+w .
for run in openmp mpi hybrid visits full; do
  "$refrain" report "$run" -o "$run.html" --quiet
  "$refrain" profile "$run" --json > "$run.profile.json"
  "$refrain" analyze "$run" --json --no-cube > "$run.analyze.json"
  loops=
  if [ "$run" = openmp ]; then
    loops=$run.loops.json
    "$refrain" loops "$run" --json > "$loops"
  fi
  node "$check" "$run.html" "$run.profile.json" "$run.analyze.json" ${loops:+"$loops"} | tee said
  if [ "$run" = full ]; then
    grep -Eq ", [1-9][0-9]+ edges of graphs are" said
  else
    grep -Eq ", [1-9][0-9]+ rows are below" said
  fi
done
# A number that is not the command's is found.
sed 's/"run_ns": *[0-9.]*/"run_ns": 1/' openmp.profile.json > wrong.json
if node "$check" openmp.html wrong.json openmp.analyze.json > wrong.txt 2>&1; then
  echo "a wrong number went unnoticed"
  exit 1
fi
grep -q "profile.run_ns" wrong.txt
echo "PASS: script test"
