# bash completion for kvconform. Commands, options and targets are read from the program, so they are those that it has.
_kvconform() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} help words files=yes
    help=$("$program" --help 2>/dev/null)
    if [ "$COMP_CWORD" -le 1 ]; then
        words="--help --version $(printf '%s\n' "$help" | sed -n 's/^.* kvconform \([a-z][a-z]*\) .*/\1/p' | sort -u)" files=
    elif [ "$COMP_CWORD" -eq 2 ] && [[ ${COMP_WORDS[1]} =~ ^(list|baseline|new)$ ]]; then
        # `list targets|variants`, `new [python|c]`
        words=$(printf '%s\n' "$help" | sed -n "s/^.* kvconform ${COMP_WORDS[1]} \[*\([a-z|]*\).*/\1/p" | tr '|' ' ') files=
    elif [ "${COMP_WORDS[1]}" = list ]; then
        words='' files=
    elif [ "$previous" = --profile ]; then
        words=$(printf '%s\n' "$help" | sed -n 's/^ *--profile \(.*\) | FILE.*/\1/p' | tr -d '|')
    elif [ "$previous" = --like ]; then
        words=$(printf '%s\n' "$help" | sed -n 's/^ *--like KIND .*: \([a-z_, ]*\)\..*/\1/p' | tr -d ',') files=
    elif [ "$previous" = --contract ]; then
        words=$("$program" list contracts 2>/dev/null | cut -d ' ' -f 1) files=
    elif [ "${word#-}" != "$word" ]; then
        words=$(printf '%s\n' "$help" | sed -n 's/^ *\(--*[a-z][a-z-]*\).*/\1/p' | sort -u) files=
    else
        words=$("$program" list targets 2>/dev/null | sed 's/[ A-Z].*//')
    fi
    mapfile -t COMPREPLY < <(
        compgen -W "$words" -- "$word"
        [ -z "$files" ] || compgen -f -- "$word"
    )
}
complete -o nosort -F _kvconform kvconform
