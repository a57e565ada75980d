# fish completion for kvconform. Commands, options and targets are read from the program, so they are those that it has.
function __kvconform_words
    set -l words (commandline -opc)
    set -l program $words[1]
    set -l previous $words[-1]
    set -l help (command $program --help 2>/dev/null)
    if test (count $words) -eq 1
        printf '%s\n' --help --version $help | sed -n -e 's/^\(--[a-z]*\)$/\1/p' -e 's/^.* kvconform \([a-z][a-z]*\) .*/\1/p' | sort -u
    else if test (count $words) -eq 2; and contains -- $words[2] list baseline new
        # `list targets|variants`, `new [python|c]`
        printf '%s\n' $help | sed -n "s/^.* kvconform $words[2] \[*\([a-z|]*\).*/\1/p" | tr '|' '\n'
    else if test $words[2] = list
        return
    else if test $previous = --profile
        printf '%s\n' $help | sed -n 's/^ *--profile \(.*\) | FILE.*/\1/p' | tr -s ' |' '\n'
        __fish_complete_suffix .json
    else if test $previous = --like
        printf '%s\n' $help | sed -n 's/^ *--like KIND .*: \([a-z_, ]*\)\..*/\1/p' | tr -s ' ,' '\n'
    else if test $previous = --contract
        command $program list contracts 2>/dev/null | cut -d ' ' -f 1
    else if string match -q -- '-*' (commandline -ct)
        printf '%s\n' $help | sed -n 's/^ *\(--*[a-z][a-z-]*\).*/\1/p' | sort -u
    else
        command $program list targets 2>/dev/null | sed 's/[ A-Z].*//'
        __fish_complete_path (commandline -ct)
    end
end
complete -c kvconform -f -a '(__kvconform_words)'
