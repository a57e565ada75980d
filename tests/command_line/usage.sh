# Wrong command lines: one line that says what is wrong, exit status 2, and nothing is run or made.
try kvconform
try kvconform walk
try kvconform --verbose
try kvconform run
try kvconform run builtin --fast
try kvconform run builtin --an-option-with-a-name-that-is-far-too-long
try kvconform run builtin --budget
try kvconform run builtin --budget=
try kvconform run builtin --budget 0
try kvconform run builtin --budget -1
try kvconform run builtin --budget 1.5
try kvconform run builtin --budget 99999999999999999999
try kvconform run builtin --budget s
try kvconform run builtin --budget 5h
try kvconform run builtin --budget 0s
try kvconform run builtin --budget 99999999999999999999999999999999999s
try kvconform run builtin --seed one
try kvconform run builtin --seed 18446744073709551616
try kvconform run builtin --jobs 0
try kvconform run builtin --jobs 100000
try kvconform run builtin --profile evil
try kvconform run builtin --timeout soon
try kvconform run builtin --timeout nan
try kvconform run builtin --timeout 0
try kvconform run builtin --memory 1
try kvconform run builtin --contract nobody-1
try kvconform run transformers@
try kvconform run transformers@5.24.0:
try kvconform run builtin@1
try kvconform run builtin:
try kvconform run builtin:unheard
try kvconform run builtin: builtin
try kvconform run vllm
try kvconform run ''
try kvconform run exec:
try kvconform run "exec:'unclosed"
try kvconform run transformers --python /nowhere/python3
try kvconform run "$(printf '%01000d' 7)"
try kvconform run "$(printf 'two\nlines\033[31m')"
try kvconform replay
try kvconform replay missing.json
try kvconform replay . 
try kvconform smoke
try kvconform smoke builtin builtin
try kvconform list
try kvconform list dinners
try kvconform list laws faults
[ -z "$(ls)" ] || fail "something was written: $(ls)"
