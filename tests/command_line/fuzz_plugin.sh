# A plugin that was compiled with coverage is searched by it: a fault that chance does not come to is found, with each compiler and kind of
# coverage that is there. One with sanitizers needs no other command.
compiler=${CC:-cc}
command -v "${compiler%% *}" >/dev/null || skip 'no C compiler'
build() { # OUTPUT COMPILER FLAG...
  output=$1
  shift
  "$@" -g -O1 -shared -fPIC -I"$KVC_TOP/include" -I"$KVC_TOP" "$KVC_TOP/tests/plugins/deep.c" -o "$output" 2>/dev/null
}
found() { # NAME BUDGET TIMEOUT: what was found, in a line. On a busy machine a short timeout is taken for a hang.
  status=0
  kvconform fuzz "./$1.so" --budget "$2" --report "$1" --seed 3 --timeout "$3" >"$1.output" 2>"$1.complaint" || status=$?
  echo "$1: $status: $(sed -n 's/^  \(case\|law\): *//p' "$1.output" | tr '\n' ' ')"
}

# shellcheck disable=SC2086 # the compiler may be words
build plain.so $compiler -DDEPTH=3
found plain 50000 5
tried=0
for way in 'clang inline-8bit-counters' 'clang trace-pc-guard' 'gcc trace-pc'; do
  name=$(echo "$way" | tr -d ' ')
  # shellcheck disable=SC2086
  set -- $way
  command -v "$1" >/dev/null && build "$name.so" "$1" -DDEPTH=3 -fsanitize-coverage="$2" || continue
  tried=$((tried + 1))
  [ "$(found "$name" 50000 5)" = "$name: 1: append 5, crop -2, append 4 LENGTH (silent, inferred) " ] ||
    fail "$name: $(cat "$name.output")"
  kvconform replay "$name"/cases/*.json --target "./$name.so" >/dev/null && fail "$name: the case does not show it" || [ $? -eq 1 ]
done
[ "$tried" -gt 0 ] || skip 'no compiler that measures coverage'

# A crash, an error that AddressSanitizer ends the process for, and a hang become cases.
for way in 'gcc -DFAULT=2 -DDEPTH=2 -fsanitize=address,undefined' 'clang -DFAULT=2 -DDEPTH=2 -fsanitize=address' \
  'clang -DFAULT=2 -DDEPTH=2 -fsanitize=address -shared-libasan' "$compiler -DFAULT=3 -DDEPTH=1"; do
  name=$(echo "$way" | tr -d ' =')
  # shellcheck disable=SC2086
  set -- $way
  command -v "$1" >/dev/null && build "$name.so" "$@" || continue
  # A runtime that is not installed is told when it is needed.
  case $name in *FAULT3*) limit=1 ;; *) limit=5 ;; esac
  found "$name" 3000 "$limit" >line
  ! grep -q "runtime, which was not found" "$name.complaint" || continue
  sed 's/^[^:]*: //' line >told
  case $name in
  *FAULT3*) echo '1: append 5 ALIVE (crash, inferred) ' ;;
  *) echo '1: append 5, crop -2 ALIVE (crash, inferred) ' ;;
  esac | cmp -s - told || fail "$name: $(cat line "$name.complaint" "$name.output")"
done
