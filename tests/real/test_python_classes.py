"""Cache classes of many designs under the built program: right ones conform, faults that were put in are found.

Those in torch need KVCONFORM_PYTHON, those in mlx KVCONFORM_MLX. KVCONFORM_LONG=1 takes 20,000 sequences for each
right one, and every fault.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from program import LONG, PROGRAM, PYTHON, TOP, plain

MLX = os.environ.get("KVCONFORM_MLX", "")
CLASSES = TOP / "tests" / "any"
AXES = '{"schema": "kvconform-class/1", "axes": %s}'
TOKENS_FIRST = AXES % '["batch", "tokens", "heads", "channels"]'
FLAT = AXES % '["tokens", "channels"]'

RIGHT: dict[str, list[str]] = {
    "plain_caches:Plain": [],
    "plain_caches:Sized": [],
    "plain_caches:Window": [],
    "plain_caches:Persistent": ["--spec", FLAT],
    "numpy_caches:Growing": [],
    "numpy_caches:Paged": [],
    "numpy_caches:Sinks": [],
    "numpy_caches:Ring": [],
    "numpy_caches:Quantised": [],
    "numpy_caches:HeavyHitters": ["--like", "opaque"],
    "numpy_caches:Steps": ["--spec", TOKENS_FIRST],
    "torch_caches:Sliding": [],
    "torch_caches:Static": [],
    "torch_caches:Layers": [],
    "mlx_caches:Joined": [],
}
"""Classes in which nothing may be found, with what is told of them."""

WRONG: dict[str, tuple[str, str]] = {
    "plain_caches:PlainIgnoresNegatives": ("plain_caches:Plain", "LENGTH"),
    "plain_caches:PlainCropsOneShort": ("plain_caches:Plain", "LENGTH"),
    "plain_caches:PlainReordersInPlace": ("plain_caches:Plain", "BATCH"),
    "plain_caches:PlainCropsValuesOfTheFirstRow": ("plain_caches:Plain", "REFUSE"),
    "plain_caches:PlainLeavesHoles": ("plain_caches:Plain", "REFUSE"),
    "plain_caches:PlainJoinsWhatItIsGiven": ("plain_caches:Plain", "ALIAS"),
    "plain_caches:PlainCannotBeCloned": ("plain_caches:Plain", "REFUSE"),
    "plain_caches:SizedHasRoomForOneMore": ("plain_caches:Sized", "REFUSE"),
    "plain_caches:WindowTooLarge": ("plain_caches:Window", "KEYS"),
    "plain_caches:WindowRollsBackSilently": ("plain_caches:Window", "REFUSE"),
    "plain_caches:WindowClearsWithoutTheCounter": ("plain_caches:Window", "RESET"),
    "plain_caches:WindowHalfRefuses": ("plain_caches:Window", "ATOMIC"),
    "plain_caches:PersistentIsNot": ("plain_caches:Persistent", "ISOLATION"),
    "numpy_caches:GrowingForgetsToClamp": ("numpy_caches:Growing", "CLAMP"),
    "numpy_caches:GrowingReordersKeysOnly": ("numpy_caches:Growing", "BATCH"),
    "numpy_caches:GrowingSlicesByZero": ("numpy_caches:Growing", "ZERO"),
    "numpy_caches:GrowingCropsToWholeNumbers": ("numpy_caches:Growing", "REFUSE"),
    "numpy_caches:GrowingCropsToNothing": ("numpy_caches:Growing", "REFUSE"),
    "numpy_caches:GrowingRepeatsByTiling": ("numpy_caches:Growing", "BATCH"),
    "numpy_caches:PagedKeepsAPageTooMany": ("numpy_caches:Paged", "KEYS"),
    "numpy_caches:PagedClearsTheTableOnly": ("numpy_caches:Paged", "REFUSE"),
    "numpy_caches:PagedWritesOverAFreePage": ("numpy_caches:Paged", "KEYS"),
    "numpy_caches:PagedIsCopiedByReference": ("numpy_caches:Paged", "ISOLATION"),
    "numpy_caches:SinksKeepOneTooMany": ("numpy_caches:Sinks", "KEYS"),
    "numpy_caches:SinksEvictTheFirst": ("numpy_caches:Sinks", "KEYS"),
    "numpy_caches:SinksCropSilently": ("numpy_caches:Sinks", "REFUSE"),
    "numpy_caches:RingTurnsOverTheFirst": ("numpy_caches:Ring", "KEYS"),
    "numpy_caches:RingTrimsOneShort": ("numpy_caches:Ring", "LENGTH"),
    "numpy_caches:RingTrimsBeyondZero": ("numpy_caches:Ring", "CLAMP"),
    "numpy_caches:QuantisedLosesTheScale": ("numpy_caches:Quantised", "VALUES"),
    "numpy_caches:QuantisedCropsTheRestOnly": ("numpy_caches:Quantised", "LENGTH"),
    "numpy_caches:QuantisedResetsWithoutCodes": ("numpy_caches:Quantised", "RESET"),
    "numpy_caches:HeavyHittersRemember": ("numpy_caches:HeavyHitters", "RESET"),
    "numpy_caches:StepsReturnNewOnly": ("numpy_caches:Steps", "RETURN"),
    "numpy_caches:StepsTakeTheInput": ("numpy_caches:Steps", "ALIAS"),
    "torch_caches:SlidingReturnsHeld": ("torch_caches:Sliding", "RETURN"),
    "torch_caches:SlidingResetsContentsOnly": ("torch_caches:Sliding", "RESET"),
    "torch_caches:StaticCountsBeforeItRefuses": ("torch_caches:Static", "ATOMIC"),
    "torch_caches:StaticShiftsByOne": ("torch_caches:Static", "LENGTH"),
    "torch_caches:LayersAnnounceOneLess": ("torch_caches:Layers", "MASK"),
    "torch_caches:LayersShareTheInput": ("torch_caches:Layers", "ALIAS"),
    "torch_caches:MyLayerDropsOneValue": ("", "HONEST"),
    "torch_caches:MyLayerReordersBackwards": ("", "BATCH"),
    "mlx_caches:JoinedTrimsKeysOnly": ("mlx_caches:Joined", "VALUES"),
    "mlx_caches:MyCacheTrimsOneShort": ("", "HONEST"),
}
"""Classes with a fault: the right one that it was put into, and a law that it breaks."""

FIRST = {(right or name): name for name, (right, _) in reversed(WRONG.items())}
"""The first fault of each design: those of the quick tier."""

WITHOUT_PROGRAM = ("RESET-", "RESUME-", "CHUNK-")
"""Findings of a class whose contents only another run of it can tell."""


def interpreter_of(name: str) -> str:
    """The interpreter that can import a class; skips where there is none."""
    library = name.partition("_")[0]
    if library == "plain":
        return sys.executable
    found = MLX if library == "mlx" else PYTHON
    if not found:
        pytest.skip(f"no interpreter with {library}: set KVCONFORM_{'MLX' if library == 'mlx' else 'PYTHON'}")
    return found


def run_class(name: str, options: list[str], budget: int, folder: Path) -> tuple[Any, str]:
    """The entry of the result, and the interpreter."""
    python = interpreter_of(name)
    words = list(options)
    if "--spec" in words:
        place = words.index("--spec") + 1
        (folder / "spec.jsonc").write_text(words[place])
        words[place] = str(folder / "spec.jsonc")
    environment = dict(os.environ, KVCONFORM_DATA=str(TOP), NO_COLOR="1", PYTHONDONTWRITEBYTECODE="1")
    command = [PROGRAM, "run", f"python:{name}", *words, "--python", python, "--budget", str(budget)]
    command += ["--report", str(folder / "out"), "--quiet", "--timeout", "300", "--jobs", "1"]
    done = subprocess.run(command, cwd=CLASSES, env=environment, capture_output=True, text=True, check=False)
    result = json.loads((folder / "out" / "result.json").read_text())
    (entry,) = result["runs"]
    assert done.returncode in (0, 1), (done.stderr, entry["reason"])
    return entry, python


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_one_conforms(name: str, tmp_path: Path) -> None:
    entry, _ = run_class(name, RIGHT[name], 20_000 if LONG else 1500, tmp_path)
    assert [finding["title"] for finding in entry["findings"]] == []
    assert entry["status"] == "conforms"
    assert entry["assumptions"]
    assert entry["untested"]


@pytest.mark.parametrize("name", WRONG if LONG else sorted(FIRST.values()))
def test_a_fault_is_found(name: str, tmp_path: Path) -> None:
    right, law = WRONG[name]
    entry, python = run_class(name, RIGHT.get(right, []), 1500, tmp_path)
    broken = [finding for finding in entry["findings"] if finding["law"] == law]
    assert broken, [finding["title"] for finding in entry["findings"]]
    assert min(len(finding["case"]["ops"]) for finding in broken) <= 4
    assert {finding["basis"] for finding in entry["findings"]} == {"inferred"}
    for finding in broken[:1]:
        program = tmp_path / "out" / "cases" / f"{finding['id']}.py"
        if not program.exists():
            assert finding["id"].startswith(WITHOUT_PROGRAM)
            assert finding["no_script"]
            continue
        shown = subprocess.run([python, "-I", str(program)], env=plain(), capture_output=True, text=True, check=False)
        assert shown.returncode == 1, shown.stdout + shown.stderr
