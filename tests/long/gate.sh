# The gate on transformers 5.24.0: without a bug it passes, whatever the seed, and each of fifty bugs that are put into a copy is named.
[ -n "${KVCONFORM_PYTHON-}" ] || skip 'no environment with transformers'
export PYTHONDONTWRITEBYTECODE=1
for seed in ${KVC_SEEDS-1 2 3}; do
  kvconform gate transformers --python "$KVCONFORM_PYTHON" --baseline "$KVC_TOP/tests/long/transformers-5.24.json" --budget 2000 \
    --seed "$seed" 2>complaints || fail "seed $seed"
done
python3 "$KVC_TOP/tests/long/cache_bugs.py" "$KVCONFORM_PYTHON" --of-class
