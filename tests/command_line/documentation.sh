# What the documents say: their commands run, their links lead somewhere, and the manual knows the program's options.
#
# In README.md and docs/*.md a block marked `sh` is run, line by line, in a folder of its own for each document. A line that
# ends in `# exit N` must end with that status, any other with 0. Each line of a block marked `text` that follows must be
# in what the commands printed (`...` stands for any lines). A block with a file's name behind its language is written to that file.
# `sh network` is not run here; `sh engines` is by fuzz_engines.sh, `sh extending` by extending.sh,
# `sh pip`, `sh make`, `sh deb` and `sh system` by tests/packages/. A block that speaks of transformers, or runs `python`, is run when KVCONFORM_PYTHON (or python3) has the version, one
# that calls a compiler or node where there is one.
# shellcheck disable=SC2016 # back-quotes are Markdown's
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
count_run=0 count_network=0 count_transformers=0 count_missing=0

documents() (cd "$KVC_TOP" && ls README.md CONTRIBUTING.md CHANGELOG.md docs/*.md)

# Prints a problem and remembers it: all are told, not only the first.
: >problems
problems=$PWD/problems
problem() { printf '%s\n' "$*" | tee -a "$problems"; }

# ---- Commands

python=${KVCONFORM_PYTHON:-python3}
version=$("$python" -c 'import importlib.metadata as m; print(m.version("transformers"))' 2>/dev/null || :)
cat >wrapper <<'END'
#!/bin/sh
exec kvconform "$@" ${KVC_DOCUMENT_PYTHON:+--python "$KVC_DOCUMENT_PYTHON"}
END
mkdir interpreter
printf '#!/bin/sh\nexec %s "$@"\n' "$python" >interpreter/python
chmod +x wrapper interpreter/python
PATH=$PWD/interpreter:$PATH

# Parts a document into blocks: N.sh with N.text, N.network, and files by their names.
part_blocks() {
  awk '
    function stop(file) { if (file != "") close(file) }
    /^```/ {
      if (inside) { inside = 0; stop(out); out = ""; next }
      inside = 1; language = substr($1, 4); name = $2; out = "/dev/null"
      if (language == "sh") { number++; last = number; out = number (name == "" ? ".sh" : "." name) }
      else if (language == "text" && last) { out = last ".text"; last = 0 }
      else if (name != "") { out = name; folder = name; if (sub("/[^/]*$", "", folder)) system("mkdir -p " folder) }
      next
    }
    inside { print > out; next }
  ' "$1"
}

# Writes a block as a script that checks the status of each command.
make_script() {
  printf 'check() { [ "$1" -eq "$2" ] || { echo "status $1, expected $2: $3"; exit 9; }; }\n'
  awk '
    { line = line $0 }
    /\\$/ { sub(/\\$/, "", line); next }
    line ~ /^ *(#|$)/ { line = ""; next }
    {
      status = 0
      if (match(line, /  # exit [0-9]+/)) status = substr(line, RSTART + 9, RLENGTH - 9)
      sub(/  # .*$/, "", line)
      print line
      quoted = line; gsub(/\047/, "", quoted)
      print "check $? " status " \047" quoted "\047"
      line = ""
    }
  ' "$1"
}

run_block() { # DOCUMENT NUMBER
  needed=$(sed -n 's/.*transformers@\([0-9][0-9.]*\).*/\1/p' "$2.sh" | sort -u)
  KVC_DOCUMENT_PYTHON=
  if grep -qE 'transformers|^python ' "$2.sh"; then
    if [ -z "$version" ] || { [ -n "$needed" ] && [ "$needed" != "$version" ]; }; then
      count_transformers=$((count_transformers + 1))
      echo "left out: $1, block $2: needs transformers $needed, there is ${version:-none}"
      return 0
    fi
    KVC_DOCUMENT_PYTHON=$python
  fi
  for needed in cc c++ node parallel; do
    if grep -qE "(^|:)$needed " "$2.sh" && ! command -v "$needed" >/dev/null; then
      count_missing=$((count_missing + 1))
      echo "left out: $1, block $2: there is no $needed"
      return 0
    fi
  done
  export KVC_DOCUMENT_PYTHON
  make_script "$2.sh" >"$2.script"
  count_run=$((count_run + $(grep -c '^check \$' "$2.script")))
  if ! sh -u "$2.script" >"$2.output" 2>&1; then
    problem "$1, block $2:" && cat "$2.sh" "$2.output"
    return 0
  fi
  [ -e "$2.text" ] || return 0
  while IFS= read -r line; do
    case $line in '' | '...') continue ;; esac
    grep -qF -e "$line" "$2.output" || { problem "$1, block $2 does not print: $line" && cat "$2.output"; }
  done <"$2.text"
}

