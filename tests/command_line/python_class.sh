# Any Python class by its name alone: what is assumed and not tested is said, faults are found, and what cannot be run is one line.
# Plain Python, so that it runs everywhere.
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore
cp "$KVC_TOP/tests/any/plain_caches.py" .
timeless() { sed -e 's/[0-9,]* ops, seed/N ops, seed/' -e 's/, all up to [0-9] ops*//'; }

kvconform run python:plain_caches:Plain --budget 300 --jobs 1 2>/dev/null | timeless
kvconform run python:./plain_caches.py:Window --budget 300 --jobs 1 2>/dev/null | grep -v '^  untested' | timeless
# Faults, each with its law; the programs show them without kvconform.
for class in PlainIgnoresNegatives PlainCropsOneShort PlainReordersInPlace WindowTooLarge WindowRollsBackSilently \
  WindowClearsWithoutTheCounter WindowHalfRefuses; do
  status=0
  kvconform run "python:plain_caches:$class" --budget 1000 --jobs 1 --report "$class" >"$class.txt" 2>/dev/null || status=$?
  echo "$class: $status:" "$(sed -n 's/^  law: *\([A-Z]*\) .*/\1/p' "$class.txt" | sort -u | tr '\n' ' ')"
  grep -q '(.*documented' "$class.txt" && fail "$class: documented, and nobody said so"
  for program in "$class"/cases/*.py; do
    status=0
    (cd / && python3 -I "$OLDPWD/$program" >/dev/null) || status=$?
    [ "$status" -eq 1 ] || fail "$program: status $status"
  done
  python3 "$KVC_TOP/tests/command_line/json_schema.py" "$KVC_TOP/reports/schemas/kvconform-result-1.schema.json" "$class/result.json"
  for report in html md; do
    grep -q 'it keeps' "$class/report.$report" || fail "report.$report does not say what was assumed"
  done
done
# What rests on an assumption says so; a case comes back by the command that the finding names.
grep -o '"source":.*assumed by kvconform: [^"]*' WindowTooLarge/result.json | sed 's/.*assumed/assumed/' | sort -u
python3 -c 'import json; print(json.load(open("WindowTooLarge/result.json"))["runs"][0]["findings"][0]["replay"])'
status=0
(cd WindowTooLarge && PYTHONPATH=.. && export PYTHONPATH && kvconform replay cases/*.json --target python:plain_caches:WindowTooLarge --quiet) || status=$?
echo "replay: $status"
try kvconform smoke python:plain_caches:Window

# What the user says counts: sizes, a kind, a spec file.
kvconform run python:plain_caches:Window --init '{"window": 3}' --budget 200 --jobs 1 --json fixed.json --quiet
grep -c '"window": *[^3]' fixed.json || :
cat >flat.jsonc <<'END'
{
  // One row, one head.
  "schema": "kvconform-class/1", "axes": ["tokens", "channels"], "source": "the docstring of Persistent",
  "rules": [{"rule": "crop_zero", "value": "nothing", "source": "the docstring of pop"}]
}
END
kvconform run python:plain_caches:Persistent --spec flat.jsonc --budget 200 --jobs 1 2>/dev/null | timeless
kvconform run python:plain_caches:PersistentIsNot --spec flat.jsonc --budget 200 --jobs 1 2>/dev/null | sed -n '/^  law/p' || :

# What cannot be run is not run, and one line says why.
cat >others.py <<'END'
class NeedsMore:
    def __init__(self, config):
        pass


class Raises:
    def __init__(self, window=4):
        raise OSError("no device")


class Nothing:
    pass


class TakesThree:
    keys = values = None

    def append(self, keys, values, weights):
        pass


class Blind:
    def append(self, keys, values):
        pass


class Picky:
    keys = values = None

    def append(self, keys, values):
        raise TypeError("keys must be bytes")


def make(window):
    from plain_caches import Window

    return Window(window)


number = 3
END
echo 'raise SystemExit(9)' >leaves.py
echo 'import a_package_that_nobody_has' >lacks.py
refused() { # ARGUMENTS...
  status=0
  kvconform run "$@" --budget 100 --jobs 1 >output 2>complaint || status=$?
  echo "$*: $status: $(sed -n -e 's/^.* not run: //p' output | sed -n 1p; sed -n 's/^kvconform: \(target\|--\)/\1/p' complaint)"
}
for class in NeedsMore Raises Nothing TakesThree Blind Picky Absent number; do refused "python:others:$class"; done
for module in leaves lacks nowhere ./nowhere.py; do refused "python:$module:Cache"; done
refused python:others
refused python:others:
refused python:plain_caches:Plain --like window
refused python:plain_caches:Plain --like nothing
refused python:plain_caches:Plain --init '[4]'
refused python:plain_caches:Plain --init '{"width": 4}'
refused python:plain_caches:Plain --spec nowhere.jsonc
echo '{"schema": "kvconform-class/1", "kind": "full"}' >wrong.jsonc
refused python:plain_caches:Plain --spec wrong.jsonc
echo '{"schema": "kvconform-class/1", "rules": [{"rule": "crop_zero", "value": "never"}]}' >wrong.jsonc
refused python:plain_caches:Plain --spec wrong.jsonc
refused builtin:full --init '{}'
kvconform run python:others:make --budget 200 --jobs 1 --quiet && echo 'a function that makes caches: conforms'

# A cache to start from works at once, and is not written over.
for kind in full fixed window prefix_window ring quantised; do
  kvconform new --like "$kind" -o "$kind" --quiet
  kvconform run "python:$kind/my_cache.py:MyCache" --spec "$kind/my_cache.jsonc" --budget 200 --jobs 1 2>/dev/null | sed -n 1p | timeless
done
try kvconform new --like window -o started
try kvconform new --like window -o started
try kvconform new --like heavy -o other
try kvconform new rust -o other
try kvconform new --like window
try kvconform new c --like window -o other
kvconform new c -o plugin | sed -n 1p
cmp plugin/my_cache.c "$KVC_TOP/examples/my_cache.c"
