"""The program of oracle.c, and what a search came to."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any


@dataclass
class Found:
    """What a search came to: number and seconds of the first failing sequence, and the case it reports."""

    number: int
    seconds: float
    ops: int
    weight: int
    text: str
    total: float
    """Seconds to the report, shrinking included."""


class Oracle:
    """The program, which answers a line for a line."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        first = self.output.readline()
        if not first:
            raise SystemExit(f"detection: {' '.join(command)}: ended with status {self.process.wait()}")
        self.head: dict[str, Any] = json.loads(first)

    def ask(self, line: str) -> list[str]:
        """The words of the answer."""
        self.input.write(line + "\n")
        self.input.flush()
        answer = self.output.readline()
        if not answer:
            raise SystemExit(f"detection: the oracle ended at {line!r} with status {self.process.wait()}")
        return answer.split()

    def close(self) -> None:
        """The end of its input is its end."""
        self.input.close()
        self.output.close()
        self.process.wait()
