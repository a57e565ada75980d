# Words from subjects and results act on no terminal and name no other folder: docs/security.md promises it.
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
mkdir -p deep/inside outside
cd deep/inside

# Only line feeds and tabs, and no mark that reorders or hides text; the bytes of C1 controls stand in UTF-8 behind C2.
harmless() { # FILE
  LC_ALL=C tr -d '\n\t' <"$1" | LC_ALL=C grep -aq "$(printf '[\001-\037\177]\|\302[\200-\237]\|\342\200[\213-\217\250-\256]\|\342\201[\240-\257]')" &&
    fail "$1: $(LC_ALL=C tr -d '\n\t' <"$1" | cat -v | cut -c 1-300)"
  return 0
}
# Nothing may lie anywhere but where the report is to be.
inside_only() { # FOLDER
  find "$TMPDIR" -name '*escape*' | grep . && fail 'a file of the name of another folder was written'
  [ -z "$(find ../../outside -type f)" ] || fail 'a file was written elsewhere'
  for file in "$1"/report.html "$1"/report.md "$1"/report.sarif "$1"/junit.xml "$1"/badge.svg; do
    [ ! -e "$file" ] || harmless "$file"
  done
}

# An adapter. What it refuses with is a part of findings.
for field in subject version variants folder environment refusal adapter; do
  for command in run fuzz; do
    status=0
    kvconform "$command" "exec:python3 '$KVC_TOP/tests/adapters/hostile_names.py' $field" --variant '*' --budget 40 --jobs 1 --report "$field-$command" \
      >said 2>&1 || status=$?
    [ "$status" -le 3 ] || fail "$field, $command: status $status: $(cat -v said)"
    echo "$field, $command: $status"
    harmless said
    inside_only "$field-$command"
  done
  status=0
  kvconform smoke "exec:python3 '$KVC_TOP/tests/adapters/hostile_names.py' $field" >said 2>&1 || status=$?
  echo "$field, smoke: $status"
  harmless said
done
grep -q '\\\\u001b' refusal-run/result.json || grep -q '\\u001b' refusal-run/result.json || fail 'what was said does not stand in the result'

kvconform replay refusal-run/cases --target "exec:python3 '$KVC_TOP/tests/adapters/hostile_names.py' refusal" >said 2>&1 && fail 'nothing is replayed'
grep -q 'escape' said || fail "the words of the subject are not shown: $(cat -v said)"
harmless said

# A result from elsewhere.
kvconform report "$KVC_TOP/tests/data/result-hostile.json" -o read >said 2>&1 || fail "$(cat -v said)"
harmless said
inside_only read
kvconform keep "$KVC_TOP/tests/data/result-hostile.json" -o kept >said 2>&1 || :
harmless said
kvconform diff "$KVC_TOP/tests/data/result-hostile.json" "$KVC_TOP/tests/data/result-hostile.json" >said 2>&1 || :
harmless said
# What files are called by: each other name is refused, with the place.
kvconform run builtin:full+zero_empties --budget 200 --report good -q || :
for words in 'id ../../../outside/x' 'id /outside/escape' 'id a/b' 'id ' 'script_suffix /../../outside/x' 'script_suffix c/x'; do
  python3 - "${words%% *}" "${words#* }" <<'END'
import json, sys
result = json.load(open("good/result.json"))
finding = result["runs"][0]["findings"][0]
finding["script"] = "print()"
finding[sys.argv[1]] = sys.argv[2]
json.dump(result, open("bad.json", "w"))
END
  for command in report keep; do
    status=0
    kvconform "$command" bad.json -o wrong >said 2>&1 || status=$?
    echo "$command, $words: $status: $(cat said)"
    harmless said
    inside_only wrong
  done
done
