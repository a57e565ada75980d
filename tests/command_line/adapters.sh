# Adapters of one's own: a correct one conforms; of a broken one it is said in one line what is wrong, within seconds.
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
adapters=$KVC_TOP/tests/adapters
mark=adapters-$$ # known in the list of processes

# Faults of the subject are findings. Those that take time run beside the rest; what they print is shown at the end.
subject_faults='hangs hangs_busy crashes exits swells length_off refuses_loudly'
judge() {
  status=0
  timeout 250 kvconform run "exec:python3 $adapters/broken.py $1 $mark" --variant full --budget 20 --jobs 2 --timeout 1 --memory 150 \
    --json "$1.json" >"$1.output" 2>&1 || status=$?
  laws=$(sed -n 's/^  law: *\([A-Z]*\) .*/\1/p' "$1.output" | sort -u | tr '\n' ' ')
  echo "$1: $status: $laws" "$(grep -m 1 -o '^  case: .*crop 0' "$1.output" | sed 's/.*, //; s/  case: //')"
  python3 "$KVC_TOP/tests/command_line/json_schema.py" "$KVC_TOP/reports/schemas/kvconform-result-1.schema.json" "$1.json"
}
for fault in hangs hangs_busy; do
  judge "$fault" >"$fault.told" 2>&1 &
done

kvconform run "exec:python3 $adapters/full_attention.py" --budget 2500 --variant full 2>/dev/null | sed 's/[0-9,]* ops/N ops/'
kvconform run "exec:python3 $adapters/full_attention.py" --budget 1000 --variant 'f*l' --profile assisted --quiet --seed 5
try kvconform smoke "exec:python3 '$adapters/full_attention.py'"
# Spaces and quotation marks in the command.
ln -s "$adapters" 'a folder'
try kvconform smoke "exec:python3 'a folder/full_attention.py'"
try kvconform run 'exec:./nowhere' --variant full
try kvconform run 'exec:/' --variant full
printf 'not a program\n' >text && chmod +x text
kvconform run exec:./text --variant full >output 2>&1 || echo "a text: exit $?"

# Faults of the protocol: the subject is not judged, and the exit status is 3. smoke.sh has all of them. A cache that is absent is no fault.
for fault in hello_unknown_subject hello_unknown_variant hello_old_version hello_variant_twice prints_garbage_first exits_at_once \
  no_newline wrong_id says_error says_absent cut_line cut_data stalls_in_data more_bytes bytes_more_than_steps bytes_absurd length_nan step_missing \
  shape_huge name_not_utf8 tensor_same_as_itself tensor_twice; do
  status=0
  timeout 30 kvconform run "exec:python3 $adapters/broken.py $fault $mark" --variant full --budget 200 --jobs 1 --timeout 1 >output 2>complaint ||
    status=$?
  echo "$fault: $status: $(sed -n 's/^.* not run: //p; s/^.* not covered: /not covered: /p; s/^.* absent: /absent: /p' output | tail -n 1)"
  # Nothing but the adapter's own complaints.
  if grep '^kvconform:' complaint; then :; fi
done
for fault in $subject_faults; do
  [ -e "$fault.told" ] || judge "$fault" >"$fault.told" 2>&1
done
wait
for fault in $subject_faults; do
  cat "$fault.told"
done
if ps -A -o args= 2>/dev/null | grep -F "$mark" | grep -v grep; then fail 'left behind'; fi
