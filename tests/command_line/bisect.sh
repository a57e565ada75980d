# Between two versions, or two commits, the one that changed what a case shows.
command -v python3 >/dev/null || skip 'no python3'
versioned_subject <<'END'
import os
import sys

version = sys.argv[2]
if ".." in version:
    first, last = (int(end[0]) for end in version.split(".."))
    print(" ".join(f"{number}.0.0" for number in range(first, last + 1)))
else:
    print(os.path.abspath("python-" + version))
END
# A cache that removes one token too few from version 3 to version 6.
for number in 1 2 7 8 9; do version "$number.0.0"; done
for number in 3 4 5 6; do version "$number.0.0" broken; done
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
  version 1.0.0 history
  commits() { sed "s/$(git -C repository rev-parse --short=12 v4)/COMMIT-4/; s/$(git -C repository rev-parse --short=12 v3)/COMMIT-3/"; }
  try kvconform bisect case.json --versions v1..v6 --git repository --python "$PWD/python-1.0.0" --quiet | commits
  # The checkout stays as it was, and nothing is left behind.
  git -C repository status --short --branch
  git -C repository worktree list | wc -l
  find . -maxdepth 1 -name 'kvconform-*'
  try kvconform bisect case.json --versions v1..v9 --git repository --python "$PWD/python-1.0.0" --quiet
  try kvconform bisect case.json --versions v6..v6 --git repository --python "$PWD/python-1.0.0" --quiet
  try kvconform bisect case.json --versions v1..v6 --git nowhere --python "$PWD/python-1.0.0" --quiet
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
