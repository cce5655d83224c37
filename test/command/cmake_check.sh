#!/usr/bin/env bash
# The build without Bazel: whether CMakeLists.txt is what tools/packaging/cmake.py writes, and whether it builds what
# Bazel builds. Configures and builds in a folder of its own, installs, compares the files with those of tools/install
# and what the libraries show, and traces a program. Not a Bazel test, because it takes minutes and calls Bazel;
# tools/test --all runs it. Exit status 1, and a line that says what is wrong, if something is.
#
#   test/command/cmake_check.sh [BUILD]     BUILD: a folder to build in that is kept
set -uo pipefail
build=${1:+$(realpath -m "$1")}
cd "$(dirname "$0")/../.." || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=${build:-$work/build}
wrong() { echo "cmake_check: $*" >&2; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { tail -50 "$work/log" >&2; wrong "$* fails"; }; }

tools/setup cmake make || wrong "packages are missing"
quietly tools/packaging/cmake.py --check
quietly cmake -S . -B "$build"
quietly cmake --build "$build" -j "${CMAKE_CHECK_JOBS:-$(nproc)}"

# The same files as of Bazel's build, with the same text where they are no programs.
quietly env DESTDIR="$work/cmake" cmake --install "$build" --prefix /opt/refrain
quietly env DESTDIR="$work/bazel" tools/install /opt/refrain
for made in cmake bazel; do
  (cd "$work/$made" && find . ! -type d -printf '%p %y %m %l\n' | sort) >"$work/$made.files"
done
diff "$work/bazel.files" "$work/cmake.files" >&2 || wrong "other files than tools/install installs"
while read -r file; do
  cmp -s "$work/bazel/$file" "$work/cmake/$file" || wrong "$file differs"
done < <(cd "$work/bazel" && find . -type f ! -name '*.so*' ! -path '*/bin/*' ! -path '*/libexec/*')

# The same symbols, needs and name of each library.
shown() { nm -D --defined-only "$1" | awk '{ print $2, $3 }' | sort; readelf -d "$1" | grep -E 'NEEDED|SONAME|RUNPATH|RPATH|FLAGS' | sed 's/^ *[^ ]* *//' | sort; }
while read -r file; do
  shown "$work/bazel/$file" >"$work/bazel.shown"
  shown "$work/cmake/$file" >"$work/cmake.shown"
  diff "$work/bazel.shown" "$work/cmake.shown" >&2 || wrong "$file shows something else"
done < <(cd "$work/bazel" && find . -type f \( -name '*.so*' -o -path '*/bin/*' \))

# It traces.
quietly cmake --install "$build" --prefix "$work/refrain"
refrain=$work/refrain/bin/refrain
quietly gcc -O2 -fopenmp test/programs/jacobi.c -o "$work/jacobi" -lm
export OMP_NUM_THREADS=2
quietly "$refrain" run -o "$work/archive" -- "$work/jacobi" 50
"$refrain" info "$work/archive" >"$work/info" || wrong "refrain info fails"
grep -q '^1 main' "$work/info" || { cat "$work/info" >&2; wrong "no loop was found"; }
quietly "$refrain" report -o "$work/report.html" "$work/archive"
PYTHONPATH=$work/refrain/lib/python3/dist-packages quietly /usr/bin/python3 -Bc "
import refrain
assert refrain.Archive('$work/archive').info()['threads'] == 2"
echo "PASS: script test"
