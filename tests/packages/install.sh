# make install, into a folder: what it brings, that it can be moved, and that make uninstall leaves nothing.
command -v make >/dev/null || skip 'no make'
unset KVCONFORM_DATA MAKEFLAGS MFLAGS MAKELEVEL
# As docs/install.md says it, in the folder of the build.
DESTDIR=$PWD/root KVC_HERE=$PWD
export DESTDIR
documented() { # NUMBER
  awk '$0 == "```sh make" { inside = 1; next } /^```/ { inside = 0 } inside' "$KVC_TOP/docs/install.md" | sed -n "$1p" >block
  grep -q '^make ' block || fail "docs/install.md has no command $1 of make"
  (cd "$KVC_BUILD" && sh -eu "$KVC_HERE/block") >said 2>&1 || fail "$(tail -n 20 said)"
}
documented 1
prefix=$(find root -type d -name bin | head -n 1)
prefix=${prefix%/bin}
mv "$prefix" moved
cd moved
for file in bin/kvconform include/kvconform/plugin.h share/man/man1/kvconform.1 share/bash-completion/completions/kvconform \
  share/zsh/site-functions/_kvconform share/fish/vendor_completions.d/kvconform.fish; do
  [ -s "$file" ] || fail "not installed: $file"
done
(cd "$KVC_TOP" && find cases -name '*.json' | sort) >first
(cd share/kvconform && find cases -name '*.json' | sort) | cmp first - || fail 'not all cases'
rm first
bin/kvconform run builtin:full --budget 100 -q || fail 'moved, it does not run'
bin/kvconform replay share/kvconform/cases/builtin >/dev/null || fail 'moved, cases are not as they say'
# Data of the folder where it is started are never taken: programs lie among them.
mkdir -p ../alone/bin && cp bin/kvconform ../alone/bin/
(cd share/kvconform && if [ ! -e /usr/local/share/kvconform ]; then ../../../alone/bin/kvconform list laws; fi) >said 2>&1 && [ -s said ] &&
  fail 'the current folder was taken for data'
rm said
# The manual reads without a complaint.
if command -v man >/dev/null; then
  MANROFFSEQ='' man --warnings -E UTF-8 -l share/man/man1/kvconform.1 >page 2>complaint || fail 'man'
  [ ! -s complaint ] || fail "man: $(cat complaint)"
  [ "$(grep -c . page)" -gt 150 ] || fail 'the manual is short'
  rm page complaint
fi
cd ..
mv moved "$prefix"
mkdir "$prefix/share/kvconform/adapters/python/kvconform_adapter/__pycache__"
documented 2
! find root ! -type d | grep . || fail 'make uninstall leaves files'
! find "$prefix" -name '*kvconform*' 2>/dev/null | grep . || fail 'make uninstall leaves folders'
