#!/usr/bin/env bash
# A user's first steps: tools/install, the ways of the README with the installed files, and
# tools/demo. Not a Bazel test, because both call Bazel; tools/test runs it. Exit status 1, and a
# line that says what is wrong, if something is.
set -uo pipefail
cd "$(dirname "$0")/../.."
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong() { echo "installed_check: $*" >&2; exit 1; }
# A program's output without the tracer's messages, which go to stderr.
same() { [ "$("$@" 2>"$work/said")" = "$expected" ] || wrong "another result: $*"; }
# An archive that readers read, with something in it.
has() {
  otf2-print "$1/traces.otf2" >"$work/printed" 2>&1 || wrong "otf2-print fails with $1"
  grep -q "$2" "$work/printed" || wrong "no $2 in $1"
}

tools/install "$work/refrain" >"$work/log" 2>&1 || { cat "$work/log" >&2; wrong "tools/install fails"; }
DESTDIR="$work/packed" tools/install /opt/refrain >"$work/log" 2>&1 || wrong "tools/install fails with DESTDIR"
[ -x "$work/packed/opt/refrain/bin/refrain" ] || wrong "DESTDIR is not put in front"
grep -q '^prefix=/opt/refrain$' "$work/packed/opt/refrain/lib/pkgconfig/refrain.pc" || wrong "DESTDIR is in refrain.pc"

cd "$work"
export OMP_NUM_THREADS=2
export PKG_CONFIG_PATH=$work/refrain/lib/pkgconfig
refrain=$work/refrain/bin/refrain
[ "$("$refrain" --version | head -1)" = "refrain $(pkg-config --modversion refrain)" ] || wrong "versions differ"

"$refrain" doctor >"$work/log" 2>&1 || { cat "$work/log" >&2; wrong "refrain doctor finds a problem"; }

gcc -O2 -fopenmp "$here/test/programs/jacobi.c" -o plain -lm || wrong "gcc"
expected=$(./plain 50) || wrong "the program fails"
same "$refrain" run -o by_command -- ./plain 50
has by_command THREAD_FORK

# shellcheck disable=SC2046  # flags are several words
gcc -O2 -fopenmp "$here/test/programs/jacobi.c" -o linked -lm $(pkg-config --cflags --libs refrain) || wrong "does not link"
REFRAIN_ARCHIVE=by_linking same ./linked 50
has by_linking THREAD_FORK

gfortran -c "$work/refrain/share/refrain/refrain.f90" || wrong "refrain.f90 does not compile"
printf '#include <refrain.h>\nint main(void) { REFRAIN_REGION_BEGIN("one"); REFRAIN_REGION_END("one"); }\n' >own.c
# shellcheck disable=SC2046
gcc own.c -o own $(pkg-config --cflags refrain) || wrong "refrain.h does not compile"
expected=""
same "$refrain" run -o by_header -- ./own
has by_header 'ENTER.*"one"'

PYTHONPATH=$work/refrain/lib/python3/dist-packages /usr/bin/python3 -c '
import refrain
assert refrain.Archive("by_command").info()["threads"] == 2' || wrong "the Python module does not work"
# shellcheck disable=SC2046
g++ -shared -fPIC $(pkg-config --cflags refrain) -x c++ -o patterns.so - <<'CC' || wrong "refrain_patterns.h does not compile"
#include <refrain_patterns.h>
struct One : refrain::Pattern {
  static refrain::Metric metric() { return {"one", "", "One", "", ""}; }
  void finish() override { charge(0, 0, 1); }
};
REFRAIN_PATTERNS(One)
CC
"$refrain" analyze --patterns patterns.so --json by_command >"$work/waits" || wrong "refrain analyze fails with patterns"
grep -q '"one": ' "$work/waits" || wrong "a pattern is not used"

man -l "$work/refrain/share/man/man1/refrain.1" >"$work/page" 2>&1 || [ -z "$(command -v man)" ] || wrong "no manual page"

"$here/tools/demo" "$work/demo" >"$work/log" 2>&1 || { cat "$work/log" >&2; wrong "tools/demo fails"; }
grep -q '^Saved: the full archive has [0-9]* bytes, the reduced one [0-9]* ' "$work/log" || wrong "tools/demo saved nothing"
for archive in full reduced gcc; do has "$work/demo/$archive" THREAD_FORK; done
echo "installed_check: all is well"
