# Between two versions, or two commits, the one that changed what a case shows.
command -v python3 >/dev/null || skip 'no python3'
mkdir -p data/reference/specs/transformers data/reference/contracts data/adapters/environment data/adapters/python
sed 's/"subject": "builtin"/"subject": "transformers"/' "$KVC_TOP/reference/specs/builtin/full.json" >data/reference/specs/transformers/full.json
sed -e 's/"subject": *"builtin"/"subject": "transformers"/' -e 's/"id": *"builtin-1"/"id": "transformers-1"/' \
  "$KVC_TOP/reference/contracts/builtin-1.json" >data/reference/contracts/transformers-1.json
cat >data/adapters/environment/kvconform_environment.py <<'END_PYTHON'
import os
import sys

version = sys.argv[2]
if ".." in version:
    first, last = (int(end[0]) for end in version.split(".."))
    print(" ".join(f"{number}.0.0" for number in range(first, last + 1)))
else:
    print(os.path.abspath("python-" + version))
END_PYTHON
# A cache that removes one token too few while its version says so.
cat >adapter.py <<'END_PYTHON'
import os
import sys

sys.path.insert(0, os.environ["KVC_TOP"] + "/tests/adapters")
import full_attention


class Broken(full_attention.Cache):
    def crop(self, count):
        super().crop(min(0, count + 1))


class Adapter(full_attention.Adapter):
    def hello(self):
        return {**super().hello(), "subject": "transformers", "version": version}


version = sys.argv[1]
if version == "history":
    import history

    version, broken = "1.0.0", history.BROKEN
else:
    open("started", "a").write(version + "\n")
    broken = 3 <= int(version[0]) <= 6
if broken:
    full_attention.Cache = Broken
Adapter().serve()
END_PYTHON
for version in 1 2 3 4 5 6 7 8 9; do
  printf '#!/bin/sh\nexec python3 -B "%s/adapter.py" %s.0.0\n' "$PWD" "$version" >"python-$version.0.0"
done
printf '#!/bin/sh\nexec python3 -B "%s/adapter.py" history\n' "$PWD" >python-history
chmod +x python-*
export KVCONFORM_DATA="$PWD/data" PYTHONDONTWRITEBYTECODE=1
cat >case.json <<'END_CASE'
{"schema": "kvconform-case/1", "subject": "transformers", "variant": "full",
 "params": {"batch": 1, "heads": 1, "key_dim": 8, "value_dim": 8, "dtype": "float32", "layout": "contiguous", "call": "position"},
 "ops": [["append", 2], ["crop", -1]]}
END_CASE
try kvconform bisect case.json --versions 1.0.0..6.0.0
sort started | uniq -c | sed 's/^ *//'
try kvconform bisect case.json --versions 3.0.0..9.0.0 --quiet
try kvconform bisect case.json --versions 3.0.0,5.0.0,8.0.0 --quiet
try kvconform bisect case.json --versions 3.0.0..6.0.0 --quiet
printf '#!/bin/sh\nexit 1\n' >python-2.0.0
try kvconform bisect case.json --versions 1.0.0..4.0.0 --quiet

if command -v git >/dev/null; then
  export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
  git init -q -b main repository
  mkdir repository/src
  for commit in 1 2 3 4 5 6; do
    echo "BROKEN = $commit > 3  # in commit $commit" | sed "s/$commit > 3/$([ "$commit" -gt 3 ] && echo True || echo False)/" >repository/src/history.py
    git -C repository add -A
    git -C repository commit -q -m "commit $commit"
    git -C repository tag "v$commit"
  done
  commits() { sed "s/$(git -C repository rev-parse --short=12 v4)/COMMIT-4/; s/$(git -C repository rev-parse --short=12 v3)/COMMIT-3/"; }
  try kvconform bisect case.json --versions v1..v6 --git repository --python "$PWD/python-history" --quiet | commits
  # The checkout stays as it was, and nothing is left behind.
  git -C repository status --short --branch
  git -C repository worktree list | wc -l
  find . -maxdepth 1 -name 'kvconform-*'
  try kvconform bisect case.json --versions v1..v9 --git repository --python "$PWD/python-history" --quiet
  try kvconform bisect case.json --versions v6..v6 --git repository --python "$PWD/python-history" --quiet
  try kvconform bisect case.json --versions v1..v6 --git nowhere --python "$PWD/python-history" --quiet
fi
try kvconform bisect case.json
try kvconform bisect case.json --versions 1.0.0
try kvconform bisect --versions 1.0.0..2.0.0
try kvconform bisect nowhere.json --versions 1.0.0..2.0.0
try kvconform bisect case.json --versions v1..v6 --git repository
export KVCONFORM_DATA="$KVC_TOP"
kvconform run builtin:full+zero_empties --budget 100 --report builtin --quiet || [ $? -eq 1 ]
mv builtin/cases/*.json builtin.json
try kvconform bisect builtin.json --versions 1..2
