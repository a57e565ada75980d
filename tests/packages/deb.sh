# The package for Debian: unpacked anywhere its program runs; installed in a copy of this system it runs, and can be removed. Compiled
# without optimisation, which is quicker.
for needed in dpkg-deb dpkg-shlibdeps make; do command -v "$needed" >/dev/null || skip "no $needed"; done
[ -x "$KVC_TOP/configure" ] || skip 'no configure'
[ ! -e "$KVC_TOP/config.status" ] || skip 'the source tree itself is configured'
unset KVCONFORM_DATA
# As docs/install.md says it; what installs is run in a copy of this system, below.
ln -s "$KVC_TOP/packaging" packaging
export CFLAGS=-O0
run_block docs/install.md deb 1
deb=$(echo "$PWD"/packages/kvconform_*.deb)
version=$("$KVC_BUILD/bin/kvconform" --version | sed 's/.* //')
[ "$(dpkg-deb -f "$deb" Package Version | tr '\n' ' ')" = "Package: kvconform Version: $version " ] || fail 'name or version'
for library in libc6 libcjson1; do
  dpkg-deb -f "$deb" Depends | grep -q "$library (>= " || fail "does not depend on $library: $(dpkg-deb -f "$deb" Depends)"
done
dpkg-deb -c "$deb" >listed
! grep -v ' root/root ' listed || fail 'not all belongs to root'
! grep -E '^[^ ]{7,9}w' listed || fail 'others may write'
for file in bin/kvconform include/kvconform/plugin.h lib/pkgconfig/kvconform.pc share/man/man1/kvconform.1.gz share/doc/kvconform/copyright \
  share/bash-completion/completions/kvconform share/zsh/vendor-completions/_kvconform share/fish/vendor_completions.d/kvconform.fish; do
  grep -q " \./usr/$file\$" listed || fail "lacks /usr/$file"
done
dpkg-deb -x "$deb" root
(cd / && "$OLDPWD/root/usr/bin/kvconform" run builtin:full --budget 100 -q) || fail 'unpacked, it does not run'

awk '$0 == "```sh system" { inside = 1; next } /^```/ { inside = 0 } inside' "$KVC_TOP/docs/install.md" >block
grep -q 'apt-get install' block || fail 'docs/install.md does not say how the package is installed'
# A copy of this system that is gone afterwards; where that is not possible, unpacking must do.
cat >inside.sh <<'END'
set -eu
cd /package
. /package/block
env -i PATH=/usr/bin:/bin HOME=/nonexistent kvconform run builtin:full --budget 100 -q
env -i PATH=/usr/bin:/bin kvconform replay /usr/share/kvconform/cases/builtin >/dev/null
dpkg --verify kvconform
apt-get remove -y kvconform >/dev/null
find /usr -name '*kvconform*' -newer "$1" | grep -v __pycache__ || echo installed and removed
END
cat >copy.sh <<'END'
set -eu
mount -t tmpfs none copy
mkdir copy/above copy/work copy/whole
mount -t overlay overlay -o "lowerdir=/,upperdir=$PWD/copy/above,workdir=$PWD/copy/work" copy/whole
mount -t proc proc copy/whole/proc
mkdir -p copy/whole/package
cp -r block inside.sh packages copy/whole/package
exec chroot copy/whole sh /package/inside.sh "/package/packages/${1##*/}"
END
mkdir copy
if [ "$(id -u)" -eq 0 ] && unshare -m sh -c 'mount -t tmpfs none copy && mkdir copy/a copy/b copy/c &&
  mount -t overlay overlay -o "lowerdir=/,upperdir=$PWD/copy/a,workdir=$PWD/copy/b" copy/c' 2>/dev/null; then
  unshare -m sh copy.sh "$deb" >said 2>&1 || fail "$(cat said)"
  grep -qx 'installed and removed' said || fail "not all was removed: $(cat said)"
fi
