#!/usr/bin/env bash
# The page's modules in node: pure_test.sh PURE_TEST.
set -uo pipefail
node --test "$1" > "$TEST_TMPDIR/out" 2>&1
status=$?
grep -v '^ *\(---\|\.\.\.\|duration_ms\|type:\)' "$TEST_TMPDIR/out"
[ $status -eq 0 ] && grep -q '^# fail 0$\|^ℹ fail 0$' "$TEST_TMPDIR/out" && echo "PASS: script test"
exit $status
