"""Tests of the reports as their readers see them: the page in a browser, the other files in programs that read them.

    PYTHON -m pytest tests/page

with the interpreter that `python3 adapters/environment/kvconform_environment.py page` prints. KVCONFORM names the
program (default: build/bin/kvconform). What needs a browser is skipped, with the reason, where no chromium is in PATH.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

TREE = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KVCONFORM", str(TREE / "build" / "bin" / "kvconform"))

HOSTILE = "</script><script>alert(1)</script>\u202egnp.exe\u2066<img src=x onerror=alert(2)>\x1b[31m"
"""What a name may be made of to break a page, to turn its text around, or to take a terminal over."""

Report = Callable[..., Path]


def read_sample(name: str) -> Any:
    """A result of tests/data."""
    return json.loads((TREE / "tests" / "data" / name).read_text(encoding="utf-8"))


def hostile_result() -> Any:
    """10,000 findings in two variants, the first of them with a megabyte in every text that may be that long."""
    result = read_sample("result-sample.json")
    run = next(run for run in result["runs"] if run["status"] == "findings")
    model = run["findings"][0]
    result["runs"] = []
    for part in range(2):
        entry = copy.deepcopy(run)
        entry.update(variant=f"{part}{HOSTILE}"[:100], findings=[], unreached=[])
        for number in range(5000):
            finding = dict(model, id=f"KEYS-{part}{number:05d}", title=f"{number} {HOSTILE}")
            if number < 20:
                finding.update(script="x" * 1_000_000, source="<b>" * 300_000, title="A" * 1_000_000)
                finding["observed"] = dict(model["observed"], error=HOSTILE * 10_000)
            entry["findings"].append(finding)
        result["runs"].append(entry)
    return result


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Makes the folder of a report of results, given as JSON."""

    def make(*results: Any) -> Path:
        folder = tmp_path_factory.mktemp("report")
        files = []
        for number, result in enumerate(results):
            files.append(str(folder / f"{number}.json"))
            Path(files[-1]).write_text(json.dumps(result), encoding="utf-8")
        subprocess.run([PROGRAM, "report", *files, "-o", str(folder / "out"), "--quiet"], check=True, timeout=300)
        return folder / "out"

    return make


@pytest.fixture(scope="session")
def sample(report: Report) -> Path:
    """The report of results of two subjects and three versions with every kind of finding."""
    return report(read_sample("result-sample.json"))


@pytest.fixture(scope="session")
def models(report: Report) -> Path:
    """The report of two versions of whole models, with the layers that some of their faults come from."""
    return report(read_sample("result-models.json"))


@pytest.fixture(scope="session")
def hostile(report: Report) -> Path:
    """The report of what nobody would send who means well."""
    return report(hostile_result(), read_sample("result-hostile.json"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A running chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium in PATH (Debian package: chromium)")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with sync_playwright() as driver:
        # As root chromium has no sandbox to offer.
        started = driver.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield started
        started.close()
