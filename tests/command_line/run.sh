# What a run prints, returns and writes. The caches that come with kvconform are correct, those with a fault are not.
schema=$KVC_TOP/reports/schemas/kvconform-result-1.schema.json
valid() { python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$schema" "$1"; }
command -v python3 >/dev/null || skip 'no python3'

# Everything conforms.
try kvconform run builtin --budget 1000 --json all.json
try valid all.json
try kvconform run builtin --budget 1000 --profile assisted --quiet

# One fault: it is found with its smallest case.
try kvconform run builtin:full+zero_empties --budget 1000
status=0
kvconform run builtin:window+zero_keeps_recorded builtin:full --budget=1000 --json=- >result.json 2>summary || status=$?
[ $status -eq 1 ] || fail "a finding: exit status $status"
try valid result.json
grep -q '^✗ 1 finding in 1 of 2 variants' summary || fail 'no summary beside the JSON'

# What sort of cache the case needs is told beside it, and at which op it goes wrong, in each report.
kvconform run builtin:window+zero_keeps_recorded --budget 1000 --report told >summary || [ $? -eq 1 ]
grep -qx '  with: window 2' summary || fail 'the summary does not name the window'
grep -q '` with window 2 goes wrong at op 3\.' told/report.md || fail 'report.md does not name the window or the op'
grep -q '^with: window 2$' told/junit.xml && grep -q '^wrong at op 3$' told/junit.xml ||
  fail 'junit.xml does not name the window or the op'
grep -q '>with window 2<' told/report.html || fail 'report.html does not name the window'

# A pattern reaches several variants, broken ones when it says so.
try kvconform run 'builtin:f*' --budget 100
found=$(kvconform run 'builtin:cross+*' 2>/dev/null | grep -c '^✗ cross+.* finding' || :)
there=$(kvconform list faults | grep -c '^cross+')
[ "$found" -eq "$there" ] || fail "findings in $found of $there broken caches"

# Nothing is printed when nothing may be.
try kvconform run builtin:full+zero_empties --budget 200 --quiet
# Time as a budget.
kvconform run builtin:full --budget 1s | grep -q '^✓ full  conforms' || fail '--budget 1s'
# The same findings for any number of workers, and for the same seed; time and the command line aside.
for jobs in 1 2 3; do
  kvconform run builtin:full+crop_takes_oldest builtin:ring builtin:window+keeps_too_few --budget 3000 --seed 7 \
    --jobs "$jobs" --json "$jobs.json" --quiet || [ $? -eq 1 ]
  grep -vE '"(seconds|command|at)":' "$jobs.json" >"$jobs.txt"
done
cmp 1.txt 2.txt && cmp 1.txt 3.txt || fail 'the number of workers changes the result'
kvconform run builtin:full --budget 300 --seed 8 --json other.json --quiet
kvconform run builtin:full --budget 300 --seed 9 --json another.json --quiet
if cmp -s other.json another.json; then fail 'the seed changes nothing'; fi
# Colours only on a terminal, and not there when NO_COLOR says so.
command -v script >/dev/null || exit 0
terminal() { script -qec "$*" /dev/null </dev/null | tr -d '\r'; }
escape=$(printf '\033')
NO_COLOR='' terminal "env -u NO_COLOR kvconform run builtin:full --budget 100" | grep -q "$escape\[3" || fail 'no colour on a terminal'
if terminal "env NO_COLOR=1 kvconform run builtin:full --budget 100" | grep -q "$escape"; then fail 'colour in spite of NO_COLOR'; fi
