# Each shell completes what the program has. The options of --help are first compared with those that it takes.
kvconform --help >help
sed -n -e 's/^ *strcmp(name, "\(--*[a-z-]*\)").*/\1/p' -e 's/.*[( ]strcmp(name, "\(--*[a-z-]*\)") == 0.*/\1/p' -e 's/.*strcmp(argv\[at\], "\(--[a-z-]*\)").*/\1/p' \
  "$KVC_TOP/harness/options.c" >taken
grep -o 'strcmp(name, "-[^"]*"\|{"-[^"]*", &options' "$KVC_TOP/harness/options.c" | sed 's/[^"]*"\([^"]*\)".*/\1/' >>taken
sort -u taken | grep -vxE -e '-q|--help' >first # -q is the short form of --quiet
sed -n '/^Options$/,/^$/s/^  \(--*[a-z][a-z-]*\).*/\1/p' help | sort -u >options
cmp first options || fail "taken by harness/options.c and told by --help differ: $(diff first options)"
sed -n '/^usage/,/^$/s/^.* kvconform \([a-z][a-z]*\) .*/\1/p' help | { cat; printf '%s\n' --help --version; } | sort -u >commands
kvconform list contracts | cut -d ' ' -f 1 | sort >contracts
mkdir folder
printf '%s\n' full fixed window prefix_window ring quantised opaque | sort >kinds
printf '%s\n' targets variants laws contracts faults | sort >lists
kvconform list targets | sed 's/[ A-Z].*//' | sort >targets

# What a shell offers for a line is in the file `said`; expect FILE LINE compares.
expect() {
  ask "$2" | sort -u >said
  cmp -s "$1" said || fail "$shell: for '$2': $(diff "$1" said)"
}
all_of() {
  expect commands 'kvconform '
  for command in run gate fuzz; do expect options "kvconform $command -"; done
  expect lists 'kvconform list '
  printf '%s\n' migrate update | sort >words && expect words 'kvconform baseline '
  printf '%s\n' c python >words && expect words 'kvconform new '
  expect contracts 'kvconform run builtin --contract '
  expect kinds 'kvconform run python:x:Y --like '
  ask 'kvconform run builtin --profile ' | sort -u >said
  printf '%s\n' assisted hostile | comm -23 - said | grep . && fail "$shell: not all profiles: $(cat said)"
  echo --until-covered >words && expect words 'kvconform run --unt'
  # Files beside targets.
  ask 'kvconform run ' | sort -u >said
  comm -23 targets said | grep . && fail "$shell: not all targets"
  grep -q '^folder/*$' said || fail "$shell: no files: $(cat said)"
  echo "$shell" >>shells
}

shell=bash
if command -v bash >/dev/null; then
  cat >ask.bash <<'END'
source "$KVC_TOP/completions/kvconform.bash"
read -ra COMP_WORDS <<<"$1"
[[ $1 != *' ' ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_kvconform
printf '%s\n' "${COMPREPLY[@]}"
END
  ask() { bash ask.bash "$1"; }
  all_of
fi
shell=zsh
if command -v zsh >/dev/null; then
  # The function alone, with what it offers printed.
  cat >ask.zsh <<'END'
words=(${(s: :)1})
[[ $1 != *' ' ]] || words+=('')
CURRENT=${#words}
compadd() { print -rl -- ${(M)${(P)2}:#${words[CURRENT]}*} }
_files() { print -rl -- *(N) }
source $KVC_TOP/completions/kvconform.zsh
END
  ask() { zsh -f ask.zsh "$1"; }
  all_of
  # And installed, in a shell with a key pressed.
  mkdir functions && cp "$KVC_TOP/completions/kvconform.zsh" functions/_kvconform
  cat >press.zsh <<'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "fpath=($PWD/functions \$fpath); autoload -Uz compinit; compinit -u -d $PWD/dump; PS1=; print rea''dy"
zpty -r shell seen '*ready*'
zpty -w -n shell $'kvconform run --until-c\t'
zpty -r -m shell seen '*--until-covered*' && print completed
zpty -d shell
END
  timeout 60 zsh -f press.zsh | grep -qx completed || fail 'zsh: a key is pressed and nothing completed'
fi
shell=fish
if command -v fish >/dev/null; then
  ask() { fish --no-config -c 'source $KVC_TOP/completions/kvconform.fish; complete -C $argv[1]' "$1" | sed 's/\t.*//'; }
  all_of
fi
[ -s shells ] || skip 'no bash, zsh or fish'
