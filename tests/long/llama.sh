# llama.cpp: 20,000 sequences of each kind find what docs/contracts-llama.cpp.md lists and nothing else.
prefix=${KVCONFORM_LLAMA-}
[ -n "$prefix" ] || skip 'no llama.cpp: KVCONFORM_LLAMA says where it is'
# Laws that docs/contracts-llama.cpp.md lists for a kind.
known() {
  case $1 in
  quantised) echo ALIVE ATOMIC SAVE LENGTH VALUES ISOLATION ;;
  full) echo ATOMIC SAVE LENGTH VALUES ISOLATION ;;
  window) echo ATOMIC SAVE LENGTH VALUES ISOLATION RESUME ;;
  window_full_size) echo ATOMIC SAVE LENGTH VALUES ISOLATION RESUME ;;
  recurrent) echo REFUSE ATOMIC ;;
  hybrid) echo REFUSE ATOMIC SAVE LENGTH VALUES ISOLATION ;;
  hybrid_snapshots) echo REFUSE ATOMIC SAVE LENGTH VALUES ISOLATION RESUME ;;
  hybrid_window) echo ALIVE REFUSE ATOMIC SAVE LENGTH VALUES ISOLATION ;;
  esac
}
for kind in full quantised window window_full_size recurrent hybrid hybrid_snapshots hybrid_window; do
  budget=20000
  [ "$kind" != window ] || budget=80000 # it gets a fourth of it
  kvconform run "llama.cpp:$kind" --budget "$budget" --json "$kind.json" >output 2>complaint || [ $? -eq 1 ] || fail "$kind: $(cat complaint)"
  for law in $(sed -n 's/^ *law: *\([A-Z]*\).*/\1/p' output | sort -u); do
    case " $(known "$kind") " in
    *" $law "*) ;;
    *) fail "$kind: $(cat output)" ;;
    esac
  done
done
