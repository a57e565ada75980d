# The same plugin under libFuzzer and AFL++: a planted fault is found by each, and what they found becomes a case. The commands are also
# those of docs/fuzzing.md, whose blocks marked `sh engines` are run here.
command -v clang >/dev/null || skip 'no clang'
KVC_FUZZ=$PWD/programs
export KVC_FUZZ
printf '#include <stddef.h>\nint LLVMFuzzerTestOneInput(const unsigned char *d, size_t n) { (void)d; (void)n; return 0; }\n' >probe.c
clang -fsanitize=fuzzer,address probe.c -o probe 2>/dev/null || skip 'clang has no libFuzzer'
build() { # OUTPUT COMPILER FLAG...
  output=$1
  shift
  "$@" -g -O1 -shared -fPIC -I"$KVC_TOP/include" -I"$KVC_TOP" -DDEPTH=2 "$KVC_TOP/tests/plugins/deep.c" -o "$output" >build.log 2>&1 ||
    fail "$output: $(cat build.log)"
}
run_document() { run_block docs/fuzzing.md engines "$1"; }
ln -s "$KVC_TOP/fuzz" "$KVC_TOP/examples" "$KVC_TOP/include" .
ln -s "$KVC_BUILD/bin/kvconform" kvconform

# Compiling takes its time on a busy machine; what follows is to be quick.
fuzz/cache build libfuzzer || fail 'no libFuzzer program'
build plain.so cc
run_document 1
ls found/cases/*.json >/dev/null || fail 'libFuzzer: no case came of it'
rm -rf crashes
made_case() { # FOLDER OF SEQUENCES
  status=0
  kvconform fuzz ./plain.so --minimise --report "$1-cases" --corpus "$1-cases/corpus" --corpus "$1" --quiet || status=$?
  [ "$status" -eq 1 ] || fail "$1: kvconform fuzz --minimise ended with status $status"
  grep -o '"append",[[:space:]]*5\|"crop",[[:space:]]*-2' "$1-cases"/cases/LENGTH-*.json | tr -d '[:space:]' | tr '\n' ' '
}

build libfuzzer.so clang -fsanitize=fuzzer-no-link,address
mkdir crashes
timeout 120 "$KVC_TOP/fuzz/cache" libfuzzer ./libfuzzer.so corpus -runs=200000 -seed=1 -artifact_prefix=crashes/ >libfuzzer.log 2>&1 || :
grep -q '^kvconform: Full: LENGTH: .*append 5, crop -2$' libfuzzer.log || fail "libFuzzer found nothing: $(tail -n 20 libfuzzer.log)"
grep -q 'Extra Counters' libfuzzer.log || fail 'libFuzzer does not see the situations'
echo "libFuzzer: $(made_case crashes)"
# It begins with what kvconform kept, and the other way round.
kvconform fuzz ./plain.so --budget 2000 --report kept --quiet || [ $? -le 1 ]
"$KVC_TOP/fuzz/cache" libfuzzer ./libfuzzer.so kept/corpus/Full -runs=0 >seeded.log 2>&1 || fail "$(tail -n 20 seeded.log)"
[ "$(sed -n 's/^INFO: *\([0-9]*\) files found.*/\1/p' seeded.log)" -gt 10 ] || fail "libFuzzer read no sequences: $(cat seeded.log)"

command -v afl-fuzz >/dev/null && command -v afl-clang-fast >/dev/null || { echo 'no afl-fuzz: libFuzzer alone was tried'; exit 77; }
build afl.so afl-clang-fast
export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_BENCH_UNTIL_CRASH=1
fuzz/cache build afl || fail 'no AFL++ program'
run_document 2
ls afl-found/cases/*.json >/dev/null || fail 'AFL++: no case came of it'
rm -rf afl
timeout 120 "$KVC_TOP/fuzz/cache" afl ./afl.so afl -V 60 -s 1 -M main >main.log 2>&1 &
turn=0
until [ -s afl/main/fuzzer_stats ] || [ "$turn" -gt 200 ]; do
  turn=$((turn + 1))
  sleep 0.1
done
timeout 120 "$KVC_TOP/fuzz/cache" afl ./afl.so afl -V 60 -s 2 -S second >second.log 2>&1 || :
wait
grep -q 'Persistent mode binary detected' main.log || fail "AFL++ does not run in persistent mode: $(tail -n 20 main.log)"
ls afl/*/crashes/id:* >/dev/null 2>&1 || fail "AFL++ found nothing: $(tail -n 20 main.log second.log)"
mkdir afl-crashes
cp afl/*/crashes/id:* afl-crashes/
echo "AFL++: $(made_case afl-crashes)"
