"""The gate on real caches: what follows of a known fault is known with it, and is new without it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from program import NO_PYTHON, PYTHON, TOP, run

pytestmark = pytest.mark.skipif(not PYTHON, reason=NO_PYTHON)

BASELINE = TOP / "tests" / "long" / "transformers-5.24.json"
BOTH = "LinearAttentionAndSlidingWindowAttentionLayer"
CASES = {
    "rows-left-behind": (
        BOTH,
        {"window": 2, "kernel": 2},
        [["append", 1], ["reset"], ["select", [0, 0]], ["reorder", [0, 1]]],
    ),
    "window-of-one": (
        "EncoderDecoderCache",
        {"window": 1, "layers": "DynamicSlidingWindowLayer+DynamicLayer"},
        [["record", 1], ["append", 1], ["crop", 0]],
    ),
}


def about_a_window_of_one(entry: dict[str, Any], variant: str) -> bool:
    case = entry["case"]
    return case["variant"] == variant and case["params"]["window"] == 1 and entry["law"] in ("KEYS", "ZERO")


# What a baseline does not know, and the cases that are new with it: a fault of a container is known by its layer too.
MISSING: dict[str, tuple[Callable[[dict[str, Any]], bool], list[str]]] = {
    "nothing": (lambda entry: False, []),
    "the batch": (lambda entry: (entry["case"]["variant"], entry["law"]) == (BOTH, "BATCH"), ["rows-left-behind"]),
    "the container": (lambda entry: about_a_window_of_one(entry, "EncoderDecoderCache"), []),
    "the container and its layer": (
        lambda entry: (
            about_a_window_of_one(entry, "EncoderDecoderCache")
            or about_a_window_of_one(entry, "DynamicSlidingWindowLayer")
        ),
        ["window-of-one"],
    ),
}


@pytest.mark.parametrize("missing", MISSING)
def test_what_follows_of_a_known_fault(tmp_path: Path, missing: str) -> None:
    is_missing, new = MISSING[missing]
    known = json.loads(BASELINE.read_text())
    given = [entry for entry in known["entries"] if not is_missing(entry)]
    assert missing == "nothing" or len(given) < len(known["entries"])
    (tmp_path / "known.json").write_text(json.dumps({"schema": known["schema"], "entries": given}))
    (tmp_path / "cases").mkdir()
    for name, (variant, params, ops) in CASES.items():
        case: dict[str, Any] = {"schema": "kvconform-case/1", "subject": "transformers", "variant": variant}
        case |= {"params": params, "ops": ops}
        (tmp_path / "cases" / f"{name}.json").write_text(json.dumps(case))
    targets = [f"transformers:{variant}" for variant, _, _ in CASES.values()]
    files = ["--baseline", str(tmp_path / "known.json"), "--cases", str(tmp_path / "cases")]
    status, output = run("gate", *targets, "--python", PYTHON, *files, "--budget", "1")
    shown = sorted(re.findall(r"note: shown by .*/(\S+)\.json", output))
    assert (status, shown) == (1 if new else 0, new), output
