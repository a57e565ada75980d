# Caches that hold several sequences: a right one conforms, and each of the broken ones is found under its law.
compiler=${CC:-cc}
command -v "${compiler%% *}" >/dev/null || skip 'no C compiler'
# shellcheck disable=SC2086 # $compiler is a command and perhaps its arguments
$compiler -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -O1 -shared -fPIC -I"$KVC_TOP/include" \
  "$KVC_TOP/tests/plugins/sequences.c" -o sequences.so
kvconform smoke plugin:./sequences.so | tail -n 1
kvconform run plugin:./sequences.so:right --budget 5000 | sed 's/[0-9,]* ops, seed/N ops, seed/'
for fault in $(sed -n '/^static const char \*const variants/,/^};/s/^    "\([a-z_]*\)".*/\1/p' "$KVC_TOP/tests/plugins/sequences.c"); do
  [ "$fault" != right ] || continue
  kvconform run "plugin:./sequences.so:$fault" --budget 2000 >output || [ $? -eq 1 ] || fail "$fault: not found"
  echo "$fault: $(sed -n 's/^  law:  \([A-Z]*\).*/\1/p' output | sort | uniq | tr '\n' ' ')"
done
# What is found is proved minimal: whatever is smaller was run.
kvconform run plugin:./sequences.so:rm_remembers --budget 2000 --report proof --quiet || [ $? -eq 1 ]
grep -c '"proved":.*true' proof/result.json
# The same for any number of workers; and a case of a report shows the same again.
kvconform run plugin:./sequences.so:rm_remembers --budget 2000 --jobs 1 --json 1.json --quiet || [ $? -eq 1 ]
kvconform run plugin:./sequences.so:rm_remembers --budget 2000 --jobs 3 --json 3.json --report report --quiet || [ $? -eq 1 ]
for jobs in 1 3; do
  sed -e '/"seconds"/d' -e '/"at"/d' -e '/.json"/d' -e '/"command"/d' $jobs.json >$jobs.same
done
cmp 1.same 3.same
try kvconform replay report/cases/RESUME-*.json --target plugin:./sequences.so
