#!/usr/bin/env bash
# with_python.sh SCRIPT REFRAIN: runs a test.
set -eu
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$@"
echo "PASS: script test"
