#!/usr/bin/env bash
# What tools/package makes: the files, fields and dependencies of the .deb, lintian's opinion of it, the manual pages by
# man and mandoc, the modulefile by Environment Modules, the recipe for Spack (without Spack). Not a Bazel test,
# because tools/install calls Bazel; tools/test --all runs it. Exit status 1, and a line that says what is wrong, if
# something is. tools/campaign package-in-clean-root installs and uses the package.
set -uo pipefail
cd "$(dirname "$0")/../.."
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong() { echo "package_check: $*" >&2; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; wrong "$* fails"; }; }
same() { [ "$2" = "$version" ] || wrong "$1 has version '$2', not $version"; }

tools/setup man-db mandoc environment-modules || wrong "packages are missing"
export DEBFULLNAME="Refrain's tests" DEBEMAIL=refrain@packages.debian.org
quietly tools/package --lint -o "$work"
package=$(echo "$work"/refrain_*.deb)
[ -f "$package" ] || wrong "no package"
quietly dpkg-deb -x "$package" "$work/root"
usr=$work/root/usr
quietly tools/install "$work/prefix"
version=$("$work/prefix/bin/refrain" --version | sed -n '1s/.* //p')

# One version everywhere.
same "the package" "$(dpkg-deb -f "$package" Version | sed 's/-0upstream1$//')"
same refrain.pc "$(PKG_CONFIG_LIBDIR=$(echo "$usr"/lib/*/pkgconfig) pkg-config --modversion refrain)"
same "the Python module" "$(PYTHONPATH=$usr/lib/python3/dist-packages /usr/bin/python3 -Bc 'import refrain; print(refrain.__version__)')"
same "the page" "$(sed -n 's/^\.TH.*"Refrain \(.*\)" "User.*/\1/p' "$work/prefix/share/man/man1/refrain.1")"
same "the modulefile" "$(ls "$work/prefix/share/modulefiles/refrain")"
same CITATION.cff "$(sed -n 's/^version: //p' CITATION.cff)"

# What tools/install installs is in it: libraries in a folder of their own, all else where it was; the modulefile is not.
(cd "$work/prefix" && find . ! -type d ! -path './share/modulefiles/*' | sed 's|^\./lib/librefrain|./lib/refrain/librefrain|; s|/pkgconfig/|/*&|; /COPYING/d; s|\(/man1/.*\)|\1.gz|' | sort) >"$work/wanted"
[ "$(wc -l <"$work/wanted")" -gt 30 ] || wrong "tools/install installed little"
while read -r file; do
  compgen -G "$usr/$file" >/dev/null || wrong "$file is not in the package"
done <"$work/wanted"
for library in librefrain.so librefrain.so.0 librefrain_{,job_}{mpich,openmpi}.so; do
  [ -e "$usr/lib/refrain/$library" ] || wrong "no $library"
done
[ "$(find "$work/root" -name '*modulefiles*')" = "" ] || wrong "a modulefile is in the package"
for file in copyright changelog.gz changelog.Debian.gz README.md LIMITATIONS.md docs/info.md; do
  [ -s "$usr/share/doc/refrain/$file" ] || wrong "no $file"
done
[ -z "$(find "$work/root" ! -user "$(id -un)" -o -perm /022 ! -type l)" ] || wrong "files that others may write"
dpkg-deb -c "$package" | awk '$2 != "root/root"' | grep -q . && wrong "files that are not root's"
# Its command finds its libraries.
"$usr/bin/refrain" --version | grep -q "OpenMP" || wrong "the packed command does not run"
OMP_NUM_THREADS=2 quietly "$usr/bin/refrain" run -o "$work/archive" -- "$usr/bin/refrain" doctor --be-traced openmp
[ -s "$work/archive/traces.otf2" ] || wrong "the packed command does not trace"
depends=$(dpkg-deb -f "$package" Depends)
for name in libc6 libdw1 libelf1 libarchive13 libpugixml1v5 zlib1g python3; do
  [[ " $depends" == *" $name "* ]] || wrong "does not depend on $name: $depends"
done
# The C++ library is in it; MPI and OpenMP are the program's.
for name in libstdc++6 libmpich12 libopenmpi3 libomp5; do
  [[ " $depends" != *" $name"* ]] || wrong "depends on $name"
done

# Manual pages without complaints.
pages=("$work"/prefix/share/man/man1/*.1)
for page in "${pages[@]}"; do
  MANWIDTH=100 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>"$work/said" >/dev/null || wrong "man cannot read $page"
  [ -s "$work/said" ] && { cat "$work/said" >&2; wrong "man complains of $page"; }
done
mandoc -Tlint -Wwarning "${pages[@]}" >"$work/said" || { cat "$work/said" >&2; wrong "mandoc complains"; }

# The modulefile, loaded and unloaded.
cat >"$work/modules.sh" <<SHELL
set -e
. /usr/share/modules/init/bash
before=\$PATH:\${PYTHONPATH-}:\${PKG_CONFIG_PATH-}
module use $work/prefix/share/modulefiles
module load refrain
[ "\$(command -v refrain)" = $work/prefix/bin/refrain ]
[ "\$(pkg-config --variable=prefix refrain)" = $work/prefix ]
/usr/bin/python3 -Bc 'import refrain'
[[ \$(man -w refrain-info) == $work/prefix/share/man/man1/refrain-info.1 ]]
module list -t 2>&1 | grep -qx refrain/$version
module whatis refrain 2>&1 | grep -q "Refrain $version"
module help refrain 2>&1 | grep -q "refrain run"
module unload refrain
[ "\$PATH:\${PYTHONPATH-}:\${PKG_CONFIG_PATH-}" = "\$before" ]
SHELL
quietly env -i HOME="$work" PATH=/usr/bin:/bin bash -x "$work/modules.sh"

# The recipe, with stand-ins for what Spack offers.
quietly tools/package --spack "$work/spack"
quietly /usr/bin/python3 -B test/command/spack_recipe.py "$work/spack" "$version"
cd "$here"
echo "package_check: all is well"
