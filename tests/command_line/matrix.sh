# Several versions at once: each in an environment of its own, gone on with where it was stopped, one report of them all. The
# subject is a small adapter in the place of transformers, and its environments are made by a script of a few lines.
command -v python3 >/dev/null || skip 'no python3'
python() { python3 -B -c "$@"; }
versioned_subject <<'END'
import os
import sys

version = sys.argv[2]
if version == "all-minor":
    print("1.0.0 2.0.0")
elif version == "3.0.0":
    print("the package index has no transformers==3.0.0")
    sys.exit(3)
else:
    print(os.path.abspath("python-" + version))
END
version 0.9.0
version 1.0.0 broken
version 2.0.0
version 4.0.0 gone
reasons() { sed -n 's/^.*"reason":[^"]*"\(..*\)",$/\1/p' "$@" | sed -e 's/(exit status [0-9]*)/(exit status N)/' | sort -u; }

try kvconform matrix transformers --versions 1.0.0,2.0.0,3.0.0 -o out --budget 300 --jobs 2 --quiet
find out -maxdepth 2 -not -path '*/cases/*' | sort
reasons out/results/*.json
python 'import json; merged = json.load(open("out/merged.json"))
for run in merged["runs"]: print(run["version"], run["status"], len(run["findings"]))'
sort -u started

# Again: what is complete is not run again, what could not be made is tried again. Nothing else changes.
: >started
cp out/merged.json before.json
try kvconform matrix transformers --versions 1.0.0,2.0.0,3.0.0 -o out --budget 300 --jobs 2 --quiet
[ ! -s started ] || fail "versions ran again: $(cat started)"
plain() { grep -v '"at":' "$1"; }
plain before.json >before.txt
plain out/merged.json >after.txt
cmp before.txt after.txt || fail "the result changed: $(diff before.txt after.txt | head -n 20)"

# A version whose result was cut is run again, the others are not.
python 'import json; result = json.load(open("out/results/transformers-2.0.0.json")); result["runs"] = []; del result["finished"]
json.dump(result, open("out/results/transformers-2.0.0.json", "w"))'
kvconform matrix transformers --versions 1.0.0,2.0.0 -o out --budget 300 --jobs 1 --quiet || echo "exit $?"
sort -u started

# The newest patch of each minor release; a version that ends at once.
kvconform matrix transformers:f* --versions 0.9.0,all-minor -o minors --budget 50 --quiet || echo "exit $?"
ls minors/results
kvconform matrix transformers --versions 4.0.0,2.0.0 -o four --budget 50 --quiet 2>/dev/null || echo "exit $?"
reasons four/results/transformers-4.0.0.json

# Other settings do not mix; wrong command lines.
try kvconform matrix transformers --versions 2.0.0 -o out --budget 300 --seed 2 --quiet
try kvconform matrix transformers --versions 2.0.0 --budget 300
try kvconform matrix transformers -o out
try kvconform matrix transformers@2.0.0 --versions 2.0.0 -o out
try kvconform matrix builtin --versions 1 -o out
try kvconform matrix exec:./adapter --versions 1 -o out
try kvconform matrix transformers --versions 2.0.0,2.0.0 -o out
try kvconform matrix transformers --versions 2.0.0, -o out
try kvconform matrix transformers --versions ../2.0.0 -o out
try kvconform matrix transformers:nobody --versions 2.0.0 -o nobody --quiet
try kvconform matrix transformers --versions 2.0.0 -o out --json x.json
