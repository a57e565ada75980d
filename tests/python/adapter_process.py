"""An adapter as a child process, as the harness sees it."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

TREE = Path(__file__).resolve().parents[2]
SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int64": 8}


def adapter_environment() -> dict[str, str]:
    """The environment in which the package is found."""
    return {
        **os.environ,
        "PYTHONPATH": str(TREE / "adapters" / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def decode(dtype: str, data: bytes) -> list[float]:
    """Little-endian elements as numbers."""
    if dtype == "bfloat16":
        return [struct.unpack("<f", b"\0\0" + data[at : at + 2])[0] for at in range(0, len(data), 2)]
    letter = {"float32": "f", "float16": "e", "float64": "d", "int64": "q"}[dtype]
    return list(struct.unpack(f"<{len(data) // SIZES[dtype]}{letter}", data))


class Step:
    """One step of a reply."""

    def __init__(
        self,
        fields: list[Any],
        reply: dict[str, Any],
        raw: bytes,
        used: int,
        before: dict[int, bytes],
    ) -> None:
        (
            self.outcome,
            self.lengths,
            self.masks,
            self.positions,
            self.claim,
            entries,
            error,
        ) = fields[:7]
        self.error = reply["errors"][error] if error >= 0 else None
        self.shapes: dict[str, list[int]] = {}
        self.dtypes: dict[str, str] = {}
        self.data: dict[str, bytes] = {}
        self.addresses: dict[str, int] = {}
        pieces: list[bytes] = []
        self.shown: dict[int, bytes] = {}
        for number, entry in enumerate(entries):
            index, same = entry if isinstance(entry, list) else (entry, None)
            name, dtype, shape = reply["tensors"][index]
            assert name not in self.shapes, f"{name} is shown twice"
            size = SIZES[dtype]
            for length in shape:
                size *= length
            if same is None:
                pieces.append(raw[used : used + size])
                used += size
            elif same == -1:
                pieces.append(before[index])
            else:
                assert 0 <= same < number
                pieces.append(pieces[same])
            self.shown[index] = pieces[-1]
            assert len(pieces[-1]) == size, name
            self.shapes[name], self.dtypes[name], self.data[name] = (
                shape,
                dtype,
                pieces[-1],
            )
            if len(fields) == 8:
                self.addresses[name] = fields[7][number]
        self.used = used

    def values(self, name: str) -> list[float]:
        """All elements of a tensor, row-major."""
        return decode(self.dtypes[name], self.data[name])


class Adapter:
    """A running adapter."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self.number = 0
        self.table: list[Any] = []
        self.hello = self.ask({"request": "hello", "protocol": 1})

    def __enter__(self) -> Adapter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(timeout=30) == 0

    def send(self, line: bytes) -> dict[str, Any]:
        """Send one line and read the line that answers it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer.endswith(b"\n"), "the adapter has died"
        reply = json.loads(answer)
        assert isinstance(reply, dict)
        return reply

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send one request with the next id; the raw data of its reply is in the field `raw`."""
        self.number += 1
        reply = self.send(json.dumps({"id": self.number, **message}).encode())
        assert reply["id"] == self.number
        if "bytes" in reply:
            assert reply.get("known", 0) <= len(self.table)
            self.table = reply["tensors"] = self.table[: reply.get("known", 0)] + reply["tensors"]
            assert self.process.stdout is not None
            raw = self.process.stdout.read(reply["bytes"])
            assert len(raw) == reply["bytes"]
            reply["raw"] = raw
        return reply

    def run(
        self,
        variant: str,
        params: dict[str, Any],
        *sequences: Sequence[Any],
        numbers: list[list[int] | None] | None = None,
    ) -> list[list[Step]]:
        """Run sequences and read all of their steps."""
        message: dict[str, Any] = {
            "request": "run",
            "variant": variant,
            "params": params,
            "sequences": list(sequences),
        }
        if numbers is not None:
            message["numbers"] = numbers
        reply = self.ask(message)
        assert "error" not in reply, reply["error"]
        results, used = [], 0
        for sequence, steps in zip(sequences, reply["results"], strict=True):
            assert len(sequence) == len(steps)
            read: list[Step] = []
            for fields in steps:
                before = read[-1].shown if read else {}
                read.append(Step(fields, reply, reply["raw"], used, before))
                used = read[-1].used
            results.append(read)
        assert used == reply["bytes"]
        return results


def formula(salt: int, token: int, row: int, head: int, channel: int) -> int:
    """The value formula of docs/protocol.md, written a second time."""
    place = channel % 8
    digit = row % 7 if place == 6 else head % 7 if place == 7 else token // 7**place % 7
    return 1 + (digit + 3 * salt + 5 * channel) % 7


def level(salt: int, token: int, row: int, head: int, channel: int) -> float:
    """The formula of two levels, written a second time."""
    number = token + 2**17 * (row % 7) + 2**20 * (head % 7) + 2**23 * salt
    number += 2**26 if number.bit_count() % 2 else 2**27
    place, lot = channel % 8, channel // 8 % 4
    bit = number >> (7 * lot + place) & 1 if place < 7 else 1 - (number >> (7 * lot) & 1)
    return 4.0 if bit ^ (channel // 32 & 1) else -4.0


def heads_tensor(salt: int, rows: list[list[tuple[int, int]]], heads: int, channels: int) -> list[float]:
    """What a tensor [rows, heads, tokens, channels] holds; each row lists (token, row it was appended to)."""
    return [
        float(formula(salt, token, origin, head, channel))
        for row in rows
        for head in range(heads)
        for token, origin in row
        for channel in range(channels)
    ]
