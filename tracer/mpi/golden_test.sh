#!/usr/bin/env bash
# A few wrappers as they were when last reviewed. To accept a change:
#   tracer/mpi/golden_test.sh --accept
set -u
folder=$(dirname "$0")
export PYTHONDONTWRITEBYTECODE=1
status=0
for golden in "$folder"/golden/*.txt; do
  name=$(basename "$golden" .txt)
  if [ "${1:-}" = --accept ]; then
    python3 "$folder/generate.py" "$folder" mpich --wrapper "$name" >"$golden"
  else
    diff -u "$golden" <(python3 "$folder/generate.py" "$folder" mpich --wrapper "$name") || status=1
  fi
done
[ $status -eq 0 ] && echo "PASS: script test"
exit $status
