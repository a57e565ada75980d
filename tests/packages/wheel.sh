# What pip installs, in environments that have nothing else. Compiled without optimisation, which is quicker.
[ -n "${KVCONFORM_PACKAGES-}" ] || skip 'no environment with hatchling: KVCONFORM_PACKAGES names its Python'
unset KVCONFORM_DATA
export PYTHONDONTWRITEBYTECODE=1
program=$KVC_BUILD/bin/kvconform
version=$("$program" --version | sed 's/.* //')

# Without a compiler, and with one that is none: told in one line.
CC=$PWD/no-compiler "$KVC_TOP/packaging/wheel" packages 2>complaint && fail 'made without a compiler'
grep -q "NotBuiltError: no C compiler works (tried: .*/no-compiler); Debian packages: gcc libc6-dev; CC names another" complaint ||
  fail "without a compiler: $(tail -n 3 complaint)"

# As docs/install.md says it.
ln -s "$KVC_TOP/packaging" packaging
export CFLAGS=-O0
run_block docs/install.md pip 1
wheel=$(echo packages/kvconform-"$version"-py3-none-*.whl)
source=packages/kvconform-$version.tar.gz
[ -f "$wheel" ] && [ -f "$source" ] || fail "made: $(ls packages)"
# The same files as an installed tree has, and cases.
"$KVCONFORM_PACKAGES" -m zipfile -l "$wheel" | awk '{print $1}' | sed -n 's|^kvconform/share/kvconform/||p' | grep -v '^cases/' | sort >first
(cd "$KVC_TOP" && sed -n '/^nobase_dist_pkgdata_DATA = /,/[^\\]$/p' Makefile.am) | tr -d '\\\t ' | grep / | grep -v kvconform_pytest.py | sort >second
cmp first second || fail "not the data of the other build: $(diff first second | head -n 5)"
! tar -tzf "$source" | grep -E '/(configure|Makefile\.in)$|__pycache__|/reports/transformers/' || fail 'the source package has what it should not'

# An environment without pip, and nothing in it.
fresh() { # NAME
  "$KVCONFORM_PACKAGES" -m venv --without-pip "$1"
  "$KVCONFORM_PACKAGES" -m pip -q --python "$1/bin/python" install --no-index --no-deps "$wheel" 2>&1
}
fresh empty
bin=$PWD/empty/bin
mkdir elsewhere
cd elsewhere
# Nothing that is not everywhere is linked.
if command -v readelf >/dev/null; then
  readelf -d "$bin"/../lib/python3*/site-packages/kvconform/bin/kvconform | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(lib(c|m|dl|rt|pthread)|ld-linux.*)\.so' &&
    fail 'the program needs libraries that a machine may lack'
fi
[ "$("$bin/kvconform" --version)" = "kvconform $version" ] || fail 'the version'
"$bin/python" -m kvconform --help >help
"$program" --help | cmp - help || fail 'python -m kvconform'
"$bin/kvconform" run builtin --budget 200 -q --json right.json || fail 'builtin'
"$bin/kvconform" run builtin:full+zero_empties --budget 200 --report out >said && fail 'nothing is found'
"$bin/kvconform" replay out/cases >said && fail 'the case shows nothing'
data=$("$bin/python" -c 'import kvconform; print(kvconform.DATA)')
"$bin/kvconform" replay "$data/cases/builtin" >said || fail "cases: $(cat said)"
if command -v cc >/dev/null; then
  cc -shared -fPIC -I"$("$bin/python" -c 'import kvconform; print(kvconform.INCLUDE)')" -o my_cache.so "$data/examples/my_cache.c"
  "$bin/kvconform" run ./my_cache.so --budget 200 -q || fail 'a plugin'
fi
# Classes are those of the interpreter that it was installed for, whatever is first in PATH.
"$bin/kvconform" new --like full -o mine >/dev/null
cp mine/my_cache.py "$(echo "$bin"/../lib/python3*/site-packages)/only_there.py"
"$bin/kvconform" run python:only_there:MyCache --budget 100 --jobs 1 -q || fail 'a class of that interpreter'
env KVCONFORM_INTERPRETER="$KVCONFORM_PACKAGES" "$bin/kvconform" run python:only_there:MyCache --budget 100 -q 2>complaint &&
  fail 'KVCONFORM_INTERPRETER is not used'
cd ..

# Beside transformers and pytest of the user's own.
if [ -n "${KVCONFORM_PYTHON-}" ] && [ -n "${KVCONFORM_TOOLS-}" ]; then
  fresh beside
  for other in "$KVCONFORM_PYTHON" "$KVCONFORM_TOOLS/python"; do
    "$other" -c 'import sys; print("\n".join(place for place in sys.path if place.endswith("site-packages")))'
  done >beside.pth
  mv beside.pth "$(echo beside/lib/python3*/site-packages)/"
  has=$("$KVCONFORM_PYTHON" -c 'import importlib.metadata as m; print(m.version("transformers"))')
  beside/bin/kvconform run transformers:DynamicLayer --budget 20 --jobs 1 -q --json there.json || [ $? -eq 1 ] || fail 'transformers'
  grep -q "\"version\":.*\"$has\"" there.json || fail "not the transformers $has that is there"
  # The plugin finds the program of its own installation, though it is not in PATH.
  PATH=/usr/bin:/bin beside/bin/python -m pytest -p no:cacheprovider --kvconform transformers.cache_utils:DynamicLayer --kvconform-budget 20 >said 2>&1 || :
  grep -qE '^=.* [0-9]+ passed' said || fail "the pytest plugin: $(tail -n 20 said)"
fi

# And nothing is left.
"$KVCONFORM_PACKAGES" -m pip -q --python empty/bin/python uninstall -y kvconform
! find empty -name '*kvconform*' | grep . || fail 'not all was removed'
