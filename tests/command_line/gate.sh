# The gate: nothing new passes; what is new, fixed, expired or matches nothing fails, and the first line says what to do.
command -v python3 >/dev/null || skip 'no python3'
masked() { sed -e 's/\([A-Z]\)-[0-9a-f]\{8\}/\1-ID/g'; }
gate() { try kvconform gate "$@" --baseline known.json --budget 300; }
schema() { python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$KVC_TOP/reports/schemas/kvconform-baseline-1.schema.json" known.json; }
change() { python3 -c "import json
known = json.load(open('known.json'))
entries = known['entries']
$1
json.dump(known, open('known.json', 'w'))"; }
faulty='builtin:full+zero_empties builtin:full+crop_takes_oldest'
# There is none yet: update makes one, and asks why.
gate builtin:full
try kvconform baseline update $faulty --baseline known.json --add
try kvconform baseline update $faulty --baseline known.json --add --reason 'broken on purpose' --budget 300
try schema
cp known.json whole.json
gate $faulty builtin:full
kvconform gate $faulty --baseline known.json --budget 300 --quiet
# A finding that the baseline does not hold.
change 'del entries[0]'
gate $faulty | masked
gate $faulty --explore --seed 7 | masked
try kvconform baseline update $faulty --baseline known.json --add --address https://example.org/1 --expires 2020-01-31 --budget 300
gate $faulty | masked
# A fault that does not happen any more: the case of another cache, as if that had been mended.
cp whole.json known.json
change "
for entry in entries:
    entry['target'] = entry['target'].replace('full+zero_empties', 'full')
    if entry['target'] == 'builtin:full': entry['case']['variant'] = 'full'
entries.sort(key=lambda entry: entry['target'])"
gate builtin:full | masked
try kvconform baseline update builtin:full --baseline known.json --remove-fixed --budget 300
# An entry that matches nothing; entries of other versions and targets are left alone.
change "entries[0]['target'] = 'builtin:no_such_cache'"
gate builtin --jobs 2 | masked
cp known.json gone.json
cp whole.json known.json
gate builtin --jobs 2
cp gone.json known.json
gate builtin:full | masked
cp whole.json known.json
change "entries[0]['when'] = {'from': '7'}"
gate builtin:full+crop_takes_oldest | masked
# Ids that are made otherwise now: the fault is known, and is carried over.
cp whole.json known.json
change "entries[0]['id'] = 'KEYS-00000000'"
gate builtin:full+crop_takes_oldest | masked
try kvconform baseline migrate $faulty --baseline known.json --budget 300
cmp known.json whole.json
# Cases that are tried first: what one of them shows counts as if the run had met it.
mkdir corpus
python3 - <<'PYTHON'
import json
case = json.load(open("whole.json"))["entries"][1]["case"]
json.dump(case, open("corpus/one.json", "w"))
PYTHON
try kvconform gate builtin:full+zero_empties --baseline known.json --cases corpus --budget 1
change 'del entries[1]'
try kvconform gate builtin:full+zero_empties --baseline known.json --cases corpus --budget 1 | masked
# It is accepted for every version, as one that the run met itself.
try kvconform baseline update builtin:full+zero_empties --baseline known.json --add --reason x --cases corpus --budget 1
python3 -c "import json; print([entry.get('when') for entry in json.load(open('known.json'))['entries']])"
# What does not repeat is told, with all that was seen, and decides nothing; nor is it accepted.
flaky="exec:python3 $KVC_TOP/tests/adapters/broken.py length_off_now_and_then"
echo '{"schema": "kvconform-baseline/1", "entries": []}' >known.json
kvconform gate "$flaky" --baseline known.json --budget 600 --jobs 1 --json flaky.json >output || fail "flaky: $(cat output)"
sed -n '1p; /^flaky/s/:.*//p; s/^  seen: ([^;]*; /  seen: (X; /p' output | sort | uniq -c | sed 's/^ *[0-9]* //'
python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$KVC_TOP/reports/schemas/kvconform-result-1.schema.json" flaky.json
kvconform baseline update "$flaky" --baseline known.json --add --reason x --budget 600 --jobs 1
kvconform run "$flaky" --budget 600 --jobs 1 --report flaky --quiet || [ $? -eq 1 ]
grep -o 'Flaky: the case did not fail every time ([A-Z]*:' flaky/report.md | sort -u
mkdir flaky-cases
cat >flaky-cases/case.json <<'END'
{"schema": "kvconform-case/1", "subject": "builtin", "variant": "full", "params": {"batch": 1}, "ops": [["append", 2], ["crop", -1]]}
END
kvconform gate "${flaky%now_and_then}at_first" --baseline known.json --cases flaky-cases --budget 1 --jobs 1 2>/dev/null | masked
# What only stands behind a known fault is no part of it: a reorder that forgets the values does not make a crop be refused.
cat >behind.py <<'END'
import os
import sys

sys.path.insert(0, os.environ["KVC_TOP"] + "/tests/adapters")
from full_attention import Adapter, Cache


class Forgetful(Cache):
    values = before = None

    def tensor(self, name, kind, rows):
        return super().tensor(name, kind, self.values if self.values and kind == "values" and rows is self.rows else rows)

    def perform(self, op, numbers):
        before, self.before, rows = self.before, op[0], self.rows
        if (sys.argv[1], before, op[0]) == ("refuses", "reorder", "crop"):
            raise ValueError("not now")
        returned = super().perform(op, numbers)
        self.values = rows if op[0] == "reorder" else None
        return returned


class Behind(Adapter):
    def sequence(self, params, ops, numbers):
        cache = Forgetful(params)
        return [self.step(cache, op, numbers) for op in ops]


Behind().serve()
END
behind() { try kvconform "$@" --variant full --baseline behind.json --budget 400 --jobs 1 2>/dev/null; }
behind baseline update 'exec:python3 -B behind.py crops' --add --reason 'values are forgotten'
behind gate 'exec:python3 -B behind.py crops'
behind gate 'exec:python3 -B behind.py refuses' | masked
# A subject that cannot be run is not a pass, even beside one whose findings are all known.
gate exec:false
cp whole.json known.json
gate $faulty exec:false
# Nor is one that could not be run to its end, though what it showed until then is known.
cat >limited.sh <<'END'
echo x >>starts
[ "$(wc -l <starts)" -le "$1" ] || exit 7
exec python3 -B "$KVC_TOP/tests/adapters/broken.py" crashes
END
limited() { rm -f starts; try kvconform "$@" --variant full --baseline limited.json --budget 20 --jobs 1 2>/dev/null; }
limited baseline update 'exec:sh limited.sh 1000' --add --reason 'ends its process'
limited gate 'exec:sh limited.sh 1000'
limited gate 'exec:sh limited.sh 20'
# Files that are not right are refused whole, and nothing is written.
for damage in "entries[0]['colour'] = 1" "del entries[0]['reason']" "entries[0]['date'] = 'soon'" "entries.append(entries[0])" "entries.insert(0, entries[0])" \
  "entries[0]['target'] = 'full'" "entries[0]['law'] = 'JUSTICE'" "entries[0]['when'] = {'until': '5'}" "entries[0]['case'] = []" \
  "known['schema'] = 'kvconform-baseline/2'" "entries.reverse()"; do
  cp whole.json known.json
  change "$damage"
  cp known.json damaged.json
  try kvconform baseline update builtin:full --baseline known.json --remove-fixed --budget 300 2>&1 | masked
  cmp known.json damaged.json
done
echo '{' >known.json
gate builtin:full
try kvconform gate builtin:full
try kvconform gate --baseline known.json
try kvconform baseline
try kvconform baseline update builtin:full
try kvconform baseline update builtin:full --baseline known.json
try kvconform baseline update builtin:full --baseline known.json --add --reason x --expires tomorrow
# Several versions of one subject, in any order: known while one shows it, fixed when none does.
versioned_subject <<'END'
import os
import sys

print(os.path.abspath("python-" + sys.argv[2]))
END
version 1.0.0 broken
version 2.0.0
kvconform baseline update transformers@1.0.0 --baseline versions.json --add --reason 'one too few' --budget 300 --quiet
for targets in 'transformers@1.0.0 transformers@2.0.0' 'transformers@2.0.0 transformers@1.0.0' transformers@2.0.0; do
  # shellcheck disable=SC2086 # several targets
  try kvconform gate $targets --baseline versions.json --budget 300 | masked
done
