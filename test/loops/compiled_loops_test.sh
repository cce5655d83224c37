#!/usr/bin/env bash
# One source for each compiler and level of optimisation.
set -euo pipefail
exec python3 test/loops/compiled_loops.py tools/refrain tracer/user/refrain.h --programs 80
