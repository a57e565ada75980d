# What ends a run: a time for the whole of it, what was covered, a number of seeds. The numbers that it writes run the same again.
command -v python3 >/dev/null || skip 'no python3'
schema() { python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$KVC_TOP/reports/schemas/kvconform-$1-1.schema.json" "$2" >/dev/null || fail "$2 is not valid"; }
run() { kvconform run "$@" --quiet || [ $? -eq 1 ] || fail "run $*: $?"; }
# again RESULT: every variant of a result, run with the number that it says, is the same.
again() {
  schema result "$1"
  python3 -c 'import json, sys
for run in json.load(open(sys.argv[1]))["runs"]: print(run["variant"], int(run["budget"]))' "$1" >numbers
  while read -r variant budget; do
    run "builtin:$variant" --budget "$budget" --json again.json
    python3 -c 'import json, sys
def find(path):
    run, = [run for run in json.load(open(path))["runs"] if run["variant"] == sys.argv[2]]
    return {name: value for name, value in run.items() if name not in ("seconds", "budget", "covered", "target")}
assert find(sys.argv[1]) == find("again.json"), sys.argv[2]' "$1" "$variant" || fail "$variant differs with --budget $budget"
  done <numbers
}

# A time for all: each variant gets its part, and the whole ends near it. Starting is a part of it.
begin=$(date +%s)
run 'builtin:[fw]*' --time 3s --json time.json
end=$(date +%s)
[ $((end - begin)) -ge 2 ] && [ $((end - begin)) -le 30 ] || fail "--time 3s took $((end - begin)) s"
python3 -c 'import json
result = json.load(open("time.json"))
assert result["budget"] == {"time": 3}, result["budget"]
assert len(result["runs"]) >= 3 and all(run["sequences"] > 0 for run in result["runs"])'
again time.json
# With a number of sequences, whatever comes first; with a time for each.
run builtin:full builtin:window --time 60s --budget 300 --json both.json
grep -c '"sequences":.*300' both.json
run builtin:full builtin:window --time 60s --budget 1s --json both.json
# Of what it does not come to it says so.
kvconform run builtin:full 'exec:sleep 5' builtin:window --variant full --time 1s --json late.json --quiet || echo "exit $?"
sed -n 's/^.*"reason":[^"]*"\(..*\)",$/\1/p' late.json | grep time

# Until all is covered: the same for any number of workers.
kvconform run builtin:full+zero_empties builtin:ring --until-covered=2 --jobs 1 --json covered.json | grep '^covered' | sed 's/[0-9][0-9]*/N/g'
kvconform run builtin:full+zero_empties builtin:ring --until-covered=2 --jobs 3 --json jobs.json --quiet || echo "exit $?"
plain() { sed -e '/"\(seconds\|at\)":/d' -e '/"command":/d' "$1"; }
plain covered.json >covered.txt
plain jobs.json >jobs.txt
cmp covered.txt jobs.txt || fail 'it depends on the number of workers'
again covered.json
python3 -c 'import json
for run in json.load(open("covered.json"))["runs"]:
    covered = run["covered"]
    counts = {(row["op"], row["situation"]): row["count"] for row in run["coverage"]}
    assert covered["ended"] == "covered" and covered["reached"] == covered["reachable"] > 50 and not covered["missing"], covered
    assert sum(count >= 2 for count in counts.values()) >= covered["reached"]'
# A bound ends it; so does a fault behind which nothing can be reached; portions go on where others ended.
for bound in '--budget 1000' '--budget 1s'; do
  # shellcheck disable=SC2086 # two words
  run builtin:layers --until-covered $bound --json bound.json
  python3 -c 'import json
covered = json.load(open("bound.json"))["runs"][0]["covered"]
print(covered["times"], covered["ended"], len(covered["missing"]) == covered["reachable"] - covered["reached"])'
done
run builtin:full+aborts_when_empty_again --until-covered=2 --json behind.json
run builtin:ring --until-covered --portion 5000 --json portions.json
python3 -c 'import json
run = json.load(open("portions.json"))["runs"][0]
assert run["sequences"] > 5000 and run["covered"]["ended"] == "covered", run["covered"]' || fail 'portions do not go on'
python3 -c 'import json
print(json.load(open("behind.json"))["runs"][0]["covered"]["ended"])'

# Several seeds, merged: the same as merging them.
run builtin:full+zero_empties builtin:ring --runs 3 --seed 5 --budget 400 --report seeds
ls seeds/results
schema merged seeds/merged.json
for seed in 5 6 7; do run builtin:full+zero_empties builtin:ring --seed $seed --budget 400 --json single-$seed.json; done
kvconform report single-5.json single-6.json single-7.json -o singles --quiet
python3 -c 'import json
def plain(path):
    merged = json.load(open(path))
    for part in merged["results"]: del part["command"], part["finished"]
    for run in merged["runs"]: del run["seconds"]
    return merged["results"], merged["runs"]
assert plain("seeds/merged.json") == plain("singles/merged.json")' || fail 'the seeds together are not the seeds'
# It goes on where it was stopped.
rm seeds/results/seed-6.json
python3 -c 'import json; path = "seeds/results/seed-7.json"; result = json.load(open(path)); result["runs"][0]["ops"] = 54321; json.dump(result, open(path, "w"))'
run builtin:full+zero_empties builtin:ring --runs 3 --seed 5 --budget 400 --report seeds --resume
ls seeds/results | wc -l
grep -c 54321 seeds/merged.json
kvconform run builtin:ring --runs 2 --budget 50 --json - 2>/dev/null | grep -c kvconform-merged
kvconform run builtin:ring --runs 2 --budget 50
kvconform run builtin:ring --runs 2 --time 1s --quiet

# Wrong command lines.
try kvconform run builtin --time 30
try kvconform run builtin --time 0s
try kvconform run builtin --until-covered=0
try kvconform run builtin --until-covered --shard 1/2 --json x
try kvconform run builtin --runs 0
try kvconform run builtin --runs 2 --shard 1/2 --json x
try kvconform run builtin --runs 2 --resume --json x
try kvconform run builtin --runs 2 --seed 18446744073709551615
try kvconform gate builtin --baseline x --runs 2
