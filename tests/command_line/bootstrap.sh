# What bootstrap answers to a wrong command line; nothing is installed or built.
try "$KVC_TOP/bootstrap"
try "$KVC_TOP/bootstrap" runs
try "$KVC_TOP/bootstrap" check --fast
try "$KVC_TOP/bootstrap" --help
