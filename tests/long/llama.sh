# llama.cpp: 20,000 sequences of each kind find what docs/contracts-llama.cpp.md lists and nothing else.
prefix=${KVCONFORM_LLAMA-}
[ -n "$prefix" ] || skip 'no llama.cpp: KVCONFORM_LLAMA says where it is'
for kind in full window window_full_size recurrent hybrid hybrid_snapshots hybrid_window; do
  budget=20000
  [ "$kind" != window ] || budget=80000 # it gets a fourth of it
  kvconform run "llama.cpp:$kind" --budget "$budget" --json "$kind.json" >output 2>complaint || [ $? -eq 1 ] || fail "$kind: $(cat complaint)"
  echo "$kind: $(sed -n 's/^ *law: *\([A-Z]*\).*/\1/p' output | sort -u | tr '\n' ' ')"
done
