# Ctrl-C ends a run with what was found until then; whatever ends the program, no process of it stays behind.
command -v python3 >/dev/null || skip 'no python3'
schema=$KVC_TOP/reports/schemas/kvconform-result-1.schema.json
export PYTHONDONTWRITEBYTECODE=1

# Waits up to ten seconds until a command succeeds.
soon() {
  turn=0
  until "$@"; do
    turn=$((turn + 1))
    [ "$turn" -lt 100 ] || return 1
    sleep 0.1
  done
}
# Workers are children of the program and have its command line, so that a mark in it finds them.
seen() { ps -A -o stat= -o args= | grep -v '^Z' | grep -F "$1" | grep -v grep >left; }
gone() { ! seen "$1"; }
started() { seen "$1" && [ "$(wc -l <left)" -ge "$2" ]; }
# A shell that runs a job in the background lets it ignore SIGINT; python does not.
start() { exec python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])' "$@"; }
command -v ps >/dev/null || skip 'no ps'

# What was found before is in the result, and is on disk as soon as a variant is done.
for signal in INT TERM; do
  mark=mark-$signal-$$
  start kvconform run builtin:full+zero_empties builtin:full --budget 2s --jobs 2 --json "$mark.json" --report "$mark" >output 2>&1 &
  soon eval 'ls "$mark"/cases/ZERO-*.json 2>/dev/null' >/dev/null || fail "$signal: it found nothing: $(cat output)"
  kill -"$signal" $!
  status=0
  wait $! || status=$?
  [ "$status" -eq 130 ] || fail "$signal: exit status $status: $(cat output)"
  soon gone "$mark" || fail "$signal left behind: $(cat left)"
  python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$schema" "$mark.json" >/dev/null || fail "$signal: the result is not valid"
  grep -q '"interrupted":.*true' "$mark.json" || fail "$signal: the result does not say so"
  grep -q '"id":.*"ZERO-' "$mark.json" || fail "$signal: the finding is lost"
  grep -q '</html>' "$mark/report.html" || fail "$signal: no report"
  echo "$signal: 130"
done

# Findings that were not made smaller yet are kept, each with a title as any other; what was to come is told.
mark=mark-unfinished-$$
start kvconform run "exec:python3 $KVC_TOP/tests/adapters/broken.py length_off_then_hangs $mark" builtin:full --variant full \
  --jobs 1 --timeout 60 --json unfinished.json --report unfinished >output 2>&1 &
soon started "broken.py length_off_then_hangs $mark" 3 || fail "it did not start: $(cat output left)"
sleep 1.5
kill -INT $!
status=0
wait $! || status=$?
echo "unfinished: $status"
soon gone "$mark" || fail "left behind: $(cat left)"
python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$schema" unfinished.json
sed -n 's/exec:.*broken.py[^ ]*/exec:broken.py/; /^[✗⊘]/p' output
sed -n 's/^.*"no_script":[[:space:]]*//p' unfinished.json | sort -u
kvconform replay unfinished/cases/*.json --target builtin | sed 's/^[^:]*: //' | sort -u

# Of a variant without a finding it is told how far it came.
start kvconform run builtin:window --budget 60s --jobs 2 --json far.json >output 2>&1 &
soon started far.json 3 || fail "it did not start: $(cat output)"
sleep 1
kill -INT $!
status=0
wait $! || status=$?
echo "far: $status"
sed -n 's/after [1-9][0-9]* seq/after N seq/; s/^\(.*N sequences\).*/\1/p' output
python3 -B "$KVC_TOP/tests/command_line/json_schema.py" "$schema" far.json
grep -q '"sequences":[[:space:]]*0,' far.json && fail 'no sequences are counted'

