# A report folder and the cases in it, run again.
command -v python3 >/dev/null || skip 'no python3'
schema=$KVC_TOP/reports/schemas/kvconform-result-1.schema.json
valid() { python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$schema" "$1"; }
# Names of findings, and what they say, may change.
masked() { sed -e 's/\([A-Z]\)-[0-9a-f]\{8\}/\1-ID/' -e '/^  [a-z]*[+_a-z]*: /s/: .*/: .../' -e '/^  \(expected\|observed\) /d'; }
kvconform run builtin:full+zero_empties builtin:window+reset_stops_recording builtin:layers+container_skips_last builtin:ring \
  --budget 2000 --report out >summary || echo "exit $?"
grep '^report:' summary
find out -type f | sort | masked
try valid out/result.json
grep -q '</html>' out/report.html || fail 'report.html is cut'
[ "$(find out/cases -name '*.json' | wc -l)" -eq "$(grep -c '^  id: ' summary)" ] || fail 'not one case for each finding'
# Every case shows its fault again, and none on the correct cache.
kvconform replay out/cases/*.json >replayed || echo "exit $?"
masked <replayed
for case in out/cases/*.json; do
  sed 's/\("variant":.*"[a-z_]*\)+[a-z_]*"/\1"/' "$case" >right.json
  kvconform replay right.json | grep -q ': conforms on builtin 1$' || fail "does not conform: $(cat right.json)"
done
# Cases written by hand need little.
cat >hand.json <<'END'
{"schema": "kvconform-case/1", "subject": "builtin", "variant": "full", "ops": [["append", 2], ["crop", -1], ["reset"]]}
END
try kvconform replay hand.json
kvconform replay hand.json out/cases/ZERO-*.json >/dev/null || echo "with a finding: exit $?"
# Damaged cases: the others are still run, and the exit status is 2.
first=$(echo out/cases/ZERO-*.json)
head -c 100 "$first" >cut.json
sed 's/"append"/"apend"/' hand.json >op.json
sed 's/2\]/2.5]/' hand.json >fraction.json
sed 's/"builtin"/"nobody"/' hand.json >subject.json
sed 's/, \["reset"\]/, ["reorder", [1, 0]]/' hand.json >rows.json
sed 's/, \["reset"\]/, ["record", 1]/' hand.json >record.json
sed 's/"ops"/"params": {"key_dim": 4000000000}, "ops"/' hand.json >large.json
sed 's/"ops"/"paramz": {}, "ops"/' hand.json >field.json
sed 's/"ops"/"params": {"window": 3}, "ops"/' hand.json >unused.json
sed 's/"ops"/"params": {"layers": "full"}, "ops"/' hand.json >layers.json
sed 's/"ops"/"params": {"colour": 3}, "ops"/' hand.json >param.json
sed 's/case\/1/case\/2/' hand.json >schema.json
printf '%0200d' 0 | tr 0 '[' >deep.json
printf '{"schema": "\377"}' >bytes.json
: >empty.json
for name in cut op fraction subject rows record large field unused layers param schema deep bytes empty; do
  try kvconform replay "$name.json"
done
try kvconform replay op.json hand.json
try kvconform replay hand.json --target vllm
try kvconform replay hand.json --contract nobody
# Every op that is cut off somewhere is told, and nothing crashes.
size=$(wc -c <hand.json)
at=0
while [ "$at" -lt "$((size - 2))" ]; do
  head -c "$at" hand.json >part.json
  status=0
  kvconform replay part.json >/dev/null 2>complaint || status=$?
  [ "$status" -eq 2 ] && [ "$(wc -l <complaint)" -eq 1 ] || fail "the first $at bytes: exit $status, $(cat complaint)"
  at=$((at + 7))
done
# A folder of cases that say what they must show.
mkdir -p corpus/deep
sed 's/"ops"/"title": "Two and one", "source": "nobody", "expect": "conforms", "ops"/' hand.json >corpus/right.json
sed 's/"conforms"/"ZERO"/' corpus/right.json >corpus/deep/wrong.json
sed -e 's/"full"/"full+zero_empties"/' -e 's/\["crop", -1\], \["reset"\]/["crop", 0]/' -e 's/"conforms"/{"1": "ZERO"}/' corpus/right.json >corpus/fault.json
sed -e 's/"reset"/"record", 1/' -e 's/"conforms"/"impossible"/' corpus/right.json >corpus/impossible.json
try kvconform replay corpus
rm corpus/deep/wrong.json
try kvconform replay corpus
try kvconform replay corpus --quiet
try kvconform replay corpus/deep
sed 's/"title": "Two and one", //' corpus/right.json >untitled.json
sed 's/"expect": "conforms"/"expect": "KEYZ"/' corpus/right.json >law.json
sed 's/"expect": "conforms"/"expect": {}/' corpus/right.json >none.json
sed 's/"expect": "conforms"/"expect": {"1": "KEYS", "1": "KEYS"}/' corpus/right.json >twice.json
for name in untitled law none twice; do
  try kvconform replay "$name.json"
done
# Places that cannot be written are told before anything runs.
: >file
try kvconform run builtin:full --budget 100 --report file
try kvconform run builtin:full --budget 100 --report nowhere/out
try kvconform run builtin:full --budget 100 --json nowhere/result.json
try kvconform run builtin:full --budget 100 --json .
# A folder that is there is used again. What an earlier run wrote goes, all else stays: files of others, changed ones, links.
kvconform run builtin:full+zero_empties builtin:window+reset_stops_recording builtin:full+crop_takes_oldest --budget 2000 \
  --report again --quiet || echo "exit $?"
echo ' ' >>"$(echo again/cases/KEYS-*.json)"
set -- again/cases/RESET-*.json
linked=$1
mv "$linked" moved.json && ln -s ../../moved.json "$linked"
cp again/cases/ZERO-*.json again/cases/mine.json
echo notes >again/cases/notes.txt
try kvconform run builtin:ring --budget 100 --report again
find again/cases | sort | masked
# A name that leads elsewhere.
printf '{"runs": [{"findings": [{"id": "../../moved", "script": "", "case": %s}]}]}' "$(cat moved.json)" >again/result.json
kvconform run builtin:ring --budget 100 --report again --quiet
[ -e moved.json ] || fail 'a file of another folder is gone'
