# What docs/ci.md says, followed in an empty repository: its files are taken as they stand there, and their shell steps are run.
for needed in bash git python3; do
  command -v "$needed" >/dev/null || skip "no $needed"
done
export PYTHONDONTWRITEBYTECODE=1 GIT_CONFIG_GLOBAL=/dev/null
masked() { sed -e 's/\([A-Z]\)-[0-9a-f]\{8\}/\1-ID/g'; }
workflow() { python3 -B "$KVC_TOP/tests/command_line/workflow.py" "$@" 2>&1 | masked; }
github() { workflow github .github/workflows/kvconform.yml "$KVC_TOP/action.yml" "$@"; }
git init -q repository
cd repository
awk '/^```/ { if (out != "") { close(out); out = "" } else if ($2 ~ /\./) { out = $2; if (out ~ /\//) { folder = out; sub("/[^/]*$", "", folder); system("mkdir -p " folder) } } next }
  out != "" { print > out }' "$KVC_TOP/docs/ci.md"
git ls-files --others
sed -n '/^kvconform baseline /p' "$KVC_TOP/docs/ci.md" >first.sh
sh -eu first.sh 2>complaints || fail "$(cat complaints)"
# GitHub: passes; tells what is new, on the page of the run too; what is known is not annotated.
github
cat runner/summary.md | head -n 5
# GitLab and pre-commit. What GitLab clones is the script only: the program is in PATH.
git init -q "$TMPDIR/source"
mkdir "$TMPDIR/source/ci"
cp "$KVC_TOP/ci/kvconform" "$TMPDIR/source/ci"
git -C "$TMPDIR/source" add ci
git -C "$TMPDIR/source" -c user.name=test -c user.email=test@example.org commit -q -m test
workflow gitlab .gitlab-ci.yml "file://$TMPDIR/source" | sed '/^Cloning/d'
workflow pre-commit .pre-commit-config.yaml "$KVC_TOP/.pre-commit-hooks.yaml"
faulty='builtin:full builtin:full+zero_empties builtin:full+crop_takes_oldest'
github targets="$faulty" budget=300
masked <runner/summary.md | head -n 4
grep -c '^## ' runner/summary.md
kvconform baseline update builtin:full+zero_empties --baseline kvconform-baseline.json --add --reason 'broken on purpose' --budget 300 -q
github targets="$faulty" budget=300 explore=true packages=src report=explored | sed '/^new/,$d'
github targets='builtin:no_such_cache' 2>&1 | head -n 3
github colour=red
# Annotations: only what the baseline does not hold, at its place in the repository.
python3 - <<'PYTHON'
import json
place = {"physicalLocation": {"artifactLocation": {"uri": "my/cache.py", "uriBaseId": "PACKAGES"}}}
def result(name, *places):
    return {"ruleId": "KEYS", "locations": list(places), "partialFingerprints": {"kvconform/v1": "builtin/full/" + name}}
json.dump({"entries": [{"id": "KEYS-1"}]}, open("few.json", "w"))
runs = [{"originalUriBaseIds": {}, "results": [result("KEYS-1", place), result("KEYS-2", place), result("KEYS-3")]}]
json.dump({"runs": runs}, open("few.sarif", "w"))
PYTHON
python3 -B "$KVC_TOP/ci/annotations.py" few.sarif few.json src/
cat few.sarif
