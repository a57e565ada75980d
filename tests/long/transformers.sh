# All versions of transformers at the default budget, every known fault, every stand-alone program.
[ -n "${KVCONFORM_PYTHON-}" ] || skip 'no environment with transformers'
[ -n "${KVCONFORM_TOOLS-}" ] || skip 'no environment with pytest'
# The environments are those of the user, not of this empty home.
KVCONFORM_CACHE=$KVC_ENVIRONMENTS
export KVCONFORM_CACHE
KVCONFORM_LONG=1 "$KVCONFORM_TOOLS/python" -m pytest -q -p no:cacheprovider "$KVC_TOP/tests/real"
