# Cases of a result become regression tests that say what they must show.
command -v python3 >/dev/null || skip 'no python3'
masked() { sed -e 's/\([A-Z]\)-[0-9a-f]\{8\}/\1-ID/g'; }
kvconform run builtin:full+zero_empties builtin:full+crop_takes_oldest builtin:full --budget 300 --json result.json --quiet || [ $? -eq 1 ]
try kvconform keep result.json -o cases | masked
cat cases/full+zero_empties-*.json
try kvconform replay cases | masked
kvconform replay cases --json - --quiet 2>/dev/null >replay.json
try python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$KVC_TOP/reports/schemas/kvconform-replay-1.schema.json" replay.json
python3 -c 'import json
for one in json.load(open("replay.json"))["replays"]: print(one["variant"], one["outcome"], one["expected"], one["detail"]["title"])'
kvconform replay cases --target builtin --json nowhere/replay.json 2>&1 >/dev/null || echo "exit $?"
try kvconform keep result.json -o cases | masked
try kvconform keep result.json -o others --id 'ZERO-*' --address https://example.org/1 --quiet
grep -h '"source"' others/*.json
try kvconform keep result.json -o others --id 'LENGTH-*'
python3 - <<'PYTHON'
import json
result = json.load(open("result.json"))
for run in result["runs"]:
    for finding in run["findings"]:
        run["variant"] = finding["case"]["variant"] = "../../" + run["variant"]
json.dump(result, open("hostile.json", "w"))
PYTHON
try kvconform keep hostile.json -o hostile | masked
try kvconform keep result.json
try kvconform keep -o cases
try kvconform keep nowhere.json -o cases
try kvconform keep result.json -o result.json/cases
