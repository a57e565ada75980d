# smoke says what is wrong with an adapter: exit status 3 and a line for each problem.
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
adapters=$KVC_TOP/tests/adapters
smoke() {
  status=0
  timeout 60 kvconform smoke "exec:python3 $adapters/broken.py $1" --timeout 1 >"$1.output" 2>"$1.complaint" || status=$?
  echo "$1: $status: $(sed -n 's/^FAIL //p' "$1.output")"
}
# Those that say nothing take the time of a start; they run beside the others.
slow='never_answers never_answers_signals leaves_child'
for fault in $slow; do
  smoke "$fault" >"$fault.told" 2>&1 &
done
try kvconform smoke builtin
faults=$(python3 "$adapters/broken.py" 2>&1 | sed -e 's/^usage: broken.py //' -e 's/ |//g') || :
for fault in $faults; do
  case " $slow crashes exits hangs hangs_busy swells length_off refuses_loudly " in *" $fault "*) continue ;; esac
  smoke "$fault"
done
wait
for fault in $slow; do
  cat "$fault.told"
done
