# The examples: process adapters conform, and a planted fault is found; plugins build against the installed header alone.
compiler=${CC:-cc}
examples=$KVC_TOP/examples

# Runs an adapter, and then one whose crop forgets a token, by a change that is made with sed.
judge() { # COMMAND FILE CHANGE
  kvconform smoke "exec:$1 $examples/$2" >output || { cat output; fail "$2: smoke"; }
  kvconform run "exec:$1 $examples/$2" --budget 600 --jobs 1 >output || { cat output; fail "$2 does not conform"; }
  grep -q '^✓ Full  conforms, 600 sequences' output || fail "$2 was not run"
  sed "$3" "$examples/$2" >broken
  ! cmp -s broken "$examples/$2" || fail "$2: nothing was changed"
  status=0
  kvconform run "exec:$1 broken" --budget 100 --jobs 1 --json broken.json >output || status=$?
  [ "$status" -eq 1 ] || { cat output; fail "$2: the fault is not found: $status"; }
  python3 "$KVC_TOP/tests/command_line/json_schema.py" "$KVC_TOP/reports/schemas/kvconform-result-1.schema.json" broken.json
}
# The command of a report replays the case as it stands there.
replay() { # TARGET
  status=0
  kvconform run "$1" --budget 100 --jobs 1 --report report --quiet || status=$?
  [ "$status" -eq 1 ] || fail "$1: $status"
  command=$(python3 -c 'import json; print(json.load(open("report/result.json"))["runs"][0]["findings"][0]["replay"])')
  (cd report && ln -sf ../broken* . && eval "$command") >output || status=$?
  grep -q 'breaks' output || { cat output; fail "does not replay: $command"; }
}
export PYTHONDONTWRITEBYTECODE=1
if command -v python3 >/dev/null; then
  judge python3 my_cache.py 's/max(0, len(cache\["keys"\]) + arguments\[0\])/max(0, len(cache["keys"]) + arguments[0] + 1)/'
else
  echo 'not run: there is no python3'
fi
if command -v node >/dev/null; then
  judge node my_cache.js 's/cache.keys.length = cache.values.length = kept/cache.keys.length = kept/'
else
  echo 'not run: there is no node'
fi

command -v "${compiler%% *}" >/dev/null || { echo 'not run: there is no C compiler'; exit 0; }
# The header as it is installed, found as a stranger would find it.
(unset MAKEFLAGS MFLAGS MAKELEVEL && cd "$KVC_BUILD" &&
  make install-pkgincludeHEADERS install-nodist_pkgconfigDATA DESTDIR="$OLDPWD/installed") >make.output 2>&1 || { cat make.output; fail 'make install'; }
file=$(find installed -name kvconform.pc)
header=$(find installed -name plugin.h)
case $header in */kvconform/plugin.h) ;; *) fail "the header is installed as $header" ;; esac
[ "$(find installed -name '*.h' | wc -l)" -eq 1 ] || fail 'more than one header is installed'
if command -v pkg-config >/dev/null; then
  flags=$(PKG_CONFIG_SYSROOT_DIR=$PWD/installed PKG_CONFIG_PATH=$(dirname "$file") pkg-config --cflags kvconform)
else
  flags=-I${header%/kvconform/plugin.h}
fi
mkdir mine && cp "$examples/my_cache.c" "$examples/rows_cache.cc" mine
# shellcheck disable=SC2086 # $flags are words
$compiler -std=c11 -shared -fPIC $flags mine/my_cache.c -o my_cache.so
kvconform run plugin:my_cache.so --budget 600 --quiet
sed '/my_crop(&cache->values, (size_t)-/d' "$examples/my_cache.c" >broken.c
# shellcheck disable=SC2086
$compiler -std=c11 -shared -fPIC $flags broken.c -o "broken's.so"
! command -v python3 >/dev/null || replay "plugin:./broken's.so"
if command -v c++ >/dev/null; then
  # shellcheck disable=SC2086
  c++ -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -shared -fPIC $flags mine/rows_cache.cc -o rows_cache.so
  kvconform run plugin:rows_cache.so --budget 3000 --quiet
else
  echo 'not run: there is no C++ compiler'
fi
