#!/usr/bin/env bash
# tools/setup with a synthetic apt: it never removes a package, and unpacks what would need that. setup_test.sh SETUP
set -euo pipefail
setup=$(realpath "$1")
cd "$TEST_TMPDIR"
mkdir -p bin
# "one" is installed, nothing else. To install "new", or "new-part" that it needs, apt would remove others.
cat > bin/dpkg-query << 'END'
#!/bin/sh
for last; do :; done
if [ "$last" = one ]; then echo "install ok installed"; else exit 1; fi
END
cat > bin/apt-get << 'END'
#!/bin/sh
echo "$*" >> "$CALLS"
case " $* " in
  *" -s "*" new "*) printf 'Reading lists...\nRemv libold5 [1:14.0]\nInst new-part (1)\nInst needed (1)\nInst new (1)\nConf new (1)\n' ;;
  *" -s "*" new-part "*) printf 'Remv libold5 [1:14.0]\nInst new-part (1)\n' ;;
  *" -s "*) printf 'Inst other (1)\n' ;;
  *" download "*) for last; do :; done; echo "$last" > "$last.deb" ;;
esac
END
cat > bin/dpkg-deb << 'END'
#!/bin/sh
mkdir -p "$3" && cp "$2" "$3/"
END
printf '#!/bin/sh\nexit 1\n' > bin/update-alternatives
printf '#!/bin/sh\n[ "$1" = -n ] && shift\nexec "$@"\n' > bin/sudo
chmod +x bin/*
export PATH=$PWD/bin:$PATH CALLS=$PWD/calls XDG_CACHE_HOME=$PWD/cache

fail() { echo "$1"; cat said calls; exit 1; }
# try STATUS ARGUMENTS: its exit status; what it says is in `said`, apt's calls in `calls`.
try() {
  local wanted=$1 status=0
  shift
  : > calls
  "$setup" "$@" > said 2>&1 || status=$?
  [ $status -eq "$wanted" ] || fail "exit status $status of setup $*"
}
installs() { grep -q "^install -y .*--no-remove.* $1\( \|$\)" calls; }

try 0 one
[ ! -s calls ] && [ ! -s said ] || fail "all is there"
try 0 one other
installs other || fail "other is not installed"
! grep -q Unpacking said || fail "nothing had to be unpacked"
try 0 one new other
installs other || fail "other is not installed"
installs needed || fail "what new needs is not installed"
! installs new && ! installs new-part || fail "installed what removes others"
grep -q 'Unpacking into .*: new new-part$' said || fail "what is unpacked is not said"
[ "$(cat cache/refrain/packages/new.deb cache/refrain/packages/new-part.deb)" = "new
new-part" ] || fail "not unpacked"
try 0 one new
[ ! -s calls ] || fail "unpacked again"
! grep -q '^install -y' calls || ! grep '^install -y' calls | grep -vq -- --no-remove || fail "may remove"
try 2 --remove one
grep -q 'Removes none, ever' said || fail "no usage"

# Without rights, what is missing is named and nothing is done.
printf '#!/bin/sh\necho 1000\n' > bin/id
rm bin/sudo
mkdir -p tools
for tool in bash sed grep cat sort mktemp rm mkdir touch awk; do ln -sf "$(command -v "$tool")" tools/; done
PATH=$PWD/bin:$PWD/tools try 2 one other further
grep -qx 'tools/setup: run it as root or with sudo; these packages are missing: other further' said || fail "not named"
[ ! -s calls ] || fail "apt was called"

# Tiers: each has what the one before has.
chmod +x bin/*
for tier in run build test; do PATH=$PWD/bin:$PATH "$setup" --list $tier | sort > $tier; done
[ -z "$(comm -23 run build)$(comm -23 build test)" ] || fail "a tier lacks packages of the one before"
[ "$(wc -l < run)" -le 6 ] && [ "$(wc -l < build)" -le 26 ] || fail "more packages than the README says"
echo "PASS: script test"
