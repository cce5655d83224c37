#!/usr/bin/env bash
# tools/setup beside a made-up apt: it says what would be removed before it removes anything. setup_test.sh SETUP
set -euo pipefail
setup=$(realpath "$1")
cd "$TEST_TMPDIR"
mkdir -p bin
# "one" is there, nothing else.
cat > bin/dpkg-query << 'END'
#!/bin/sh
for last; do :; done
if [ "$last" = one ]; then echo "install ok installed"; else exit 1; fi
END
cat > bin/apt-get << 'END'
#!/bin/sh
echo "$*" >> "$CALLS"
case " $* " in
  *" -s "*" new "*) printf 'Reading lists...\nRemv libold5 [1:14.0]\nRemv program-of-old [2]\nInst new (1)\nConf new (1)\n' ;;
  *" -s "*) printf 'Inst other (1)\n' ;;
esac
END
printf '#!/bin/sh\nexit 1\n' > bin/update-alternatives
printf '#!/bin/sh\nexec "$@"\n' > bin/sudo
chmod +x bin/*
export PATH=$PWD/bin:$PATH CALLS=$PWD/calls

fail() { echo "$1"; cat said calls; exit 1; }
# try STATUS ARGUMENTS: its exit status; what it says is in `said`, apt's calls in `calls`.
try() {
  local wanted=$1 status=0
  shift
  : > calls
  "$setup" "$@" > said 2>&1 || status=$?
  [ $status -eq "$wanted" ] || fail "exit status $status of setup $*"
}
installs() { grep -q '^install -y.* '"$1"'$' calls; }

try 0 one
[ ! -s calls ] && [ ! -s said ] || fail "all is there"
try 0 one other
installs other || fail "nothing is removed for it"
! grep -q removes said || fail "nothing is removed"
try 2 one new
grep -qx 'tools/setup: apt removes for these: libold5, program-of-old' said || fail "what is removed is not said"
grep -q 'nothing is installed. With tools/setup --remove' said || fail "no way round"
! installs new || fail "installed all the same"
try 0 --remove one new
grep -q 'apt removes for these: libold5, program-of-old' said || fail "what is removed is not said"
installs new || fail "not installed"
REFRAIN_SETUP=remove try 0 new
installs new || fail "not installed"
echo "PASS: script test"
