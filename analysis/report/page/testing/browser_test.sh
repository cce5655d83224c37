#!/usr/bin/env bash
# The page in Chromium: browser_test.sh BROWSER_TEST TEMPLATE.
set -uo pipefail
for program in node chromium chromedriver; do
  command -v "$program" > /dev/null || { echo "no $program: tools/setup installs it"; exit 1; }
done
TMPDIR="$TEST_TMPDIR" node "$1" "$2"
status=$?
[ $status -eq 0 ] && echo "PASS: script test"
exit $status
