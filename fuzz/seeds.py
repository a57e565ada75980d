"""Writes the first inputs of the fuzzers: seeds.py SOURCE_TREE FOLDER makes FOLDER/TARGET/NAME."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

REQUEST = {
    "id": 1,
    "request": "run",
    "variant": "full",
    "params": {"batch": 1, "heads": 1, "key_dim": 8, "value_dim": 8, "dtype": "float32", "watch": 1},
    "sequences": [[["append", 2], ["crop", -1], ["crop", 1], ["append", 1]], [["append", 1], ["reset"]]],
}
"""The batch of fuzz/reply.c."""
CASES = [
    ("full", {}, [["append", 2], ["crop", -1], ["reset"]]),
    (
        "window",
        {"window": 4, "watch": 1, "dtype": "bfloat16"},
        [["record", 1], ["append", 5], ["crop", -2], ["record", 0]],
    ),
    (
        "layers",
        {"layers": "full+window"},
        [["append", 1], ["reorder", [0]], ["repeat", 2], ["select", [1]], ["crop", 0]],
    ),
    ("hybrid", {"call": "container", "layout": "strided"}, [["append", 3], ["crop", -9]]),
]
COMMANDS = [
    "run\nbuiltin\n--budget\n30s\n--seed=7\n--jobs\n2\n--quiet",
    "run\ntransformers@5.24.0:*Layer\n--profile\nassisted\n--report\nout\n--json\n-",
    "run\nexec:python3 'my adapter.py' \"a b\"\n--variant\nMy*\n--timeout\n0.5\n--memory=64",
    "replay\na.json\nb.json\n--target\nbuiltin\n--contract\nbuiltin-1",
    "smoke\nexec:./adapter",
    "run\nplugin:./my_cache.so:Full*\n--budget\n9",
    "list\nlaws",
    "--help",
    "--version",
]


HELLO = {"id": 1, "protocol": 1, "subject": "mine", "version": "1.0", "environment": {}, "variants": ["A"]}
ONE = {"batch": [1, 1], "heads": [1, 1]}
CONTRACT = {"schema": "kvconform-contract/1", "id": "mine-1", "subject": "mine", "from": "1.0", "rules": []}
HELLOS: dict[str, dict[str, object]] = {
    "plain": {},
    "like": {"specs": {"A": "builtin:full"}},
    "changed": {
        "specs": {"A": {"like": "builtin:full", "ops": ["append", "crop"], "params": ONE}},
        "contract": CONTRACT,
    },
    "extends": {"specs": {"A": "builtin:layers"}, "contract": CONTRACT | {"extends": "builtin-1"}},
}


def main() -> None:
    """The command."""
    tree, folder = Path(sys.argv[1]), Path(sys.argv[2])
    sys.path.insert(0, str(tree / "tests" / "adapters"))
    from broken import RUN, change  # noqa: PLC0415
    from full_attention import Adapter  # noqa: PLC0415

    seeds: dict[str, dict[str, bytes]] = {
        "reply": {},
        "case": {},
        "options": {},
        "hello": {},
        "values": {"zero": bytes(40)},
    }
    good = Adapter().reply(REQUEST)
    for name, more in HELLOS.items():
        seeds["hello"][name] = json.dumps(HELLO | more).encode()
    for path in sorted((tree / "reference" / "specs" / "builtin").glob("*.json")):
        spec = json.loads(path.read_text(encoding="utf-8")) | {"subject": "mine", "variant": "A"}
        seeds["hello"][path.stem] = json.dumps(HELLO | {"specs": {"A": spec}}).encode()
    seeds["reply"]["good"] = b"0" + good
    seeds["reply"]["hello"] = b"0" + Adapter().reply({"id": 1, "request": "hello"})
    # The tensors that an earlier reply described, and bytes that are as they were.
    seeds["reply"]["known"] = b"0" + change(good, lambda fields: fields.update(known=2))
    seeds["reply"]["as_before"] = b"0" + change(good, lambda fields: fields["results"][0][2].__setitem__(5, [[2, -1]]))
    for variant in range(1, 8):
        seeds["reply"][f"other{variant}"] = str(variant).encode() + good
    for name, fault in RUN.items():
        if not name.startswith(("cut_", "stalls_")):
            seeds["reply"][name] = b"0" + fault(good)
    for number, (variant_name, params, ops) in enumerate(CASES):
        case = {
            "schema": "kvconform-case/1",
            "subject": "builtin",
            "variant": variant_name,
            "params": params,
            "ops": ops,
        }
        seeds["case"][f"case{number}"] = json.dumps(case).encode()
    for number, words in enumerate(COMMANDS):
        seeds["options"][f"words{number}"] = words.encode()
    sample = json.loads((tree / "tests" / "data" / "result-sample.json").read_text(encoding="utf-8"))
    header = {field: value for field, value in sample.items() if field not in ("schema", "runs")}
    runs = [dict(run, result=0, location={"file": "package/cache.py", "line": 7}) for run in sample["runs"]]
    merged = {"schema": "kvconform-merged/1", "results": [header], "runs": runs, "finished": True}
    seeds["result"] = {"merged": json.dumps(merged).encode()}
    for target, inputs in seeds.items():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for name, data in inputs.items():
            (folder / target / name).write_bytes(data)
    files = {
        "spec": "reference/specs/*/*.json",
        "contract": "reference/contracts/*.json",
        "result": "tests/data/result-*.json",
    }
    for target, pattern in files.items():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for path in tree.glob(pattern):
            shutil.copy(path, folder / target / path.name)
    for path in tree.glob("cases/*.json"):
        shutil.copy(path, folder / "case" / path.name)


if __name__ == "__main__":
    main()
