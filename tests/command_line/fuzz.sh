# The guided search: the same for the same seed and any number of workers, goes on where it was stopped, keeps and merges what it needs, and
# whoever is killed loses nothing that was reported.
command -v ps >/dev/null || skip 'no ps'
same() { sed 's/[0-9,]* ops, seed/N ops, seed/'; }

# ---- Bounded by a number of sequences

kvconform fuzz builtin:window+double_crop_loses --budget 9000 --report one --jobs 1 | same
kvconform fuzz builtin:window+double_crop_loses --budget 9000 --report two --jobs 2 --quiet || [ $? -eq 1 ]
diff -r one/corpus two/corpus || fail 'the corpus depends on the number of workers'
kept() { find "$1/corpus" -type f ! -name next | wc -l | tr -d ' '; }
[ "$(kept one)" -gt 100 ] || fail "only $(kept one) sequences are kept"
ls one/corpus/window+double_crop_loses/failing/* >/dev/null || fail 'what failed is not kept'

# It goes on: with the next sequence, and what was found is found again at once.
cut -d ' ' -f 1 one/corpus/*/next
kvconform fuzz builtin:window+double_crop_loses --budget 500 --report one --jobs 1 | same | head -n 1
cut -d ' ' -f 1 one/corpus/*/next

# The fewest that reach the same; again it stays as it is. Other folders are merged in, and a case is a sequence too.
before=$(kept one)
try kvconform fuzz builtin:window+double_crop_loses --minimise --report one --quiet
after=$(kept one)
[ "$after" -lt "$before" ] || fail "$before sequences became $after"
kvconform fuzz builtin:window+double_crop_loses --minimise --report one --quiet || [ $? -eq 1 ]
[ "$(kept one)" -eq "$after" ] || fail "$after sequences became $(kept one) when nothing was new"
kvconform fuzz builtin:window+double_crop_loses --minimise --report merged --corpus merged/corpus --corpus one/corpus --corpus two/corpus --quiet || [ $? -eq 1 ]
[ "$(kept merged)" -le $((before + 10)) ] && [ "$(kept merged)" -ge $((after / 2)) ] || fail "merged: $(kept merged), one: $after"
kvconform fuzz builtin:window+double_crop_loses --minimise --report from --corpus from/corpus --corpus one/cases --quiet || [ $? -eq 1 ]
ls from/cases
mkdir junk && head -c 3000 /dev/zero >junk/zeros && printf 'x' >junk/short && printf '{}' >junk/broken.json
try kvconform fuzz builtin:full --minimise --report junked --corpus junked/corpus --corpus junk | grep -e '^[$]' -e 'not run:' -e exit
rm junk/broken.json
try kvconform fuzz builtin:full --minimise --report junked --corpus junked/corpus --corpus junk --quiet
try kvconform fuzz builtin:full --minimise --report junked --corpus junked/corpus --corpus nowhere | grep -e '^[$]' -e 'not run:' -e exit

# A fault that is mended is gone from the report.
sed -i.before 's/"variant":.*/"variant": "window",/' one/cases/*.json
kvconform fuzz builtin:window --minimise --report mended --corpus mended/corpus --corpus one/cases --quiet
ls mended/cases

# ---- Wrong command lines

try kvconform fuzz 2>&1
try kvconform fuzz builtin --profile assisted 2>&1
try kvconform fuzz builtin --resume 2>&1
try kvconform fuzz ./nothing.so --budget 10 --report nothing | same

# ---- Killed

soon() { # COMMAND...
  turn=0
  until "$@"; do
    turn=$((turn + 1))
    [ "$turn" -lt 300 ] || return 1
    sleep 0.1
  done
}
seen() { ps -A -o pid= -o ppid= -o stat= -o args= | grep -F "$1" | grep -v -e grep -e ' Z' >left; }
gone() { ! seen "$1"; }
has_case() { ls "$1"/cases/*.json >/dev/null 2>&1; }
ids() { ls "$1/cases" | sed -n 's/\.json$//p'; }

# The program itself, again and again at whatever it does: what was reported stays, and no process of it does.
mark=killed-$$
: >reported
for pause in 0 0.1 0.3 0.7 1.1; do
  kvconform fuzz builtin:full+zero_empties builtin:window+double_crop_loses --report "$mark" --jobs 2 --quiet >output 2>&1 &
  soon has_case "$mark" || fail "it found nothing: $(cat output)"
  sleep "$pause"
  kill -9 $!
  wait $! 2>/dev/null || :
  soon gone "$mark" || fail "left behind: $(cat left)"
  for id in $(cat reported); do
    [ -s "$mark/cases/$id.json" ] || fail "$id was reported and is lost"
  done
  ids "$mark" >reported
  kept "$mark" >count
done
status=0
kvconform fuzz builtin:full+zero_empties builtin:window+double_crop_loses --report "$mark" --budget 3000 --quiet || status=$?
echo "killed five times: $status"
for id in $(cat reported); do
  grep -q "\"$id\"" "$mark/result.json" || fail "$id was reported and is not in the result any more"
done
[ "$(kept "$mark")" -ge "$(cat count)" ] || fail "$(cat count) sequences became $(kept "$mark")"
[ -z "$(find "$mark/corpus" -name '*.part')" ] || fail 'half a file was left'

# A worker: another takes its place, and the search comes to its end.
mark=worker-$$
kvconform fuzz builtin:full+zero_empties --report "$mark" --jobs 2 --budget 5s --quiet >output 2>&1 &
main=$!
soon has_case "$mark" || fail "it found nothing: $(cat output)"
for turn in 1 2 3; do
  ps -A -o pid= -o ppid= | awk -v main="$main" '$2 == main { print $1; exit }' | while read -r worker; do kill -9 "$worker"; done
  sleep 0.3
done
status=0
wait "$main" || status=$?
echo "workers killed: $status"
grep -q '"id":.*"ZERO-' "$mark/result.json" || fail 'the finding is lost'
grep -q '</html>' "$mark/report.html" || fail 'no report'
soon gone "$mark" || fail "left behind: $(cat left)"
