#!/usr/bin/env bash
# Every variable of a thread that our libraries reach by its offset (R_X86_64_TPOFF64) is the one
# that was meant: a relocation of one that is local to its file has the number of the next symbol,
# as gold 1.16 writes it.
#
# And they do not ask the C library for gethostid(), which looks up the host's name, in the network if
# it must (tracer/recorder/wraps.cc).
#
# And all show the program what the first one shows.
#
#   thread_locals_test.sh LIBRARY...
set -u
fail() { echo "FAIL: $*"; exit 1; }
shown() { nm -D --defined-only "$1" | awk '{print $3}' | sort -u; }

for library in "$@"; do
  found=$(readelf --wide --relocs "$library" | awk '$3 == "R_X86_64_TPOFF64" {print $5}')
  [ "$(wc -l <<<"$found")" -ge 3 ] || fail "$library: few variables of threads: $found"
  grep -q t_thread <<<"$found" || fail "$library: t_thread is not among them: $found"
  for name in $found; do
    case "$name" in
      *_GLOBAL__N_* | "<null>") fail "$library: $name" ;;
    esac
  done
  missing=$(comm -23 <(shown "$1") <(shown "$library"))
  [ -z "$missing" ] || fail "$library: does not show what $1 does:" $missing
  if readelf --wide --dyn-syms "$library" | grep -q ' gethostid'; then
    fail "$library: gethostid() of the C library"
  fi
done
echo "PASS: script test"
