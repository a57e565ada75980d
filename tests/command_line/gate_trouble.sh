# Trouble in the gate: a clear line, the right exit status, and a baseline that is whole, the old one or the new one.
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
accept() { kvconform baseline update "$@" --baseline known.json --add --reason 'broken on purpose'; }
unchanged() {
  cmp known.json whole.json || fail "$1: the baseline is another"
  [ -z "$(find . -name '*.part*')" ] || fail "$1: left behind: $(find . -name '*.part*')"
}
# A shell that runs a job in the background lets it ignore SIGINT; python does not.
start() { exec python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])' "$@"; }
accept builtin:full+zero_empties --budget 300
cp known.json whole.json
# Ctrl-C: in the run of the targets, and while cases are run again.
hanging="exec:python3 $KVC_TOP/tests/adapters/broken.py never_answers"
for words in 'gate builtin:full' 'baseline update builtin:full+crop_takes_oldest --add --reason x' 'baseline update builtin:full+zero_empties --remove-fixed'; do
  # shellcheck disable=SC2086 # words
  start kvconform $words --baseline known.json --budget 60s --jobs 1 >output 2>&1 &
  sleep 2
  kill -INT $!
  status=0
  wait $! || status=$?
  echo "${words%% builtin*}: $status: $(cat output)"
  unchanged "$words"
done
start kvconform gate "$hanging" --baseline known.json --timeout 60 --jobs 1 >output 2>&1 &
sleep 2
kill -INT $!
status=0
wait $! || status=$?
echo "hanging: $status: $(cat output)"
# A disk that is full, as far as one file goes; and one that is full.
GCOV_PREFIX=$PWD/not-counted GCOV_ERROR_FILE=/dev/null; export GCOV_PREFIX GCOV_ERROR_FILE # of a build with --enable-coverage
try sh -c 'ulimit -f 1; kvconform baseline update builtin:full+zero_empties builtin:full+crop_takes_oldest builtin:window+* --baseline known.json --add --reason x --budget 300' 2>&1 | cat
unset GCOV_PREFIX GCOV_ERROR_FILE
unchanged 'a limit of the size of files'
mkdir disk
if mount -t tmpfs -o size=8k tmpfs disk 2>/dev/null; then
  trap 'umount disk' EXIT
  cp whole.json disk/known.json
  status=0
  (cd disk && accept 'builtin:window+*' --budget 300) >output 2>&1 || status=$?
  [ "$status" -eq 4 ] || fail "a full disk: exit status $status: $(cat output)"
  grep -q 'No space left on device' output || fail "a full disk: $(cat output)"
  cmp disk/known.json whole.json || fail 'a full disk: the baseline is another'
fi
# A baseline that cannot be read or written.
mkdir folder
try kvconform gate builtin:full --baseline folder
try kvconform baseline update builtin:full+zero_empties --baseline nowhere/known.json --add --reason x --budget 300
printf '{"schema": "kvconform-baseline/1", "entries": [' >cut.json
try kvconform gate builtin:full --baseline cut.json
try kvconform baseline update builtin:full --baseline cut.json --remove-fixed
# Cases of a corpus that are damaged, or not there.
mkdir corpus
cut -c 1-60 whole.json >corpus/cut.json
try kvconform gate builtin:full --baseline known.json --cases corpus --budget 10
try kvconform baseline update builtin:full+crop_takes_oldest --baseline known.json --add --reason x --cases corpus --budget 10
unchanged 'a damaged case'
echo '{"schema": "kvconform-case/1", "subject": "builtin", "variant": "full", "params": {"batch": 1}, "ops": [["fly"]]}' >corpus/cut.json
try kvconform gate builtin:full --baseline known.json --cases corpus --budget 10
try kvconform gate builtin:full --baseline known.json --cases no-corpus --budget 10
