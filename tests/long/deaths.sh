# A subject that ends in ever new situations is given up, and it is told how far it came; the result is the same for any --jobs.
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
for jobs in 1 2; do
  KVC_STARTS=$PWD/starts-$jobs
  export KVC_STARTS
  kvconform run "exec:python3 $KVC_TOP/tests/adapters/broken.py crashes_with_two" --variant full --budget 20000 --jobs $jobs \
    --json $jobs.json --quiet || [ $? -eq 1 ] || fail "exit $?"
  grep -q '"reason":.*"given up after [0-9]* sequences: its process had ended [0-9]* times"' $jobs.json || fail 'it was not given up'
  [ "$(wc -c <"$KVC_STARTS")" -le 300 ] || fail "started $(wc -c <"$KVC_STARTS") times"
  sed -e '/"seconds"/d' -e '/"at"/d' -e '/"1.json"/d' -e '/"2.json"/d' -e '/"command"/d' $jobs.json >$jobs.same
done
cmp 1.same 2.same
