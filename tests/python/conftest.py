"""Tests of the Python adapter.

    python -m pytest tests/python
    KVCONFORM_PYTHON=/path/to/python python -m pytest tests/python

The adapter runs in the interpreter named by KVCONFORM_PYTHON, else in the one that runs pytest; pytest itself needs
neither torch nor transformers. Tests that need them are skipped, with the reason, where that interpreter has none.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "adapters" / "python"), str(Path(__file__).resolve().parent)]

from adapter_process import Adapter, adapter_environment  # noqa: E402

INTERPRETER = os.environ.get("KVCONFORM_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def interpreter() -> str:
    """An interpreter that can import the subject."""
    probe = subprocess.run(
        [INTERPRETER, "-c", "import torch, transformers; print(transformers.__version__)"],
        capture_output=True,
        text=True,
        check=False,
    )
    if probe.returncode != 0:
        reason = (probe.stderr.strip().splitlines() or ["no reason given"])[-1]
        pytest.skip(
            f"{INTERPRETER} cannot import transformers and torch ({reason}); set KVCONFORM_PYTHON to one that can"
        )
    return INTERPRETER


@pytest.fixture(scope="session")
def adapter(interpreter: str) -> Iterator[Adapter]:
    """One running adapter for all tests: importing the subject takes seconds."""
    with Adapter([interpreter, "-m", "kvconform_adapter", "transformers"], adapter_environment()) as process:
        yield process


@pytest.fixture(scope="session")
def version(adapter: Adapter) -> tuple[int, ...]:
    """The subject's version as numbers."""
    return tuple(int(part) for part in adapter.hello["version"].split(".")[:2])
