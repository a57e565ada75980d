# bash completion for kvconform. Options and commands are read from `kvconform --help`, so they are those of the program.
_kvconform() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} help words
    help=$("$program" --help 2>/dev/null)
    if [ "$COMP_CWORD" -le 1 ]; then
        words="--help --version $(printf '%s\n' "$help" | sed -n 's/^.* kvconform \([a-z][a-z]*\) .*/\1/p' | sort -u)"
    elif [ "${COMP_WORDS[1]}" = list ]; then
        words='targets variants laws contracts faults'
    elif [ "$previous" = --profile ]; then
        words="hostile assisted $(compgen -f -X '!*.json' -- "$word")"
    elif [ "$previous" = --like ]; then
        words='full fixed window prefix_window ring quantised opaque'
    elif [ "${COMP_WORDS[1]}" = new ] && [ "$COMP_CWORD" -eq 2 ]; then
        words='python c'
    elif [ "$previous" = --contract ]; then
        words=$("$program" list contracts 2>/dev/null | cut -d ' ' -f 1)
    elif [ "${word#-}" != "$word" ]; then
        words=$(printf '%s\n' "$help" | sed -n 's/^ *\(--[a-z][a-z-]*\).*/\1/p' | sort -u)
    else
        words='builtin transformers mlx-lm python: plugin: exec:'
    fi
    mapfile -t COMPREPLY < <(
        compgen -W "$words" -- "$word"
        [ "$COMP_CWORD" -le 1 ] || [ "${COMP_WORDS[1]}" = list ] || compgen -f -- "$word"
    )
}
complete -o nosort -F _kvconform kvconform
