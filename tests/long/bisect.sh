# docs/bisect.md: each line of its table is what bisect says, with the versions that the page names.
[ -n "${KVCONFORM_PYTHON-}" ] || skip 'no environment with transformers'
KVCONFORM_CACHE=$KVC_ENVIRONMENTS
export KVCONFORM_CACHE
versions='4.57.6 5.12.1 5.13.1 5.14.1 5.15.0 5.15.1 5.16.1 5.17.0 5.18.0 5.19.0 5.20.2 5.21.1 5.22.2 5.23.0 5.24.0'
between() { # FIRST LAST
  # shellcheck disable=SC2086 # a list of words
  printf '%s\n' $versions | sed -n "/^$1\$/,/^$2\$/p" | paste -s -d , -
}
sed -n '/^| [0-9]/s/^|[^|]*| *\([^ |]*\) *| *\([^ ]*\) \([^ ]*\) *| *\(.*[^ ]\) *|$/\1 \2 \3 \4/p' "$KVC_TOP/docs/bisect.md" >table
[ "$(wc -l <table)" -ge 15 ] || fail 'the table of docs/bisect.md is not as expected'
while read -r case first last verdict; do
  status=0
  kvconform bisect "$KVC_TOP/cases/transformers/$case.json" --versions "$(between "$first" "$last")" --quiet </dev/null >output || status=$?
  case $status in 0 | 1) ;; *) fail "$case: exit status $status: $(cat output)" ;; esac
  head -n 1 output | sed 's/[:(].*//; s/ *$//' >said
  [ "$(cat said)" = "$verdict" ] || fail "$case between $first and $last: $(cat said), expected $verdict"
done <table
