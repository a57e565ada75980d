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
  programs_show_the_fault "$kind/result.json" "$kind/cases"
done
# The same program where there is no fault: streams that are one.
kvconform run llama.cpp:hybrid --budget 2000 --report streams --quiet || [ $? -eq 1 ] || fail 'streams of their own'
program=$(grep -l 'Law: LENGTH' streams/cases/*.c | head -n 1)
sed 's/#define UNIFIED 0/#define UNIFIED 1/' "$program" >right.c
compile_against_llama right.c
./show >output || fail "a program that shows no fault: $(cat output)"
# A copy that is not there, and one that cannot be compiled against.
KVCONFORM_LLAMA=$PWD/nowhere try kvconform run llama.cpp:full --budget 10 --quiet
mkdir -p broken/include broken/lib
echo '#error no such version' >broken/include/llama.h
cp "$prefix"/lib/libllama.so broken/lib/
KVCONFORM_LLAMA=$PWD/broken kvconform run llama.cpp:full --budget 10 2>&1 | sed -n 's/.*\(the adapter cannot be compiled\).*/\1/p' | head -n 1
# A library with two more faults: a damaged file that is taken was not refused, whatever prompt came out of it; and that every state is
# refused is not among what is known.
cat >broken.c <<'END'
#include <llama.h>
#include <stdint.h>
#include <stdio.h>

/* Takes a file that claims more tokens of a prompt than there is room for, as if it were whole, and no other. */
size_t llama_state_seq_load_file(struct llama_context *context, const char *path, llama_seq_id sequence, llama_token *tokens, size_t room, size_t *count)
{
    uint32_t head[3] = {0};
    FILE *file = fopen(path, "rb");
    size_t size = file != NULL ? fread(head, 1, sizeof head, file) : 0;

    (void)context, (void)sequence, (void)tokens;
    if (file != NULL)
        (void)fclose(file);
    *count = head[2];
    return head[2] > room ? size : 0;
}

size_t llama_state_seq_set_data_ext(struct llama_context *context, const uint8_t *bytes, size_t size, llama_seq_id sequence,
                                    llama_state_seq_flags flags)
{
    (void)context, (void)bytes, (void)size, (void)sequence, (void)flags;
    return 0;
}
END
${CC:-cc} -shared -fPIC -I"$prefix/include" broken.c -o broken.so
LD_PRELOAD=$PWD/broken.so kvconform replay "$KVC_TOP/cases/llama.cpp/state-file-damaged-prompt.json" --target llama.cpp | sed -n 2p
LD_PRELOAD=$PWD/broken.so kvconform run llama.cpp:full --budget 600 --json refused.json >output 2>complaint || [ $? -eq 1 ] || fail "$(cat complaint)"
(only_known_findings full refused.json) 2>&1 | sed -n 's/^\(failed: full: [A-Za-z:_0-9]*\).*/\1/p'
