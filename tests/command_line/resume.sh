# A run that was stopped goes on where it was; what it has already is neither lost nor run again.
command -v python3 >/dev/null || skip 'no python3'
python() { python3 -c "$@"; }
# What does not depend on the hour.
plain() { grep -vE '"(seconds|command|at)":' "$1" | sed '/"command"/,/\]/d'; }
set -- builtin:full builtin:full+zero_empties builtin:window builtin:ring
kvconform run "$@" --budget 3000 --seed 3 --json whole.json --quiet || echo "exit $?"

# A run that died after two variants: its file has no end.
python 'import json; result = json.load(open("whole.json")); result["runs"][2:] = []; del result["finished"]
result["environment"]["subjects"][2:] = []; result["runs"][0]["sequences"] = 2999; json.dump(result, open("part.json", "w"))'
kvconform run "$@" --budget 3000 --seed 3 --json part.json --resume --quiet || echo "exit $?"
grep -q '"sequences":.*2999' part.json || fail 'the first variant was run again'
sed 's/2999/3000/' part.json >mended.json
plain whole.json >whole.txt
plain mended.json >mended.txt
cmp whole.txt mended.txt || fail 'it is not the result of a whole run'

# Into a folder: the cases of what was taken over are there too.
mkdir out
python 'import json; result = json.load(open("whole.json")); result["runs"][2:] = []; del result["finished"]
json.dump(result, open("out/result.json", "w"))'
kvconform run "$@" --budget 3000 --seed 3 --report out --resume --quiet || echo "exit $?"
find out/cases -type f | sed 's/-[0-9a-f]*\./-ID./' | sort
plain out/result.json >folder.txt
cmp whole.txt folder.txt || fail 'it is not the result of a whole run'

# A variant that was not run to its end is run again.
python 'import json; result = json.load(open("whole.json")); result["runs"][0]["reason"] = "interrupted after 5 sequences"
result["runs"][0]["sequences"] = 5; json.dump(result, open("short.json", "w"))'
kvconform run "$@" --budget 3000 --seed 3 --json short.json --resume --quiet || echo "exit $?"
plain short.json >short.txt
cmp whole.txt short.txt || fail 'a variant that was interrupted was taken over'

# Without a file it is a run as any other; what was made otherwise is refused.
kvconform run builtin:full --budget 10 --json new.json --resume --quiet || fail "new: $?"
try kvconform run builtin:full --budget 11 --json new.json --resume --quiet
try kvconform run builtin:full --budget 10 --seed 2 --json new.json --resume --quiet
try kvconform run builtin:full --budget 10 --profile assisted --json new.json --resume --quiet
python 'import json; result = json.load(open("new.json")); result["tool"]["build"] = "0"; json.dump(result, open("other.json", "w"))'
try kvconform run builtin:full --budget 10 --json other.json --resume --quiet
head -c 300 new.json >cut.json
try kvconform run builtin:full --budget 10 --json cut.json --resume --quiet
try kvconform run builtin:full --budget 10 --resume
try kvconform run builtin:full --budget 10 --resume --json -
