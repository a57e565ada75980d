# Packages on bare systems: the one for Debian on a new Debian 12, installed by apt with what it depends on; the source package by pip in
# an environment of its own, which fetches hatchling and compiles with optimisation.
export PYTHONDONTWRITEBYTECODE=1
unset KVCONFORM_DATA
"$KVC_TOP/packaging/wheel" packages >said || fail "$(cat said)"
python3 -m venv own
own/bin/pip -q install packages/kvconform-*.tar.gz >said 2>&1 || fail "$(tail -n 20 said)"
(cd / && "$OLDPWD/own/bin/kvconform" run builtin --budget 2000 -q) || fail 'the source package'

[ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null || skip 'the package for Debian was not tried: not root, or no debootstrap'
"$KVC_TOP/packaging/deb" packages >said || fail "$(cat said)"
address=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' | head -n 1)
[ -n "$address" ] || skip 'the package for Debian was not tried: apt knows no bookworm'
debootstrap --variant=minbase bookworm bare "$address" >said 2>&1 || fail "$(tail -n 5 said)"
cp packages/kvconform_*.deb bare/
cp /etc/apt/apt.conf.d/* bare/etc/apt/apt.conf.d/
cp /etc/resolv.conf bare/etc/
chroot bare sh -c 'apt-get update && apt-get install -y --no-install-recommends /kvconform_*.deb' >said 2>&1 || fail "$(tail -n 10 said)"
chroot bare sh -c 'cd / && kvconform run builtin --budget 2000 -q' || fail 'the package for Debian'
chroot bare sh -c 'kvconform run builtin:full+zero_empties --budget 200' >said && fail 'nothing is found'
grep -q ZERO said || fail "$(cat said)"
