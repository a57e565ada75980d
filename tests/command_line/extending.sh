# The worked examples of docs/extending.md: put into a copy of the tree, built, and run as the page says.
command -v python3 >/dev/null && command -v patch >/dev/null || skip 'no python3, or no patch'
for compiler in ${CC:+"$CC"} cc gcc clang; do
  ! command -v "$compiler" >/dev/null || break
done
command -v "$compiler" >/dev/null || skip 'no compiler'
export PYTHONDONTWRITEBYTECODE=1
document=$KVC_TOP/docs/extending.md

mkdir tree program
for name in Makefile.am configure.ac adapters docs examples harness include packaging reference reports; do
  cp -R "$KVC_TOP/$name" tree/
done
chmod -R u+w tree
ls tree/examples/extending/*.patch >patches
while IFS= read -r patch; do
  grep -q "$(basename "$patch")" "$document" || fail "docs/extending.md does not name $patch"
  patch -s --no-backup-if-mismatch -d tree -p1 <"$patch" || fail "$patch does not go into the tree any more: make it anew"
done <patches
(cd tree && CFLAGS='-O0 -Wall -Wextra -Werror' python3 -c '
import sys
from pathlib import Path
sys.path.insert(0, "packaging")
import program
print(program.compile_program(Path("."), "0", Path(sys.argv[1])))' "$PWD/../program") >built || fail "$(cat built)"

# Each block of commands with the text that follows it.
export KVCONFORM_DATA="$PWD/tree" PATH="$PWD/program:$PATH"
cp -R tree/examples tree/include .
number=0
while number=$((number + 1)) && [ "$number" -le "$(grep -c '^```sh extending$' "$document")" ]; do
  run_block docs/extending.md extending "$number"
  awk -v wanted="$number" '/^```/ { if (inside) inside = 0; else if ($0 == "```sh extending") number++; else if ($0 == "```text") inside = number == wanted
    next } inside' "$document" >text
  [ -s text ] || fail "block $number says nothing"
  while IFS= read -r line; do grep -qF -e "$line" block.log || fail "block $number does not print: $line: $(cat block.log)"; done <text
done
[ "$number" -gt 3 ] || fail 'no block was run'
