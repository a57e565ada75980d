# llama.cpp: the cases show what they must; of every kind a few sequences find what is known and nothing else; each finding has a program
# that shows it alone.
prefix=${KVCONFORM_LLAMA-}
[ -n "$prefix" ] || skip 'no llama.cpp: KVCONFORM_LLAMA says where it is'
kvconform smoke llama.cpp 2>&1 | tail -n 1
kvconform replay "$KVC_TOP/cases/llama.cpp" --target llama.cpp >output 2>complaint || fail "$(grep -v 'as expected' output)"
tail -n 1 output
for kind in $(sed 's/ .*//' "$KVC_TOP/tests/data/llama-known-findings.txt"); do
  kvconform run "llama.cpp:$kind" --budget 600 --report "$kind" >output 2>complaint || [ $? -eq 1 ] || fail "$kind: $(cat complaint)"
  only_known_findings "$kind" "$kind/result.json"
  for program in "$kind"/cases/*.c; do
    [ -e "$program" ] || continue
    # shellcheck disable=SC2046 # two words
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -D_POSIX_C_SOURCE=200809L -I"$prefix/include" "$program" -o show \
      $(for folder in lib build/bin; do [ ! -d "$prefix/$folder" ] || echo "-L$prefix/$folder -Wl,-rpath,$prefix/$folder"; done) \
      -lllama -lggml -lggml-base -lm || fail "$program cannot be compiled"
    status=0
    ./show >output 2>&1 || status=$?
    [ "$status" -eq 1 ] || fail "$program: exit $status: $(cat output)"
  done
done
# The same program where there is no fault: streams that are one.
kvconform run llama.cpp:hybrid --budget 2000 --report streams --quiet || [ $? -eq 1 ] || fail 'streams of their own'
program=$(grep -l 'Law: LENGTH' streams/cases/*.c | head -n 1)
sed 's/#define UNIFIED 0/#define UNIFIED 1/' "$program" >right.c
${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -I"$prefix/include" right.c -o show "-L$prefix/lib" "-Wl,-rpath,$prefix/lib" -lllama -lggml \
  -lggml-base -lm
./show >output || fail "a program that shows no fault: $(cat output)"
# A copy that is not there, and one that cannot be compiled against.
KVCONFORM_LLAMA=$PWD/nowhere try kvconform run llama.cpp:full --budget 10 --quiet
mkdir -p broken/include broken/lib
echo '#error no such version' >broken/include/llama.h
cp "$prefix"/lib/libllama.so broken/lib/
KVCONFORM_LLAMA=$PWD/broken kvconform run llama.cpp:full --budget 10 2>&1 | sed -n 's/.*\(the adapter cannot be compiled\).*/\1/p' | head -n 1
