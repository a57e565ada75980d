# A subject that ends at nearly every op is started a few times only, and the result is the same for any number of workers.
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
for jobs in 1 2; do
  KVC_STARTS=$PWD/starts-$jobs
  export KVC_STARTS
  kvconform run "exec:python3 $KVC_TOP/tests/adapters/broken.py crashes_on_append" --variant full --budget 3000 --jobs $jobs \
    --json $jobs.json >output 2>&1 || echo "exit $?"
  sed -n 's|[0-9,]* ops, seed|N ops, seed|; /^✗\|case:/p' output
  [ "$(wc -c <"$KVC_STARTS")" -le 100 ] || fail "started $(wc -c <"$KVC_STARTS") times"
  sed -e '/"seconds"/d' -e '/"at"/d' -e '/"1.json"/d' -e '/"2.json"/d' -e '/"command"/d' $jobs.json >$jobs.same
done
cmp 1.same 2.same
