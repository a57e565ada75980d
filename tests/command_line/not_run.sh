# Subjects that cannot be run: exit status 3, one line that says why, and the others are run all the same.
ln -s "$(command -v kvconform)" program
mkdir empty
try env PATH="$PWD/empty" ./program run transformers@5.24.0 --quiet --json none.json
try env PATH="$PWD/empty" ./program run transformers@5.24.0 builtin:full --budget 10
try env PATH="$PWD/empty" ./program smoke transformers@5.24.0
cat >case.json <<'END'
{"schema": "kvconform-case/1", "subject": "transformers", "version": "5.24.0", "variant": "DynamicLayer", "ops": [["append", 1]]}
END
try env PATH="$PWD/empty" ./program replay case.json
grep '"reason"' none.json
# An environment that cannot be made. What its maker says comes first.
command -v python3 >/dev/null || skip 'no python3'
: >file
export PYTHONDONTWRITEBYTECODE=1
env KVCONFORM_CACHE="$PWD/file" kvconform run transformers@5.24.0 2>complaints || echo "exit $?"
[ -s complaints ] || fail 'the maker of environments said nothing'
try kvconform run 'transformers@5.24.0;x:*' --budget 10
# A variant whose package is missing: it alone is not run, with the reason, and the others are. Without it the exit status is 0.
lacking="python3 $KVC_TOP/tests/adapters/without_a_package.py"
for words in "$lacking" "$lacking nothing"; do
  for variant in full window '[fw]*[lw]'; do
    status=0
    kvconform run "exec:$words" --variant "$variant" --budget 10 --jobs 1 --json lacking.json >output 2>&1 || status=$?
    echo "${words#"$lacking"} $variant: exit $status"
    cat output
    grep '"reason"' lacking.json || :
  done
done
# An interpreter that is none, and one without the subject.
printf '#!/bin/sh\nexit 9\n' >python && chmod +x python
try kvconform run transformers --python ./python
python3 -m venv --without-pip bare 2>/dev/null || exit 0
kvconform run transformers --python bare/bin/python --timeout 20 >output 2>&1 || echo "without the subject: exit $?"
grep -q 'not run: ' output || fail "$(cat output)"