for document in $(documents); do
  folder=run-$(basename "$document" .md)
  mkdir "$folder" && cd "$folder" || exit 1
  for name in tests docs reference adapters cases examples fuzz include; do ln -s "$KVC_TOP/$name" "$name"; done
  cp ../wrapper kvconform
  part_blocks "$KVC_TOP/$document"
  count_network=$((count_network + $(find . -maxdepth 1 -name '[0-9]*.network' | wc -l)))
  for number in $(find . -maxdepth 1 -name '[0-9]*.sh' | sed 's/[^0-9]//g' | sort -n); do run_block "$document" "$number"; done
  cd ..
done
[ "$count_run" -gt 0 ] || problem 'no document has a command'

# ---- Links, files, faults and laws

anchors() { sed -n 's/^##* *//p' "$1" | tr '[:upper:]' '[:lower:]' | sed -e 's/[^a-z0-9 _-]//g' -e 's/ /-/g'; }

for document in $(documents); do
  # Addresses behind `](`, outside of blocks.
  sed -e '/^```/,/^```/d' "$KVC_TOP/$document" | grep -o '](\([^)]*\))' | sed 's/^](\(.*\))$/\1/' | sort -u >links || :
  while IFS= read -r link; do
    case $link in http://* | https://* | mailto:*) continue ;; esac
    file=${link%%#*}
    target=$KVC_TOP/$(dirname "$document")/$file
    [ -n "$file" ] || target=$KVC_TOP/$document
    [ -e "$target" ] || { problem "$document: no such file: $link"; continue; }
    case $link in *'#'*) anchors "$target" | grep -qxF "${link#*#}" || problem "$document: no such heading: $link" ;; esac
  done <links
  # Files that are named in passing; a name with capitals or a star stands for many.
  grep -oE '`(harness|reference|adapters|reports|tests|docs|fuzz|bench|cases|completions|examples|include)/[a-z0-9_./-]*`' "$KVC_TOP/$document" |
    tr -d '`' | sort -u >files || :
  while IFS= read -r file; do
    # An empty folder is in no clone and in no source archive.
    case $file in */) continue ;; esac
    [ -e "$KVC_TOP/$file" ] || problem "$document: no such file: $file"
  done <files
done

# Every C function that is named, `name()`, is declared in a file that the same paragraph, or row, names.
for document in $(documents); do
  sed -e '/^```/,/^```/d' -e 's/^[|*] .*/&\n/' -e 's/^[0-9]*\. /\n&/' "$KVC_TOP/$document" | awk -v RS= '
    { count = 0; rest = $0
      while (match(rest, /`(harness|reference|adapters|reports|include)\/[A-Za-z0-9_.\/-]*\.[ch]`/)) {
        file[++count] = substr(rest, RSTART + 1, RLENGTH - 2); rest = substr(rest, RSTART + RLENGTH) }
      rest = $0
      while (match(rest, /`[a-z_0-9]+\(\)`/)) {
        line = substr(rest, RSTART + 1, RLENGTH - 4); rest = substr(rest, RSTART + RLENGTH)
        for (at = 1; at <= count; at++) line = line " " file[at]
        if (count > 0 || line ~ /^kvc_/) print line } }' >functions
  while read -r name files; do
    # shellcheck disable=SC2086 # $files is a list
    [ -n "$files" ] && (cd "$KVC_TOP" && grep -qE "^[a-z][^;]*[ *]$name\(" $files) ||
      problem "$document: no function $name() in ${files:-a file that is named with it}"
  done <functions
