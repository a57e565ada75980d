# llama.cpp: 20,000 sequences of each kind find what docs/contracts-llama.cpp.md lists and nothing else; each finding has a program that
# shows it alone.
prefix=${KVCONFORM_LLAMA-}
[ -n "$prefix" ] || skip 'no llama.cpp: KVCONFORM_LLAMA says where it is'
for kind in $(sed 's/ .*//' "$KVC_TOP/tests/data/llama-known-findings.txt"); do
  budget=20000
  [ "$kind" != window ] || budget=80000 # it gets a fourth of it
  kvconform run "llama.cpp:$kind" --budget "$budget" --report "$kind" >output 2>complaint || [ $? -eq 1 ] || fail "$kind: $(cat complaint)"
  only_known_findings "$kind" "$kind/result.json"
  programs_show_the_fault "$kind/result.json" "$kind/cases"
done
