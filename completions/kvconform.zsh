#compdef kvconform
# zsh completion for kvconform. Commands, options and targets are read from the program, so they are those that it has.
_kvconform() {
    emulate -L zsh
    local program=${words[1]} word=${words[CURRENT]} previous=${words[CURRENT - 1]} help
    local -a found
    help=$(command $program --help 2>/dev/null)
    if (( CURRENT == 2 )); then
        found=(--help --version ${(f)"$(print -r -- $help | sed -n 's/^.* kvconform \([a-z][a-z]*\) .*/\1/p' | sort -u)"})
    elif (( CURRENT == 3 )) && [[ ${words[2]} == (list|baseline|new) ]]; then
        # `list targets|variants`, `new [python|c]`
        found=(${(f)"$(print -r -- $help | sed -n "s/^.* kvconform ${words[2]} \[*\([a-z|]*\).*/\1/p" | tr '|' '\n')"})
    elif [[ ${words[2]} == list ]]; then
        return 1
    elif [[ $previous == --profile ]]; then
        found=(${="$(print -r -- $help | sed -n 's/^ *--profile \(.*\) | FILE.*/\1/p' | tr -d '|')"})
        _files -g '*.json'
    elif [[ $previous == --like ]]; then
        found=(${="$(print -r -- $help | sed -n 's/^ *--like KIND .*: \([a-z_, ]*\)\..*/\1/p' | tr -d ',')"})
    elif [[ $previous == --contract ]]; then
        found=(${(f)"$(command $program list contracts 2>/dev/null | cut -d ' ' -f 1)"})
    elif [[ $word == -* ]]; then
        found=(${(f)"$(print -r -- $help | sed -n 's/^ *\(--*[a-z][a-z-]*\).*/\1/p' | sort -u)"})
    else
        found=(${(f)"$(command $program list targets 2>/dev/null | sed 's/[ A-Z].*//')"})
        _files
    fi
    compadd -a found
}
_kvconform "$@"
