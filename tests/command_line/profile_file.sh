# Profiles from files: those that come with kvconform are such files, what a file says is what is drawn, and what is wrong is told.
command -v python3 >/dev/null || skip 'no python3'
schema() { python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$KVC_TOP/reports/schemas/kvconform-$1-1.schema.json" "$2" >/dev/null || fail "$2 is not valid"; }
run() { kvconform run "$@" --quiet || [ $? -eq 1 ] || fail "run $*: $?"; }
plain() { sed -e '/"\(seconds\|at\)":/d' -e '/"command":/d' "$1"; }
profiles=$KVC_TOP/examples/profiles
for name in hostile assisted rollbacks; do schema profile "$profiles/$name.json"; done
for name in hostile assisted; do
  run builtin:window builtin:ragged --budget 6000 --profile $name --json named.json
  run builtin:window builtin:ragged --budget 6000 --profile "$profiles/$name.json" --json file.json
  plain named.json >named.txt
  plain file.json >file.txt
  cmp named.txt file.txt || fail "$profiles/$name.json is not $name"
done

# Only what it allows is drawn, and the result holds all of it.
run builtin:window+reset_stops_recording --budget 6000 --profile "$profiles/rollbacks.json" --report out
schema result out/result.json
kvconform report out/result.json -o merged --quiet
schema merged merged/merged.json
python3 -c 'import json
result = json.load(open("out/result.json"))
run, = result["runs"]
print(result["profile"], sorted({row["op"] for row in run["coverage"]}), run["exhaustive"]["size"])
profile = result["profile_file"]
assert profile["weights"]["reorder"] == 0 and profile["off"]["crop"] == [0, 1] and profile["crop"]["zero"] == 2, profile
assert profile["params"] == {"batch": [1, 1], "dtype": ["float32"], "watch": [0, 0]}, profile["params"]
assert run["ops"] / run["sequences"] > 8, run["ops"]
for finding in run["findings"]:
    assert finding["case"]["params"]["batch"] == 1
json.dump(profile, open("again.json", "w"))'
grep -o 'profile rollbacks' out/report.md | sort -u
schema profile again.json
run builtin:window+reset_stops_recording --budget 6000 --profile ./again.json --json again-result.json
plain out/result.json >out.txt
plain again-result.json >again.txt
cmp out.txt again.txt || fail 'the profile in the result is another one'

write() { printf '{"schema": "kvconform-profile/1", "name": "mine", "like": "%s"%s}' "${2-hostile}" "$1" >mine.json; }
# Sizes and words; a variant that has none of them is not run.
write ', "exhaustive": 0, "params": {"heads": [2, 2], "window": [3, 4], "dtype": ["bfloat16"], "layout": ["strided"], "watch": [1, 1]}'
kvconform run builtin:window --budget 500 --profile mine.json --json mine-result.json
write ', "params": {"window": [9, 9]}'
kvconform run builtin:window builtin:full --budget 100 --profile mine.json --json mine-result.json --quiet || echo "exit $?"
sed -n 's/^.*"reason":[^"]*"\(..*\)",$/\1/p' mine-result.json
write ', "rounds": 2, "append": {"one": 0, "two": 1}' assisted
kvconform run builtin:full --budget 500 --profile mine.json --quiet || echo "exit $?"
# Another profile of the same name is another run.
write ', "exhaustive": 1'
run builtin:full --budget 100 --profile mine.json --json one.json
write ', "exhaustive": 2'
run builtin:full --budget 100 --profile mine.json --json two.json
kvconform report one.json two.json -o both --quiet
try kvconform run builtin:full --budget 100 --profile mine.json --json one.json --resume --quiet
run builtin:full --budget 200 --portion 100 --profile mine.json --shard 1/2 --json one.json
run builtin:full --budget 200 --portion 100 --shard 2/2 --json two.json
try kvconform report one.json two.json -o x

# What is wrong.
wrong() {
  echo "$*"
  write "$@"
  kvconform run builtin:full --budget 10 --profile mine.json --quiet && fail 'it is taken' || echo "exit $?"
}
wrong ', "weigths": {}'
wrong ', "weights": 3'
wrong ', "weights": {"fly": 1}'
wrong ', "weights": {"crop": 256}'
wrong ', "weights": {"append": 0}'
wrong ', "off": {"crop": 1}'
wrong ', "off": {"crop": [2, 1]}'
wrong ', "off": {"append": [1, 2]}'
wrong ', "lengths": {"least": 9}'
wrong ', "lengths": {"most": 30}'
wrong ', "lengths": {"most": 64}'
wrong ', "lengths": {"longest": 64}'
wrong ', "exhaustive": 5'
wrong ', "append": {"one": 0, "two": 0, "few": 0}'
wrong ', "append": {"three": 1}'
wrong ', "crop": {"zero": -1}'
wrong ', "params": {"batch": [0, 1]}'
wrong ', "params": {"batch": [2, 1]}'
wrong ', "params": {"batch": 1}'
wrong ', "params": {"dtype": []}'
wrong ', "params": {"dtype": ["float8"]}'
wrong ', "params": {"parts": [0, 1]}'
wrong ', "params": {"colour": [0, 1]}'
wrong ', "rounds": 3'
wrong ', "weights": {"crop": 1}' assisted
wrong ', "rounds": 0' assisted
wrong '' friendly
sed 's/"mine"/"hostile"/; s/friendly/hostile/; s/}$/, "exhaustive": 1}/' mine.json >named.json
try kvconform run builtin --profile named.json
sed 's/friendly/hostile/; s/mine//' mine.json >empty.json
try kvconform run builtin --profile empty.json
sed 's/profile.1/profile\/2/' mine.json >two.json
try kvconform run builtin --profile two.json
head -c 20 mine.json >cut.json
try kvconform run builtin --profile cut.json
try kvconform run builtin --profile nowhere.json
try kvconform run builtin --profile friendly
