# Every file of the repository is named in Makefile.am, or a source archive would lack it.
cd "$KVC_TOP"
[ -e .git ] && command -v git >/dev/null || skip 'not a git checkout'
git -c safe.directory="$KVC_TOP" ls-files >"$TMPDIR/tracked"
# What automake adds by itself, what only a checkout needs, and what is named by its folder.
sed -n -e 's/^\([A-Za-z_]* = \)*//' -e 's/[ \t\\]*$//' -e 's/^[ \t]*//p' Makefile.am | tr ' ' '\n' | sort -u >"$TMPDIR/named"
missing=$(sort "$TMPDIR/tracked" | comm -23 - "$TMPDIR/named" |
  grep -vE '(^|/)\.git|^cases/|^reports/(runtimes|transformers)/|^(Makefile\.am|configure\.ac|kvconform\.pc\.in|tests/unit/[a-z_0-9]*_test\.c)$' || :)
# A unit test is named as a program, without .c.
for test in $(sed -n 's/^\(tests\/unit\/[a-z_0-9]*_test\)\.c$/\1/p' "$TMPDIR/tracked"); do
  grep -qxF "$test" "$TMPDIR/named" || missing="$missing $test.c"
done
# A shell test is one of those that are run.
sed -n '/^shell_tests =/,/[^\\]$/p' Makefile.am | tr -d '\\ \t' | sort >"$TMPDIR/run"
missing="$missing$(grep -E '^tests/(command_line|packages)/[a-z_]*\.sh$' "$TMPDIR/tracked" | sort | comm -23 - "$TMPDIR/run")"
[ -z "$missing" ] || fail "not in Makefile.am:" $missing
