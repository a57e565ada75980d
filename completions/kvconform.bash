# bash completion for kvconform: the commands and options are those that `kvconform --help` names.
_kvconform() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} help
    if [ "$COMP_CWORD" -le 1 ]; then
        help=$("${COMP_WORDS[0]}" --help 2>/dev/null)
    else
        help=$("${COMP_WORDS[0]}" "$command" --help 2>/dev/null)
    fi
    local options
    options=$(printf '%s\n' "$help" | grep -oE -- '--[a-z][a-z-]*' | sort -u)
    if [ "$COMP_CWORD" -le 1 ]; then
        # Commands stand at the start of an indented line, two blanks or more before their explanation.
        options="$options $(printf '%s\n' "$help" | sed -n 's/^ \{1,4\}\([a-z][a-z-]*\)  .*/\1/p')"
    elif [ "${word#-}" = "$word" ]; then
        options="$options builtin transformers@"
    fi
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word"; compgen -f -- "$word")
}
complete -o nosort -F _kvconform kvconform
