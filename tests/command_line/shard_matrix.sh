# The versions of a matrix, dealt to parts that share a folder; all of them together make its report.
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
versioned_subject <<'END'
import os
import sys

print(os.path.abspath("python-" + sys.argv[2]))
END
for version in 1.0.0 2.0.0 3.0.0; do version "$version"; done
version 2.0.0 broken
set -- transformers --versions 1.0.0,2.0.0,3.0.0 --budget 600 --portion 250 --jobs 2 --quiet
kvconform matrix "$@" -o one || echo "exit $?"
for parts in 2 3 5; do
  for part in $(seq "$parts"); do
    : >started
    kvconform matrix "$@" --shard "$part/$parts" -o many || [ $? -eq 1 ] || [ $? -eq 3 ] || fail "part $part of $parts: $?"
    sort -u started | sed "s/^/part $part of $parts starts /"
  done
  ls many/results
  kvconform report many/results/*.json -o many --quiet
  python3 -c 'import json, sys
def plain(path):
    merged = json.load(open(path))
    for part in merged["results"]: del part["command"], part["finished"]
    for run in merged["runs"]: del run["seconds"]
    return merged["results"], merged["runs"]
assert plain("one/merged.json") == plain("many/merged.json")'
  [ "$parts" -ne 5 ] || break
  rm -r many
done
# A part of a version, and a version, are missed.
try kvconform matrix transformers --versions 1.0.0,2.0.0,3.0.0 --budget 600 --portion 250 --shard 1/5 -o many
try kvconform report many/results/*-1.0.0-*.json many/results/*-2.0.0-*.json -o x
try kvconform report many/results/*-1-of-2.json many/results/*-of-1.json -o x
try kvconform matrix transformers --versions 1.0.0 -o x --time 3s
