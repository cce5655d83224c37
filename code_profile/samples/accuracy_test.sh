#!/usr/bin/env bash
# code_profile/samples/accuracy with profiles whose accuracy can be computed by hand.
set -euo pipefail
accuracy=$PWD/$1
cd "$(mktemp -d -p "${TEST_TMPDIR:-/tmp}")"

# loop LINE UNIT SELF TOTAL
loop() {
  printf '{"file": "/a.c", "line": %s, "function": "f%s", "module": "/bin/a", "address": "0x%s", "self": {"%s": %s}, "total": {"%s": %s}}' \
    "$1" "${5-}" "$1" "$2" "$3" "$2" "$4"
}
profile() {  # SOURCE UNIT ALL LOOPS
  printf '{"format": "refrain loops", "source": "%s", "total": {"%s": %s}, "loops": [%s]}' "$@"
}
profile exact instructions 1000 "$(loop 1 instructions 200 800),$(loop 2 instructions 600 600)" > exact.json
profile samples samples 100 "$(loop 1 samples 20 80 '(int)'),$(loop 2 samples 60 60)" > same.json
# Loop 2 has no samples, loop 3 is not in the exact profile.
profile samples samples 100 "$(loop 1 samples 40 80),$(loop 3 samples 40 40)" > other.json

row() { "$accuracy" exact.json "$1" | tail -n 1; }
expect() {
  if [ "$(row "$1")" != "$2" ]; then
    echo "expected: $2"
    echo "     got: $(row "$1")"
    exit 1
  fi
}
# Function names may have their parameters.
expect same.json "| exact.json | 2 | 100 | 1.000 | 1.000 | 1.000 | 1.000 |"
# Self: (1 - 0.2) * 0.25 + (1 - 0.6) * 0.75; total: 1 * 800 / 1400 + (1 - 0.6) * 600 / 1400;
# overlap of self: min(0.25, 0.5); of total: min(0.571, 0.667).
expect other.json "| exact.json | 2 | 100 | 0.500 | 0.743 | 0.250 | 0.571 |"
# Two pairs have a mean, and modules can be left out.
"$accuracy" exact.json same.json exact.json other.json | tail -n 1 | grep -qF "| mean | | | 0.750 |"
"$accuracy" exact.json same.json --without nothing | grep -qF "| 1.000 | 1.000 |"
"$accuracy" exact.json same.json --without a | tail -n 1 | grep -qF "| - | - |"
if "$accuracy" same.json exact.json 2> errors; then exit 1; fi
grep -q "no file of" errors
echo "PASS: script test"
