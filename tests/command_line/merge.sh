# Several results become one report, or are refused with one line.
command -v python3 >/dev/null || skip 'no python3'
schema() { python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$KVC_TOP/reports/schemas/kvconform-$1-1.schema.json" "$2"; }
run() { kvconform run "$@" --budget 300 --quiet || [ $? -eq 1 ]; }
# What the command prints on one line, without what changes with the faults that are found.
masked() { sed -e 's/[0-9,]* ops/N ops/' -e 's/, [0-9]* findings/, N findings/'; }
run builtin:full builtin:ring --report first
run builtin:full+zero_empties --report second
run builtin:full --seed 2 --report third
try kvconform report first/result.json second/result.json third/result.json -o both | masked
find both -type f | sed 's/\([A-Z]\)-[0-9a-f]\{8\}/\1-ID/' | sort -u
try schema merged both/merged.json
# The order does not matter, nor do the names of the files, nor what was merged before.
mkdir elsewhere
cp second/result.json elsewhere/2.json
kvconform report third/result.json elsewhere/2.json first/result.json -o turned >/dev/null
diff -r both turned
kvconform report third/result.json first/result.json -o some -q
kvconform report elsewhere/2.json some/merged.json -o steps -q
diff -r both steps
kvconform report both/merged.json -o again -q
diff -r both again
# A run makes the same reports of its result.
kvconform report second/result.json -o alone -q
cp second/result.json alone/
cp alone/merged.json second/
diff -r second alone
# A finding that is gone leaves no case behind.
kvconform report first/result.json -o both -q
find both/cases -type f
# Wrong command lines.
try kvconform report
try kvconform report first/result.json
try kvconform report -o both
try kvconform report nowhere.json -o both
try kvconform report first -o both
try kvconform report first/result.json -o first/result.json
# Results that cannot be merged: the same twice, cut short, contradictory.
try kvconform report first/result.json first/result.json -o x
run builtin:full --report overlap
try kvconform report first/result.json overlap/result.json -o x
change() { python3 -c "import json, sys
result = json.load(open(sys.argv[1]))
run = result['runs'][0]
$2
json.dump(result, open(sys.argv[3], 'w'))" "$1" "$2" changed.json; }
change second/result.json "run['findings'] = []; run['status'] = 'conforms'"
try kvconform report second/result.json changed.json -o x
change second/result.json "run['findings'][0]['id'] = 'KEYS-other'"
try kvconform report changed.json second/result.json -o x
change second/result.json "run['status'] = 'absent'; run['reason'] = 'no such class'; run['findings'] = []"
try kvconform report changed.json second/result.json -o x
change second/result.json "del result['finished']"
try kvconform report first/result.json changed.json -o x
head -c 5000 first/result.json >changed.json
try kvconform report changed.json -o x 2>&1 | sed 's,json:[0-9]*:,json:LINE:,'
change second/result.json "run['variant'] = chr(27) + '[31m' + chr(10)"
cp changed.json other.json
change changed.json "result['command'].append('x')"
try kvconform report other.json changed.json -o x
[ ! -e x ] || fail 'a refused merge has made its folder'
# Nothing was run: the reports say so.
kvconform run exec:false --quiet --report nothing || echo "exit $?"
try kvconform report nothing/result.json -o x
# JSON on standard input.
kvconform run builtin:full --budget 10 --quiet --json - | kvconform report - -o x | masked
