#!/usr/bin/env bash
# Reports of an archive of one thread, and of 256 ranks with 8 threads each, in the real Chromium: every view opens and can be read,
# its numbers are those of the commands. The archives are made by the builder of the writer's tests.
# report_large_test.sh REFRAIN CHECK LARGE_JOB
set -euo pipefail
refrain=$(realpath "$1") check=$(realpath "$2") large_job=$(realpath "$3")
for program in node chromium chromedriver; do
  command -v "$program" > /dev/null || { echo "no $program: tools/setup installs it"; exit 1; }
done
cd "$TEST_TMPDIR"
"$large_job" 1 1 12 one
"$large_job" 256 8 6 many
for run in one many; do
  "$refrain" report "$run" -o "$run.html" --quiet
  "$refrain" profile "$run" --json > "$run.profile.json"
  "$refrain" analyze "$run" --json --no-cube > "$run.analyze.json"
  node "$check" "$run.html" "$run.profile.json" "$run.analyze.json"
done
echo "PASS: script test"
