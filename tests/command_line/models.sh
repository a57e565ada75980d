# Whole models: no crop is blamed for how a model is fed; what is told of a finding, and the fault of a layer that it follows from, which has the same id in the layer's own run.
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
toy="exec:python3 $KVC_TOP/tests/adapters/whole_model.py"
schema() { python3 "$KVC_TOP/tests/command_line/json_schema.py" "$KVC_TOP/reports/schemas/kvconform-$1-1.schema.json" "$2"; }
tell() {
  python3 - "$1" <<'END'
import json, sys
for run in json.load(open(sys.argv[1]))["runs"]:
    print(run["variant"], run["status"], run.get("layers"), run["reason"])
    for finding in run["findings"]:
        print(" ", finding["id"], finding["case"]["ops"], finding.get("model"))
END
}
kvconform run "$toy" --budget 500 --report report 2>/dev/null | sed 's/[0-9,]* ops, seed/N ops, seed/'
tell report/result.json
schema result report/result.json
# The same when the layer is not run beside it, for any number of workers; and in what assisted decoding does.
for jobs in 1 3; do
  kvconform run "$toy" --variant by_layer --budget 500 --jobs $jobs --json $jobs.json --quiet || [ $? -eq 1 ]
  sed -e '/"seconds"/d' -e '/"at"/d' -e '/.json"/d' -e '/"command"/d' $jobs.json >$jobs.same
done
cmp 1.same 3.same
tell 1.json
kvconform run "$toy" --variant by_layer --profile assisted --budget 100 --json assisted.json --quiet || [ $? -eq 1 ]
tell assisted.json
# The parts of a run tell the same.
for part in 1 2; do
  kvconform run "$toy" --variant by_layer --budget 500 --portion 250 --shard $part/2 --json $part.json --quiet || [ $? -eq 1 ]
  schema shard $part.json
done
kvconform report 1.json 2.json -o parts --quiet
tell parts/result.json
# Whoever says nothing of layers is not asked, and what is said is checked.
sed 's/, "offers": \["layers"\]//' "$KVC_TOP/tests/adapters/whole_model.py" >silent.py
sed 's/"cache": "ToyCache", //' "$KVC_TOP/tests/adapters/whole_model.py" >wrong.py
cp "$KVC_TOP/tests/adapters/full_attention.py" .
kvconform run 'exec:python3 silent.py' --variant by_layer --budget 500 --json silent.json --quiet || [ $? -eq 1 ]
tell silent.json
kvconform run 'exec:python3 wrong.py' --variant by_layer --budget 500 --json wrong.json --quiet || [ $? -eq 1 ]
tell wrong.json
