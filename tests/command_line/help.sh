# What the program says about itself.
try kvconform --help
kvconform --help >first
for words in help -h 'run --help' 'run builtin -h' 'list --help'; do
  # shellcheck disable=SC2086 # words
  kvconform $words >second || fail "kvconform $words"
  cmp first second || fail "kvconform $words says something else"
done
kvconform --version | sed 's/ [0-9][0-9a-z.]*$/ VERSION/'
try kvconform list targets
try kvconform list laws
try kvconform list contracts | sed 's/[0-9]* rules/N rules/'
kvconform list variants | grep -c . >count
[ "$(cat count)" -eq "$(find "$KVC_TOP/reference/specs" -name '*.json' | wc -l)" ] || fail 'list variants: not every spec'
kvconform list variants | grep '^builtin .* full '
kvconform list faults | grep '^full+zero_empties '
# Every fault is one of a variant that exists and breaks a law that exists.
kvconform list variants | sed -n 's/^builtin *\([^ ]*\) .*/\1/p' >variants
kvconform list laws | sed 's/ .*//' >laws
kvconform list faults | while read -r name law rest; do
  grep -qx "${name%%+*}" variants && grep -qx "$law" laws && [ -n "$rest" ] || fail "$name"
done
