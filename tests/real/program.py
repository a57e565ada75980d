"""The built program and what it is run on.

Settings, from the environment:

KVCONFORM          the program (default: build/bin/kvconform of the source tree)
KVCONFORM_PYTHON   an interpreter that has transformers 5.24.0; without it the tests of this folder are skipped
KVCONFORM_LONG     1: all versions of `VERSIONS`, each in an environment of its own, at the default budget, and
                   every stand-alone program of every finding
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
PROGRAM = os.environ.get("KVCONFORM", str(TOP / "build" / "bin" / "kvconform"))
PYTHON = os.environ.get("KVCONFORM_PYTHON", "")
LONG = os.environ.get("KVCONFORM_LONG") == "1"
JOBS = 2 if LONG else 1
"""Workers of a run: each imports its subject, which takes longer than most of what the quick tier asks of it."""
VERSIONS = ("5.12.1", "5.14.1", "5.15.1", "5.24.0") if LONG else ("5.24.0",)
NO_PYTHON = "KVCONFORM_PYTHON names no interpreter with transformers"


def corpus(subject: str = "transformers") -> dict[str, Any]:
    """The cases that the project keeps, by file name."""
    files = sorted((TOP / "cases" / subject).glob("*.json"))
    assert files
    return {file.name: json.loads(file.read_text()) for file in files}


def run(*words: str, **more: str) -> tuple[int, str]:
    """Runs the program, with more in its environment; gives its exit status and standard output."""
    environment = dict(os.environ, KVCONFORM_DATA=str(TOP), NO_COLOR="1", **more)
    if words[0] in ("run", "gate"):
        words = (*words, "--jobs", str(JOBS))
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode in (0, 1), done.stderr[-2000:]
    return done.returncode, done.stdout


def interpreter(version: str, subject: str = "transformers", given: str = PYTHON) -> str:
    """The interpreter that the program runs a version in: the one given, or in a long run that of the version."""
    if not LONG:
        return given
    maker = TOP / "adapters" / "environment" / "kvconform_environment.py"
    made = subprocess.run(["python3", str(maker), subject, version], capture_output=True, text=True, check=True)
    return made.stdout.strip()


def plain(**more: str) -> dict[str, str]:
    """The environment of somebody who has no kvconform."""
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **more}


def outcomes(version: str, scripts: dict[str, str], folder: Path) -> dict[str, tuple[int, str]]:
    """Runs stand-alone programs under a version; gives the exit status of each and what it printed."""
    folder.mkdir()
    for name, text in scripts.items():
        (folder / f"{name}.py").write_text(text)
    words = [interpreter(version), str(HERE / "run_scripts.py"), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, env=plain(), check=True)
    statuses = json.loads(done.stdout)
    assert statuses.keys() == {f"{name}.py" for name in scripts}
    return {name: (statuses[f"{name}.py"], (folder / f"{name}.py.out").read_text()) for name in scripts}
