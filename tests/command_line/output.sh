# Standard output that is full or closed: exit status 4 and one line. A full disk: what was found is still told.
[ -w /dev/full ] || skip 'no /dev/full'
kvconform run builtin:full+zero_empties --budget 100 --report case --quiet || :
mv case/cases/ZERO-*.json zero.json
# Shows what comes to standard error, with the exit status, for both kinds of output.
told() {
  printf '%s\n' "$*"
  status=0
  kvconform "$@" >/dev/full || status=$?
  echo "  full: $status"
  status=0
  kvconform "$@" >&- || status=$?
  echo "  closed: $status"
}
told --help
told --version
told list laws
told run builtin:full --budget 100
told run builtin:full+zero_empties --budget 100
told run builtin:full+zero_empties --budget 100 --json -
told smoke builtin
told replay zero.json
told run builtin:full+zero_empties --budget 100 --quiet
# A reader that has gone, by then.
{ sleep 1; kvconform list faults || echo "status $?" >status; } | :
# All three closed.
status=0
kvconform run builtin:full --budget 100 <&- >&- 2>&- || status=$?
echo "all closed: $status"
try kvconform run builtin:full+zero_empties --budget 100 --json /dev/full
# A disk of 16 KiB, where this process may have one.
mkdir disk
if mount -t tmpfs -o size=16k tmpfs disk 2>/dev/null; then
  trap 'umount disk' EXIT
  kvconform run builtin:full+zero_empties --budget 100 --report disk/out >found 2>complaints && fail 'the disk was not full' || status=$?
  [ "$status" -eq 4 ] || fail "a full disk: exit status $status"
  grep -q '^  law:  ZERO' found || fail 'a full disk: the finding is not told'
  grep -q 'No space left on device' complaints || fail 'a full disk is not complained about'
  find disk -name '*.json' | while read -r file; do
    tail -c 2 "$file" | grep -q '}' || fail "$file is cut"
  done
fi
# Of many findings there is a line each.
kvconform run 'builtin:full+*' --budget 500 >many.txt 2>/dev/null || [ $? -eq 1 ]
[ "$(grep -c 'full+[a-z_]*: .*: [a-z]' many.txt)" -gt 20 ] || fail 'not a line each'
! grep '^  case: ' many.txt || fail 'told whole'
grep 'wrong without an error' many.txt
