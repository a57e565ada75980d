"""Adapters that are broken on purpose: broken.py FAULT. Each is the small correct one with one thing wrong.

Most faults change the bytes of a reply, the last ones the subject itself. `broken.py` alone lists them. Words
behind the fault are not read. Each start adds a letter to the file that KVC_STARTS names.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from full_attention import Adapter, Cache

Fields = dict[str, Any]


def wait_for_ever() -> NoReturn:
    """Come back never."""
    while True:
        time.sleep(60)


def leave(data: bytes, status: int) -> NoReturn:
    """Write the last bytes and end."""
    os.write(1, data)
    os._exit(status)


def print_for_ever() -> NoReturn:
    """Megabytes without a newline."""
    while True:
        os.write(1, b"x" * 65536)


def close_output() -> NoReturn:
    """Say nothing, but live on."""
    os.close(1)
    wait_for_ever()


def stall(data: bytes) -> NoReturn:
    """Write the beginning of an answer and no more."""
    os.write(1, data)
    wait_for_ever()


def start_child() -> NoReturn:
    """End, but leave a child that holds the pipes."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    os._exit(0)


def ignore_signals() -> NoReturn:
    """Hang and do not care for polite signals."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wait_for_ever()


def change(reply: bytes, edit: Callable[[Fields], object]) -> bytes:
    """A reply with other fields and the same raw data."""
    line, _, raw = reply.partition(b"\n")
    fields = json.loads(line)
    edit(fields)
    return json.dumps(fields).encode() + b"\n" + raw


def change_step(place: int, value: object) -> Callable[[bytes], bytes]:
    """Another value for one field of the first step."""

    def edit(fields: Fields) -> None:
        fields["results"][0][0][place] = value

    return lambda reply: change(reply, edit)


def change_field(name: str, value: object) -> Callable[[bytes], bytes]:
    """Another value for one field of the reply."""
    return lambda reply: change(reply, lambda fields: fields.update({name: value}))


def change_tensor(place: int, value: object) -> Callable[[bytes], bytes]:
    """Another value for one field of the first tensor."""

    def edit(fields: Fields) -> None:
        fields["tensors"][0][place] = value

    return lambda reply: change(reply, edit)


HELLO: dict[str, Callable[[bytes], bytes]] = {
    "hello_protocol_2": change_field("protocol", 2),
    "hello_without_variants": lambda reply: change(reply, lambda fields: fields.pop("variants")),
    "hello_variants_number": change_field("variants", [7]),
    "hello_control_character": change_field("version", "1\u0007"),
    "hello_environment_number": change_field("environment", {"cores": 2}),
    "hello_not_utf8": lambda reply: reply.replace(b"builtin", b"built\xff\xfe"),
    "hello_unknown_subject": change_field("subject", "nobody"),
    "hello_unknown_variant": change_field("variants", ["unheard_of"]),
    "hello_old_version": change_field("version", "0.1"),
    "hello_variant_twice": change_field("variants", ["full", "full"]),
    "prints_garbage_first": lambda reply: b"Loading weights... done\n" + reply,
    "exits_at_once": lambda reply: leave(b"", 7),
    "never_answers": lambda reply: wait_for_ever(),
    "never_answers_signals": lambda reply: ignore_signals(),
    "no_newline": lambda reply: print_for_ever(),
    "no_newline_first": lambda reply: leave(reply[:-1], 0),
    "leaves_child": lambda reply: start_child(),
    "closes_output": lambda reply: close_output(),
    "empty_line": lambda reply: b"\n" + reply,
    "not_an_object": lambda reply: b"[]\n",
    "deep": lambda reply: b"[" * 100_000 + b"\n",
    "zero_byte": lambda reply: reply.replace(b"builtin", b"b\0iltin"),
}
"""Faults of the reply to hello."""

RUN: dict[str, Callable[[bytes], bytes]] = {
    "wrong_id": lambda reply: change(reply, lambda fields: fields.update({"id": fields["id"] + 1})),
    "no_id": lambda reply: change(reply, lambda fields: fields.pop("id")),
    "huge_id": change_field("id", 10**300),
    "says_error": change_field("error", "the subject is not at home"),
    "says_absent": change_field("absent", "the subject has no such cache"),
    "cut_line": lambda reply: leave(reply[:40], 1),
    "cut_data": lambda reply: leave(reply[:-5], 0),
    "stalls_in_data": lambda reply: stall(reply[:-5]),
    "more_bytes": lambda reply: reply + b"\x40" * 8,
    "fewer_bytes": lambda reply: reply[:-8],
    "bytes_more_than_steps": lambda reply: (
        change(reply, lambda fields: fields.update({"bytes": fields["bytes"] + 8})) + b"\x40" * 8
    ),
    "bytes_absurd": change_field("bytes", 10**18),
    "bytes_negative": change_field("bytes", -1),
    "bytes_missing": lambda reply: change(reply, lambda fields: fields.pop("bytes")),
    "deep_results": lambda reply: b'{"id": 2, "results": ' + b"[" * 200 + b"]" * 200 + b"}\n",
    "length_nan": change_step(1, [float("nan")]),
    "length_fraction": change_step(1, [1.5]),
    "length_huge": change_step(1, [1e300]),
    "length_text": change_step(1, ["3"]),
    "lengths_many": change_step(1, [0] * 1000),
    "outcome_7": change_step(0, 7),
    "masks_short": change_step(2, [[1]]),
    "claim_text": change_step(4, "yes"),
    "tensor_index": change_step(5, [1 << 20]),
    "tensor_index_negative": change_step(5, [-1]),
    "tensor_same_as_itself": change_step(5, [[0, 0]]),
    "tensor_as_before_the_first": change_step(5, [[0, -1]]),
    "known_too_many": change_field("known", 1000),
    "results_twice": lambda reply: reply.replace(b'"bytes"', b'"results": [], "bytes"'),
    "results_number": change_field("results", 3),
    "error_index": change_step(6, 3),
    "step_short": lambda reply: change(reply, lambda fields: fields["results"][0][0].pop()),
    "step_missing": lambda reply: change(reply, lambda fields: fields["results"][0].pop()),
    "sequence_missing": lambda reply: change(reply, lambda fields: fields["results"].pop()),
    "shape_huge": change_tensor(2, [1 << 30, 1 << 30, 1 << 30, 1 << 30]),
    "shape_negative": change_tensor(2, [-1, 1, 1, 8]),
    "shape_many": change_tensor(2, [1] * 40),
    "dtype_unknown": change_tensor(1, "float31"),
    "name_not_utf8": lambda reply: reply.replace(b'"keys"', b'"ke\xffs"'),
    "name_control": change_tensor(0, "ke\u001bys"),
    "name_long": change_tensor(0, "k" * 5000),
}
"""Faults of the reply to run."""


class Broken(Adapter):
    """The correct adapter with one fault."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault
        self.hoard: list[bytearray] = []
        self.runs = 0
        self.crops = 0

    def reply(self, request: dict[str, Any]) -> bytes:
        self.runs += request["request"] == "run"
        if self.fault == "length_off_then_hangs" and self.runs > 1:
            wait_for_ever()
        data = super().reply(request)
        table = HELLO if request["request"] == "hello" else RUN if request["request"] == "run" else {}
        return table[self.fault](data) if self.fault in table else data

    def step(self, cache: Cache, op: list[Any], numbers: list[int] | None) -> list[Any]:
        if self.fault == "crashes_on_append" and op[0] == "append":
            os.abort()
        if self.fault == "crashes_with_two" and len(cache.rows[0]) > 1:
            os.abort()
        if op == ["crop", 0]:
            if self.fault == "crashes":
                os.abort()
            elif self.fault == "exits":
                os._exit(3)
            elif self.fault == "hangs":
                wait_for_ever()
            elif self.fault == "hangs_busy":
                while True:
                    pass
            elif self.fault == "swells":
                self.hoard.append(bytearray(256 << 20))
        if self.fault == "refuses_loudly" and op[0] == "reset":
            # Text that is long, and is not cut between two characters just anywhere.
            op = ["crop", 1]
        result = super().step(cache, op, numbers)
        if self.fault == "refuses_loudly" and result[6] >= 0:
            self.errors[result[6]] = ["Väl\u202eError" * 30, "x" + "\u00fc\U0001f600\u001b[31m\n" * 2000]
        if self.fault in {"length_off", "length_off_then_hangs"} and op[0] == "crop":
            result[1] = [result[1][0] + 1]
        self.crops += op[0] == "crop"
        if op[0] == "crop" and (
            (self.fault == "length_off_now_and_then" and self.crops % 97 == 0)
            or (self.fault == "length_off_at_first" and self.crops <= 2)
        ):
            result[1] = [result[1][0] + 1]
        if self.fault == "tensor_twice":
            result[5] += [[result[5][0], 0]] if result[5] else []
        return result


STEP = (
    "crashes",
    "crashes_on_append",
    "crashes_with_two",
    "exits",
    "hangs",
    "hangs_busy",
    "swells",
    "length_off",
    "length_off_then_hangs",
    "length_off_now_and_then",
    "length_off_at_first",
    "tensor_twice",
    "refuses_loudly",
)
"""Faults of the subject."""


if __name__ == "__main__":
    known = [*HELLO, *RUN, *STEP]
    if len(sys.argv) < 2 or sys.argv[1] not in known:
        sys.exit("usage: broken.py " + " | ".join(known))
    if "KVC_STARTS" in os.environ:
        with open(os.environ["KVC_STARTS"], "a", encoding="ascii") as starts:
            starts.write("x")
    Broken(sys.argv[1]).serve()