# Also when it is stopped between two portions: those before are not the whole, and are not gone on with as if they were.
for round in 1 2 3 4; do
  start kvconform run builtin:full --budget 100000 --portion 20 --jobs 1 --json "portions-$round.json" >output 2>&1 &
  soon started "portions-$round.json" 2 || fail "it did not start: $(cat output)"
  sleep 0.3$round
  kill -INT $!
  status=0
  wait $! || status=$?
  sed -n "s/after [1-9][0-9]* seq/after N seq/; s/^\(.*N sequences\).*/$status: \1/p" output
done

# Killed: nothing can be written, but nothing stays.
mark=mark-KILL-$$
start kvconform run builtin --budget 60s --jobs 2 --json "$mark.json" >output 2>&1 &
soon started "$mark" 3 || fail "it did not start: $(cat output)"
kill -KILL $!
wait $! 2>/dev/null || :
soon gone "$mark" || fail "KILL left behind: $(cat left)"
[ ! -e "$mark.json" ] || fail 'KILL: half a result'
echo 'KILL: gone'

# Killed while it goes on with a result: what that has of the variants behind is not lost, nor what a shard has of the portions behind.
# again EDIT ARGUMENT...: in what is gone on with, portions are larger than they were, so that there is time for the kill.
again() {
  edit=$1
  shift
  set -- builtin:window builtin:full+zero_empties --json again.json "$@"
  rm -f again.json
  kvconform run "$@" --budget 100 --portion 20 --quiet || [ $? -eq 1 ] || fail "again: $?"
  python3 -c "import json
result = json.load(open('again.json'))
run = result['runs'][0]
del result['finished']
result['budget'] = {'sequences': 100000, 'portion': 20000}
$edit
json.dump(result, open('again.json', 'w'))"
  cp again.json before.json
  start kvconform run "$@" --budget 100000 --portion 20000 --resume --jobs 1 >output 2>&1 &
  soon eval '! cmp -s again.json before.json' || fail "nothing was written: $(cat output)"
  kill -KILL $!
  wait $! 2>/dev/null || :
  # On a machine that is slow to kill it has run more of the first variant.
  python3 -c "import json
for run in json.load(open('again.json'))['runs']:
    numbers = [portion['number'] for portion in run.get('portions', []) if run['variant'] != 'window' or portion['number'] != 3]
    print(run['variant'], numbers or (run['status'] if run['variant'] != 'window' else 'once more'))"
}
again "run['reason'] = 'interrupted after 5 sequences'"
again "del run['portions'][3], run['portions'][1]" --shard 1/1

# Half a file that a process which was killed has left goes with the next run; that of one which still runs stays, and what is not ours.
dead=$(sh -c 'echo $$')
mkdir -p halves/cases
for half in halves.json halves/result.json halves/report.html halves/cases/KEYS-0123abcd.json halves/cases/KEYS-0123abcd.py halves/film.2024 \
  halves/cases/notes.json; do
  echo half >"$half.$dead.0.part"
done
echo half >"halves.json.$$.0.part"
echo half >"halves/result.json.$$.0.part"
echo half >"other.json.$dead.0.part"
ln -s ../output "halves/junit.xml.$dead.0.part"
kvconform run builtin:full --budget 10 --json halves.json --report halves --quiet || fail "halves: $?"
find . -name '*.part' | sed "s/\.$dead\./.DEAD./; s/\.$$\./.ALIVE./" | sort

# Subjects that are processes go too, also those that hang and ignore signals.
for fault in hangs hangs_busy never_answers_signals; do
  for signal in INT KILL; do
    mark=mark-$fault-$signal-$$
    start kvconform run "exec:python3 $KVC_TOP/tests/adapters/broken.py $fault $mark" --variant full --jobs 2 --timeout 60 >output 2>&1 &
    soon started "broken.py $fault $mark" 5 || fail "$fault: it did not start: $(cat output left)"
    sleep 0.5
    kill -"$signal" $!
    status=0
    wait $! 2>/dev/null || status=$?
    [ "$signal" = KILL ] || [ "$status" -eq 130 ] || fail "$fault: exit status $status"
    soon gone "$mark" || fail "$fault, $signal left behind: $(cat left)"
  done
  echo "$fault: gone"
done
