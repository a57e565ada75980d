# What changed between two results: new, fixed, changed, still there, unknown; versions in pairs.
command -v python3 >/dev/null || skip 'no python3'
run() { kvconform run "$@" --budget 300 --quiet || [ $? -eq 1 ]; }
masked() { sed -e 's/\([A-Z]\)-[0-9a-f]\{8\}/\1-ID/g'; }
run builtin:full builtin:full+zero_empties builtin:full+crop_takes_oldest --json first.json
# The same result with other words: a fault comes, one goes, one looks different, a class is not run.
change() { python3 -c "import json, sys
result = json.load(open(sys.argv[1]))
runs = {run['variant']: run for run in result['runs']}
$2
json.dump(result, open(sys.argv[3], 'w'))" "$1" "$2" "$3"; }
try kvconform diff first.json first.json | masked
change first.json "runs['full']['findings'] = runs['full+zero_empties']['findings']; runs['full']['status'] = 'findings'
runs['full+zero_empties']['findings'] = []; runs['full+zero_empties']['status'] = 'conforms'
runs['full+crop_takes_oldest']['findings'][0]['case']['ops'] += [['crop', -1]]" second.json
try kvconform diff first.json second.json --json diff.json --markdown diff.md | masked
try python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$KVC_TOP/reports/schemas/kvconform-diff-1.schema.json" diff.json
masked <diff.md
change first.json "run = runs['full+zero_empties']; run.update(findings=[], status='not run', reason='no time')" third.json
try kvconform diff first.json third.json | masked
try kvconform diff third.json first.json --markdown - | masked
# Another version: compared with the newest that is not newer.
change first.json "
for run in runs.values(): run['version'] = '2'
runs['full+zero_empties'].update(findings=[], status='conforms')" newer.json
try kvconform diff first.json newer.json | masked
kvconform report first.json newer.json -o both -q
change first.json "
for run in runs.values(): run['version'] = '3'
runs['full+crop_takes_oldest'].update(findings=[], status='conforms')" newest.json
try kvconform diff both/merged.json newest.json --quiet
try kvconform diff both/merged.json newest.json | masked
# Names that would act on a terminal stay harmless; wrong command lines and files are refused in one line.
change first.json "runs['full+zero_empties']['findings'][0]['title'] = chr(27) + '[31m'" hostile.json
kvconform diff first.json hostile.json | grep -c "$(printf '\033')" || true
try kvconform diff first.json
try kvconform diff first.json nowhere.json
change first.json "del result['finished']" cut.json
try kvconform diff cut.json first.json
try kvconform diff first.json second.json --json nowhere/diff.json
