# Parts of a run, put together, are the run: byte for byte, but for times and the command line. What is no whole makes no result.
command -v python3 >/dev/null || skip 'no python3'
command -v timeout >/dev/null || skip 'no timeout'
export PYTHONDONTWRITEBYTECODE=1
schema() { python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$KVC_TOP/reports/schemas/kvconform-$1-1.schema.json" "$2"; }
run() { kvconform run "$@" --quiet || [ $? -eq 1 ] || fail "run $*: $?"; }
# A result without what depends on the hour and on how it was called.
plain() { sed -e '/^\t*"\(seconds\|at\)":/d' -e '/^\t*"command":/d' "$1"; }
# compare SHARDS SINGLE ARGUMENT...: a run in so many parts against SINGLE, with any number of workers.
compare() {
  shards=$1 single=$2 shard=0
  shift 2
  while [ "$shard" -lt "$shards" ]; do
    shard=$((shard + 1))
    run "$@" --shard "$shard/$shards" --jobs $((shard % 3 + 1)) --json "part-$shard.json"
  done
  kvconform report $(seq -f 'part-%g.json' "$shards") -o whole -q || fail "$shards parts make no result"
  plain "$single/result.json" >single.txt
  plain whole/result.json >whole.txt
  cmp single.txt whole.txt || fail "$shards parts of $*: $(diff single.txt whole.txt | head -n 20)"
  for file in report.html report.md junit.xml report.sarif badge.svg; do [ -s "whole/$file" ] || fail "no $file"; done
  [ "$(cd whole/cases && ls)" = "$(cd "$single/cases" && ls)" ] || fail "$shards parts: other cases"
}

# Many variants with a portion each; one variant with many portions, of faults that show in some of them and of one that kills.
run builtin --budget 200 --seed 5 --report variants
compare 3 variants builtin --budget 200 --seed 5
set -- builtin:window+reset_stops_recording builtin:full+late_stale_value builtin:full+aborts_when_empty_again builtin:layers \
  builtin:window --portion 300 --budget 1250
run "$@" --report portions
for shards in 1 2 7; do compare $shards portions "$@"; done
# Joined portions find what one portion finds; findings of several of them are one.
run "$@" --portion 1000000 --report together
ids() { sed -n 's/^.*"id":[^"]*"\([A-Z]*-[0-9a-f]*\)".*/\1/p' "$1" | sort; }
[ -z "$(ids portions/result.json | uniq -d)" ] || fail 'a finding is told twice'
[ "$(ids portions/result.json)" = "$(ids together/result.json)" ] || fail 'portions find other faults'
try schema shard part-2.json
try schema result whole/result.json
# A subject that ends its process too often is given up in the same portion.
set -- "exec:python3 $KVC_TOP/tests/adapters/broken.py crashes_on_append" --variant full --budget 600 --portion 200
run "$@" --report dying
compare 2 dying "$@"

# Any mix: the order does not matter, and results stand beside shards.
set -- builtin:full+zero_empties builtin:ring --budget 900 --portion 400
run "$@" --report single
compare 3 single "$@"
kvconform report part-3.json part-1.json variants/result.json part-2.json -o mixed -q
kvconform report single/result.json variants/result.json -o apart -q
plain mixed/merged.json >mixed.txt
plain apart/merged.json >apart.txt
cmp mixed.txt apart.txt || fail 'shards beside a result make another report'
[ ! -e mixed/result.json ] || fail 'several runs have one result'

# What is no whole.
try kvconform report part-1.json part-3.json -o x
try kvconform report part-1.json part-2.json -o x
try kvconform report part-2.json part-3.json -o x
try kvconform report part-1.json part-2.json part-3.json part-2.json -o x 2>&1
run "$@" --seed 2 --shard 3/3 --json other.json
try kvconform report part-1.json part-2.json other.json -o x
run "$@" --shard 4/4 --json other.json
try kvconform report part-1.json part-2.json part-3.json other.json -o x
change() { python3 -c "import json, sys
shard = json.load(open(sys.argv[1]))
run = shard['runs'][0]
$2
json.dump(shard, open('changed.json', 'w'))" "$1"; }
refused() {
  change "part-$1.json" "$2"
  echo "$2"
  set -- part-1.json part-2.json part-3.json "$1"
  eval "set -- $(echo "$1 $2 $3" | sed "s/part-$4.json/changed.json/")"
  kvconform report "$@" -o x && fail 'it is taken' || echo "exit $?"
}
refused 2 "del shard['finished']"
refused 2 "shard['finished']['interrupted'] = True"
refused 2 "shard['tool']['build'] = '0'"
refused 2 "shard['environment']['platform'] = 'PDP-11'"
refused 2 "run['portions'] = []"
refused 2 "run['portions'].append(run['portions'][0])"
refused 2 "run['total'] = 4"
refused 3 "run.pop('portions'), run.pop('total'), run.pop('alphabet'); run.update(status='not run', reason='no memory', sequences=0, ops=0, seconds=0, exhaustive={'size': 0, 'sequences': 0, 'alphabet': []}, coverage=[], unreached=[], lost=0, findings=[])"
refused 1 "run['portions'][0]['coverage'][0] = [99, 0, 0, 0, 0]"
refused 1 "run['portions'][0]['sequences'] = -1"
refused 1 "run['portions'][0]['findings'][0]['cause']['place'] = 1000"
refused 1 "run['portions'][0]['findings'][0]['case']['ops'] = [['fly']]"
refused 1 "run['portions'][0]['findings'][0]['step'] = 63"
refused 1 "shard['shard']['of'] = 0"
refused 1 "shard['shard'] = 3"
refused 1 "shard['schema'] = 'kvconform-shard/2'"
[ ! -e x ] || fail 'a refused merge has made its folder'
# Nobody else takes a shard for a result.
try kvconform diff part-1.json single/result.json
try kvconform keep part-1.json -o x
try kvconform run "$@" --json part-1.json --resume --quiet

# A part that was killed is no part; it goes on where it was, and the whole is the same.
set -- builtin:full+zero_empties builtin:ring --budget 60000 --portion 5000
run "$@" --report single
run "$@" --shard 2/2 --json part-2.json
rm part-1.json
for round in 1 2 3; do
  timeout -s KILL 0.$round kvconform run "$@" --shard 1/2 --json part-1.json --resume --quiet >/dev/null 2>&1 || :
  [ ! -e part-1.json ] || ! kvconform report part-1.json part-2.json -o x -q 2>refusal || grep -q '"finished"' part-1.json ||
    fail 'a part that was killed makes a whole'
done
# Stopped by Ctrl-C, nothing that it had is lost.
status=0
timeout -s INT 0.4 kvconform run "$@" --shard 1/2 --json part-1.json --resume --quiet || status=$?
python3 -c 'import json; print(sum(len(run.get("portions", [])) for run in json.load(open("part-1.json"))["runs"]) > 0)'
run "$@" --shard 1/2 --json part-1.json --resume
rm -rf x
kvconform report part-1.json part-2.json -o whole -q
plain single/result.json >single.txt
plain whole/result.json >whole.txt
cmp single.txt whole.txt || fail 'a part that was gone on with makes another result'
try kvconform run "$@" --shard 2/2 --json part-1.json --resume --quiet
# What is there is not run again.
change part-1.json "run['portions'][0]['ops'] = 12345"
run "$@" --shard 1/2 --json changed.json --resume
grep -q '"ops":.*12345' changed.json || fail 'a portion was run again'

# Words of a part.
run builtin:full --budget 100 --json - --shard 1/1 | grep -c kvconform-shard
kvconform run builtin:full+zero_empties builtin:ring --budget 100 --shard 2/2 --json part.json | grep -v ops
kvconform run builtin:full+zero_empties builtin:ring --budget 100 --shard 1/2 --json part.json | grep -v ops | sed 's/-[0-9a-f]\{8\}/-ID/' || :
# Wrong command lines.
try kvconform run builtin --shard 0/3 --json x
try kvconform run builtin --shard 4/3 --json x
try kvconform run builtin --shard 3 --json x
try kvconform run builtin --shard 1/200000 --json x
try kvconform run builtin --shard 1/2
try kvconform run builtin --shard 1/2 --report x
try kvconform run builtin --shard 1/2 --json x --budget 3s
try kvconform run builtin --shard 1/2 --json x --time 3s
try kvconform run builtin --portion 0
try kvconform run builtin --portion 10 --budget 1000000
try kvconform gate builtin --baseline x --shard 1/2
try kvconform replay x.json --shard 1/2

# The gate that explores, in parts: each tells what it found, and their results make one.
run builtin:window+reset_stops_recording builtin:full --budget 600 --seed 7 --report explored
echo '{"schema": "kvconform-baseline/1", "entries": []}' >baseline.json
for part in 1 2; do
  kvconform gate builtin:window+reset_stops_recording builtin:full --budget 600 --seed 7 --explore --baseline baseline.json \
    --shard $part/2 --json part-$part.json | sed -n 1p
done
kvconform report part-1.json part-2.json -o whole -q
plain explored/result.json >single.txt
plain whole/result.json >whole.txt
cmp single.txt whole.txt || fail 'the parts of an exploration are another run'
