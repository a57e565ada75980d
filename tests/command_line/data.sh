# KVCONFORM_DATA that leads nowhere, or to damaged files.
try env KVCONFORM_DATA="$PWD/nowhere" kvconform list laws
mkdir -p data/reference/specs/builtin data/reference/contracts
try env KVCONFORM_DATA="$PWD/data" kvconform run builtin:full
cp "$KVC_TOP/reference/specs/builtin/full.json" data/reference/specs/builtin/full.json
try env KVCONFORM_DATA="$PWD/data" kvconform run builtin:full
cp "$KVC_TOP/reference/contracts/builtin-1.json" data/reference/contracts/
try env KVCONFORM_DATA="$PWD/data" kvconform run builtin:full --budget 100
head -c 300 "$KVC_TOP/reference/specs/builtin/full.json" >data/reference/specs/builtin/full.json
try env KVCONFORM_DATA="$PWD/data" kvconform list variants
