# The parts of a run under GNU parallel, as docs/many-machines.md has it.
command -v parallel >/dev/null || skip 'no GNU parallel'
plain() { sed -e '/^\t*"\(seconds\|at\)":/d' -e '/^\t*"command":/d' "$1"; }
same() {
  plain "$1" >first.txt
  plain "$2" >second.txt
  cmp first.txt second.txt || fail "$1 and $2 differ: $(diff first.txt second.txt | head -n 20)"
}

# The script of the documents, with faults in it.
awk '/^```bash part.sh/ {on = 1; next} /^```/ {on = 0} on' "$KVC_TOP/docs/many-machines.md" | sed 's/builtin:window/&+reset_stops_recording/' >part.sh
kvconform run builtin:window+reset_stops_recording builtin:ring --budget 4000 --portion 1000 --report single --quiet || [ $? -eq 1 ]
# A machine that dies: its part is started again and goes on.
sed '/^mkdir/a [ "$1" -ne 2 ] || [ -e died ] || { touch died; kill -KILL $$; }' part.sh >dying.sh
HOME=$PWD parallel --will-cite --jobs 3 --retries 2 sh dying.sh '{}' 5 ::: 1 2 3 4 5 || fail "parallel: $?"
[ -e died ] || fail 'no part died'
kvconform report parts/*.json -o whole --quiet
same single/result.json whole/result.json
