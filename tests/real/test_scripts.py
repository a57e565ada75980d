"""Stand-alone programs under other versions: what shows a fault says nothing of a cache in which it is mended."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from program import LONG, NO_PYTHON, PYTHON, TOP, VERSIONS, corpus, interpreter, outcomes, plain, run

pytestmark = [
    pytest.mark.skipif(not PYTHON, reason=NO_PYTHON),
    pytest.mark.skipif(not LONG, reason="takes several versions: set KVCONFORM_LONG to 1"),
]

NO_LAW = ("conforms", "absent", "impossible")


def mended(broken: str) -> dict[str, list[str]]:
    """For each case that breaks a law in a version: the later versions that conform, where there are any."""
    found = {}
    for name, case in corpus().items():
        expect = case["expect"] if isinstance(case["expect"], dict) else {}
        later = [version for version in VERSIONS[VERSIONS.index(broken) + 1 :] if expect.get(version) == "conforms"]
        if later and expect.get(broken, "absent") not in NO_LAW:
            found[name] = later
    return found


def requests(version: str, names: list[str], folder: Path) -> list[dict[str, Any]]:
    """What an adapter is asked in order to write the programs of some cases, all of which break a law."""
    folder.mkdir()
    asked = []
    for number, name in enumerate(names):
        case = corpus()[name]
        del case["expect"]  # then the program says what it expected
        (folder / name).write_text(json.dumps(case))
        status, text = run("replay", str(folder / name), "--target", f"transformers@{version}")
        assert status == 1, text
        law, expected = re.search(r": breaks (\w+) on ", text), re.search(r"^  expected (.*)$", text, re.MULTILINE)
        assert law and expected, text
        fields = {"variant": case["variant"], "params": case["params"], "ops": case["ops"], "title": case["title"]}
        more = {"step": len(case["ops"]) - 1, "law": law[1], "expected": json.loads(expected[1])}
        asked.append({"id": number, "request": "script", **fields, **more})
    return asked


def written(version: str, asked: list[dict[str, Any]]) -> list[str]:
    """The programs that the adapter writes."""
    words = [interpreter(version), "-m", "kvconform_adapter", "transformers"]
    environment = plain(PYTHONPATH=str(TOP / "adapters" / "python"), PYTHONDONTWRITEBYTECODE="1")
    lines = "".join(f"{json.dumps(request)}\n" for request in asked)
    done = subprocess.run(words, input=lines, capture_output=True, text=True, env=environment, check=True)
    return [json.loads(line)["script"] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("broken", VERSIONS[:-1])
def test_a_mended_cache_does_not_show_the_fault(broken: str, tmp_path: Path) -> None:
    cases = mended(broken)
    assert cases
    texts = dict(zip(cases, written(broken, requests(broken, list(cases), tmp_path / "cases")), strict=True))
    shown = {name: status for name, (status, _) in outcomes(broken, texts, tmp_path / broken).items()}
    assert shown == dict.fromkeys(cases, 1)
    for version in VERSIONS[VERSIONS.index(broken) + 1 :]:
        chosen = {name: texts[name] for name in cases if version in cases[name]}
        wrong = {
            name: printed[-500:]
            for name, (status, printed) in outcomes(version, chosen, tmp_path / version).items()
            if status != 0 or "the fault does not show" not in printed
        }
        assert wrong == {}, version
