"""What the bare Python loops have in common: requests of docs/protocol.md, one on a line, and the clock."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, Protocol


class Caller(Protocol):
    """One choice of parameters."""

    def run(self, ops: list[list[Any]]) -> int:
        """One sequence on a new cache; how many ops were refused."""


def measure(path: str, make: Callable[[str, dict[str, Any]], Caller]) -> None:
    """Runs a few sequences unmeasured, then every request of the file, and prints how long the calls took."""
    with open(path, encoding="utf-8") as file:
        requests = [json.loads(line) for line in file]
    ops = sum(len(sequence) for request in requests for sequence in request["sequences"])
    for request in requests[:2]:
        for sequence in request["sequences"]:
            make(request["variant"], request["params"]).run(sequence)
    start = time.perf_counter()
    processor = time.process_time()
    for request in requests:
        caller = make(request["variant"], request["params"])
        for sequence in request["sequences"]:
            caller.run(sequence)
    taken = time.perf_counter() - start
    print(json.dumps({"ops": ops, "seconds": taken, "processor_seconds": time.process_time() - processor}))
