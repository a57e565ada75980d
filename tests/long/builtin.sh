# No false alarm in five million sequences of correct caches, and no broken cache that is missed at the default budget.
kvconform run builtin --budget 400000 --quiet
kvconform run 'builtin:*+*' --quiet --json faults.json || [ $? -eq 1 ]
kvconform list faults >faults.txt
python3 - <<'END'
import json

runs = {entry["variant"]: entry for entry in json.load(open("faults.json"))["runs"]}
laws = dict(line.split()[:2] for line in open("faults.txt"))
missed = [name for name in laws if not runs[name]["findings"]]
wrong = [name for name in laws if laws[name] not in [found["law"] for found in runs[name]["findings"]]]
assert not missed, missed
assert not wrong, wrong
print(len(laws), "faults found")
END
