# Plugins: the example conforms, with each compiler that is there; of a plugin with a fault it is said in one line what is wrong, or
# the op that did it is found, and nothing else is harmed.
compiler=${CC:-cc}
command -v "${compiler%% *}" >/dev/null || skip 'no C compiler'
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
build() { # LANGUAGE SOURCE OUTPUT FLAG...
  language=$1 source=$2 output=$3
  shift 3
  # shellcheck disable=SC2086 # $language and $warnings are words
  $language $warnings -O1 -shared -fPIC -I"$KVC_TOP/include" -I"$KVC_TOP" "$@" "$source" -o "$output"
}

# The same file is C11 and C++17.
for language in 'gcc -std=c11' 'clang -std=c11' 'g++ -x c++ -std=c++17' 'clang++ -x c++ -std=c++17'; do
  command -v "${language%% *}" >/dev/null || continue
  build "$language" "$KVC_TOP/examples/my_cache.c" my_cache.so
  kvconform run plugin:my_cache.so --budget 300 --quiet || fail "$language: the example does not conform"
done
build "$compiler -std=c11" "$KVC_TOP/examples/my_cache.c" my_cache.so
try kvconform smoke plugin:./my_cache.so
kvconform run builtin:full+zero_empties --budget 100 --report another --quiet || [ $? -eq 1 ]
try kvconform replay another/cases --target plugin:./my_cache.so
kvconform run plugin:my_cache.so --budget 2000 | sed 's/[0-9,]* ops/N ops/'
kvconform run plugin:my_cache.so:F*l --budget 100 --quiet
kvconform run plugin:my_cache.so --variant 'F*l' --budget 100 --quiet
try kvconform run plugin:my_cache.so:Fool --budget 100
try kvconform run plugin: --budget 100
try kvconform run plugin:./my_cache.so: --budget 100
try kvconform matrix plugin:./my_cache.so --versions 1.0 -o matrix
mkdir 'a:folder' && cp my_cache.so 'a:folder/x.so'
kvconform run 'plugin:a:folder/x.so' --budget 100 --quiet
# Two that call themselves the same could not be told apart in a report.
cp my_cache.so another.so
kvconform run plugin:my_cache.so:Full plugin:my_cache.so plugin:my_cache.so:F* --budget 100 --quiet
try kvconform run plugin:my_cache.so plugin:another.so --budget 100 2>&1 | sed "s/[0-9,]* ops/N ops/"

# One line each. A hang takes ten times --timeout: they run beside the others.
told() { # PLUGIN SECONDS
  status=0
  timeout 60 kvconform run "plugin:./$1.so" --budget 40 --jobs 1 --timeout "$2" --memory 300 >"$1.output" 2>"$1.complaint" || status=$?
  echo "$1: $status: $(grep -E '^✗ .*(crash|stop|hang|answer|memory|ends|another)|not run: |^  law:|^✓ No' "$1.output" | tail -n 3 |
    sed -e "s/v[0-9]\{3,\}/vN/g" -e 's/vN: [a-z]*([-0-9]*)/vN: .../' -e 's/ *law: *\([A-Z]*\).*/\1/' -e 's/.*not run: //' -e 's/; [0-9].*//' -e 's/\(cannot be loaded: [^:]*\): .*/\1: .../' |
    tr '\n' ' ')"
  grep '^kvconform:' "$1.complaint" | grep -v ' sequences' || :
}
faults=$(sed -n '/^enum fault {/,/^};/s/^    \([a-z_, ]*\),\{0,1\}$/\1/p' "$KVC_TOP/tests/plugins/hostile.c" | tr -d ',')
slow='constructor_hangs variant_hangs close_hangs run_hangs run_leaks'
for fault in $faults; do
  $compiler -std=c11 -O0 -shared -fPIC -I"$KVC_TOP/include" -I"$KVC_TOP" -D_GNU_SOURCE -DFAULT="$fault" "$KVC_TOP/tests/plugins/hostile.c" \
    -o "$fault.so"
done
for fault in $slow; do
  told "$fault" 0.3 >"$fault.told" 2>&1 &
done
for fault in $faults; do
  case " $slow " in *" $fault "*) continue ;; esac
  # Which op the worker had come to when it was missed is not said.
  told "$fault" 5 | sed '/^run_closes_all/s/Full: .* ends/Full: ... ends/'
done
wait
for fault in $slow; do
  sed 's/: crop(.*never used/: .../' "$fault.told" # which op is first above the limit is not said
done

echo 'not a shared object' >text.so
$compiler -std=c11 -O0 -shared -fPIC -I"$KVC_TOP/include" -Dkvconform_plugin=another_name "$KVC_TOP/examples/my_cache.c" -o nameless.so
mkdir folder.so
for name in text nameless nowhere folder; do told $name 5; done

# smoke looks from a safe place too.
for fault in none constructor_aborts run_exits data_null variant_odd version_newer; do
  echo "$fault: $(kvconform smoke "plugin:./$fault.so" --timeout 0.3 2>complaint | grep -v '^ok')"
done
