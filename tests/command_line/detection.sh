# The oracle, which judges the sequences of other searches, and the comparison of searches without Hypothesis.
ln -s "$KVC_BUILD/bench/oracle" oracle
oracle=./oracle
# Times differ.
timeless() { sed -E '1d; s/ [0-9]+\.[0-9]{6}/ SECONDS/'; }
# Parameters of the smallest sequence, as the first line says them.
params=$("$oracle" builtin:full+zero_empties </dev/null |
  tr '{' '\n' | sed -n 's/^"name":"[a-z_]*","values":\[\([0-9]*\).*/\1/p' | tr '\n' ' ')
for seed in 1 2; do
  echo "random $seed 2000"
  echo "generator $seed 2000"
  echo "explore $seed 2000"
done >searches
"$oracle" builtin:full+zero_empties <searches | timeless | cut -d' ' -f1,4-7
# Op by op: 0 is append, 1 crop, and what cannot stand there is left out. A crop of what was never there is no fault of this cache.
printf '%s\n' "start ${params% }" 'op 0 2' 'op 17 1' 'op 1 0' judge "start ${params% }" 'op 1 -1' judge | "$oracle" builtin:full+zero_empties | timeless
# Of all failures only those that are looked for: law and op of the case.
"$oracle" --like "$KVC_TOP/cases/builtin/full-zero_empties.json" builtin:full+zero_empties <searches | timeless | cut -d' ' -f1 | sort | uniq -c | sed 's/^ *//'
"$oracle" --like "$KVC_TOP/cases/builtin/full-zero_empties.json" builtin:full+crop_takes_oldest </dev/null >nothing 2>complaint || echo "exit $?"
sed "s|$KVC_TOP|SOURCE|" complaint
try "$oracle"
printf 'start 1\n' | "$oracle" builtin:full >nothing || echo "exit $?"
printf 'dance\n' | "$oracle" builtin:full >nothing || echo "exit $?"
# The comparison: found, in few sequences, with the smallest case; a second call measures nothing again.
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
compare() {
  python3 "$KVC_TOP/bench/detection.py" --kvconform kvconform --oracle "$oracle" --only full+zero_e --seeds 5 --machine-seeds 0 --limit 500 --json measured.json "$@"
}
compare >first
compare >second
grep -c '^full+zero_empties: sequences kvconform [1-9]' first second || :
python3 - <<'END'
import json

(fault,) = json.load(open("measured.json"))["faults"]
runs = fault["runs"]["kvconform"]
assert len(runs) == 5 and all(run["number"] <= 100 and (run["ops"], run["weight"]) == (2, 1) for run in runs), runs
assert all(run["text"] == "ZERO append 1, crop 0" for run in runs), runs
assert len(fault["runs"]["random"]) == 5 and "hypothesis" not in fault["runs"]
END
printf '<!-- made by bench/detection.py -->\nold\n<!-- end -->\nafter\n' >page.md
compare --table page.md >third
sed -n '1p; /^| random/s/|.*/|/p; /old/p; $p' page.md
compare --limit 400 || echo "exit $?"
# With Hypothesis, where it is.
if python3 -c 'import hypothesis' 2>/dev/null; then
  python3 "$KVC_TOP/bench/detection.py" --kvconform kvconform --oracle "$oracle" --only full+zero_e --seeds 1 --machine-seeds 1 --examples 200 --limit 500 --json with.json >with
  grep -q 'hypothesis [1-9]' with || fail "$(cat with)"
fi
