# The corpus of the built-in caches: one case for each that is broken on purpose, which must break the law that its fault is for.
kvconform list faults | awk '{print $1, $2}' | sort >faults
for file in "$KVC_TOP"/cases/builtin/*.json; do
  sed -n 's/.*"variant": "\(.*\)",/\1/p; s/.*"expect": {"1": "\(.*\)"}/\1/p' "$file" | tr '\n' ' ' | sed 's/ $//'
  echo
done | sort >cases
cmp faults cases || fail "a fault without a case, or with another law: $(diff faults cases | head -n 4)"
kvconform replay "$KVC_TOP/cases/builtin" >replays || fail "$(grep -v ', as expected' replays | head -n 4)"
[ "$(grep -c ', as expected$' replays)" -eq "$(wc -l <faults)" ] || fail 'not all were run'
