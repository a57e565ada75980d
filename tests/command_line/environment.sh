# What the program that makes Python environments answers to a wrong command line; nothing is installed.
command -v python3 >/dev/null || skip 'no python3'
environment() { python3 -B "$KVC_TOP/adapters/environment/kvconform_environment.py" "$@" --cache cache; }
try environment transformers latest
try environment transformers '5.0;x'
try environment vllm 1.0.0
[ ! -e cache ] || fail 'a folder was made'
: >cache
try environment transformers 5.24.0
