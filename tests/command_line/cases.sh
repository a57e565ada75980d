# The corpus of the built-in caches: one case for each that is broken on purpose, which must break the law that its fault is for.
kvconform list faults | awk '{print $1, $2}' | sort >faults
for file in "$KVC_TOP"/cases/builtin/*.json; do
  sed -n 's/.*"variant": "\(.*\)",/\1/p; s/.*"expect": {"1": "\(.*\)"}/\1/p' "$file" | tr '\n' ' ' | sed 's/ $//'
  echo
done | sort >cases
cmp faults cases || fail "a fault without a case, or with another law: $(diff faults cases | head -n 4)"
kvconform replay "$KVC_TOP/cases/builtin" >replays || fail "$(grep -v ', as expected' replays | head -n 4)"
[ "$(grep -c ', as expected$' replays)" -eq "$(wc -l <faults)" ] || fail 'not all were run'
# A case that says what it must show version by version says it of every version that the corpus knows.
for subject in transformers mlx-lm; do
  versions() { grep -oh '"[0-9][0-9.]*": "[a-zA-Z]*"' "$@" | sed 's/:.*//' | sort -u; }
  versions "$KVC_TOP/cases/$subject"/*.json >all
  [ "$(wc -l <all)" -gt 3 ] || fail "the corpus of $subject names no versions"
  find "$KVC_TOP/cases/$subject" -name '*.json' | sort >files
  while read -r file; do
    ! grep -q '"expect": {' "$file" || versions "$file" | cmp -s - all || fail "$file leaves out a version: $(versions "$file" | diff - all | head -n 3)"
  done <files
done