done

# Every broken cache that is named exists; in docs/laws.md it stands below the law that it breaks.
kvconform list faults | awk '{print $1, $2}' >faults
kvconform list variants | sed -n 's/^builtin *\([a-z_]*\) .*/^\1+/p' >variants
for document in $(documents); do
  grep -oE '`[a-z_]+\+[a-z_]+`' "$KVC_TOP/$document" | tr -d '`' | grep -f variants | sort -u >named || :
  while IFS= read -r fault; do grep -q "^$fault " faults || problem "$document: no such fault: $fault"; done <named
done
awk '/^## /{law = $2} {while (match($0, /`[a-z_]+\+[a-z_]+`/)) {print substr($0, RSTART + 1, RLENGTH - 2), law
  $0 = substr($0, RSTART + RLENGTH)}}' "$KVC_TOP/docs/laws.md" >named
while IFS= read -r line; do grep -qx "$line" faults || problem "docs/laws.md: not the law of the fault: $line"; done <named
awk '/^## /{law = $2} match($0, /\.\.\/cases\/[^)]*/) {print law, substr($0, RSTART + 3, RLENGTH - 3)}' "$KVC_TOP/docs/laws.md" >named
while read -r law file; do
  sed -n '/"expect"/,$p' "$KVC_TOP/$file" | grep -q "\"$law\"" || problem "docs/laws.md: $file shows no $law"
done <named
kvconform list laws | sed 's/ .*//' >laws
sed -n 's/^## \([A-Z][A-Z]*\)$/\1/p' "$KVC_TOP/docs/laws.md" >headings
cmp -s laws headings || problem "docs/laws.md: not the laws of the program, in their order"

# What a newcomer and continuous integration begin with.
for command in './bootstrap run' './bootstrap check'; do
  grep -qF "$command" "$KVC_TOP/README.md" || problem "README.md does not name the command: $command"
done

# ---- The manual

manual=$KVC_TOP/docs/kvconform.1
plain() { sed -e 's/\\-/-/g' -e 's/\\f[A-Z]//g' "$1"; }
section() { plain "$manual" | awk -v name="$1" '/^\.SH/{gsub(/"/, ""); inside = $0 == ".SH " name; next} inside'; }
same() { cmp -s first second || { problem "the manual and --help differ: $1" && diff first second || :; }; }
kvconform --help >help
sed -n 's/^  \(--*[a-z][a-z-]*\).*/\1/p' help >first
section OPTIONS | sed -n 's/^\.B[IR]* \(--*[a-z][a-z-]*\).*/\1/p' >second
same options
sed -n '/^Exit status/,/^$/p' help | grep -oE '(^|  )[0-9]+[: ]' | tr -cd '0-9\n' | grep . | sort -n >first
section 'EXIT STATUS' | sed -n 's/^\.B \([0-9]*\)$/\1/p' | sort -n >second
same 'exit status'
sed -n '/^Examples/,/^$/s/^  //p' help >first
section EXAMPLES | sed '/^\./d' >second
same examples
sed -n '/^usage/,/^$/s/^[a-z: ]* kvconform \([a-z][a-z]*\) .*/\1/p' help | sort -u >first
section COMMANDS | sed -n 's/^\.B \([a-z]*\)$/\1/p' | sort >second
same commands
section SYNOPSIS | sed -n 's/^\.B kvconform \([a-z]*\)$/\1/p' | sort >second
same synopsis
for name in $(sed -n '/^Environment: /,$p' help | tr -d ',' | tr ' ' '\n' | grep -E '^[A-Z_]+$'); do
  section ENVIRONMENT | grep -qx "\.B $name" || problem "the manual lacks $name"
done

echo "$count_run commands run; blocks left out: $count_network need the network, $count_transformers need transformers, $count_missing need other programs"
[ ! -s problems ] || fail "$(wc -l <problems | tr -d ' ') problems, see above"
