"""The loop of an adapter: requests in, replies out (docs/protocol.md). Knows nothing of any subject."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import sys
import traceback
from typing import Any, Protocol

from kvconform_adapter.request import (
    AbsentError,
    LayersRequest,
    RequestError,
    RunRequest,
    ScriptRequest,
    read_layers,
    read_run,
    read_script,
)

PROTOCOL = 1
REQUEST_MAX = 1 << 20
"""Longest request in bytes, its newline not counted."""
REPLY_MAX = 16 << 20
"""Longest first line of a reply in bytes."""
RAW_MAX = 1 << 30
"""Most raw bytes behind one reply."""
PIPE_BYTES = 1 << 20
"""Asked for, so that a reply leaves at once and the next request is begun while the harness still reads."""
YOUNG_OBJECTS = 50_000
"""Objects made before Python looks for unreachable cycles; its own 700 are made by every tenth op."""
UNKNOWN_ID = -1
"""The id of a reply to a request whose own id cannot be read."""


class Subject(Protocol):
    """What is driven."""

    def hello(self) -> dict[str, Any]:
        """The fields `subject`, `version`, `environment`, `variants` and `offers` of the reply to `hello`."""

    def classes(self) -> list[str]:
        """All cache classes of the installation, driven or not."""

    def run(self, request: RunRequest) -> tuple[str, list[bytes]]:
        """The fields after `id` and before `bytes` as JSON without its braces, and the raw data in pieces."""

    def sent(self) -> None:
        """Told once the reply to the last `run` is on its way."""

    def script(self, request: ScriptRequest) -> str:
        """The stand-alone program."""

    def layers(self, request: LayersRequest) -> dict[str, Any]:
        """The fields `cache` and `layers`: what the cache of a whole model is made of."""


class Channel:
    """Two file descriptors: lines come in on one, replies go out on the other."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self.sink = sink
        self.pending = bytearray()
        self.skipping = False

    @classmethod
    def take_standard_streams(cls) -> Channel:
        """Keep standard input and output for the protocol; others read nothing and print to standard error."""
        source, sink = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            # Not a pipe, or more than this user may have: then it stays as it is.
            with contextlib.suppress(OSError):
                fcntl.fcntl(sink, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        return cls(source, sink)

    def read_line(self) -> bytes | None:
        """The next line without its newline, None at the end. A line that is too long raises RequestError."""
        while True:
            end = self.pending.find(b"\n")
            if end >= 0:
                line = bytes(self.pending[:end])
                del self.pending[: end + 1]
                if self.skipping or len(line) > REQUEST_MAX:
                    self.skipping = False
                    raise RequestError(f"the request is longer than {REQUEST_MAX} bytes")
                return line
            if len(self.pending) > REQUEST_MAX:
                # The rest is thrown away up to its newline, so that the next request is found again.
                self.skipping = True
                self.pending.clear()
            piece = os.read(self.source, 1 << 16)
            if not piece:
                if self.pending or self.skipping:
                    self.pending.clear()
                    self.skipping = False
                    raise RequestError("the input ended in the middle of a request")
                return None
            self.pending += piece

    def write(self, pieces: list[bytes]) -> None:
        """All pieces, the last ones of which may be empty."""
        for piece in pieces:
            data = memoryview(piece)
            while data:
                data = data[os.write(self.sink, data) :]


def failure(number: int, error: RequestError) -> list[bytes]:
    """A reply that says why there is none."""
    word = "absent" if isinstance(error, AbsentError) else "error"
    return [json.dumps({"id": number, word: str(error)}).encode() + b"\n"]


def answer(subject: Subject, number: int, message: dict[str, Any]) -> list[bytes]:
    """The reply to one request in pieces: its line, then its raw data."""
    kind = message.get("request")
    if kind == "run":
        body, raw = subject.run(read_run(message))
        data = b"".join(raw)
        head = f'{{"id":{number},{body},"bytes":{len(data)}}}\n'.encode()
        if len(head) > REPLY_MAX or len(data) > RAW_MAX:
            raise RequestError("the reply is too long: ask for fewer sequences at once")
        subject.sent()
        return [head, data]
    if kind == "hello":
        if message.get("protocol") != PROTOCOL:
            raise RequestError(f'field "protocol": this adapter speaks version {PROTOCOL} only')
        return [json.dumps({"id": number, "protocol": PROTOCOL, **subject.hello()}).encode() + b"\n"]
    if kind == "classes":
        return [json.dumps({"id": number, "classes": subject.classes()}).encode() + b"\n"]
    if kind == "script":
        return [json.dumps({"id": number, "script": subject.script(read_script(message))}).encode() + b"\n"]
    if kind == "layers":
        return [json.dumps({"id": number, **subject.layers(read_layers(message))}).encode() + b"\n"]
    raise RequestError('field "request": expected hello, classes, run, script or layers')


def read_message(line: bytes) -> dict[str, Any]:
    """One request as an object; its fields are not checked yet."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the request is not JSON: {str(error)[:200]}") from error
    if not isinstance(message, dict):
        raise RequestError("the request is not a JSON object")
    return message


def serve(channel: Channel, subject: Subject) -> None:
    """Answer requests until the input ends or nobody reads the replies."""
    # What was imported lives to the end: looking through it for cycles takes a tenth of the time otherwise.
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    while True:
        number = UNKNOWN_ID
        try:
            line = channel.read_line()
            if line is None:
                return
            message = read_message(line)
            given = message.get("id")
            if type(given) is not int or not 0 <= given < 2**53:
                raise RequestError('field "id": expected a whole number from 0')
            number = given
            reply = answer(subject, number, message)
        except RequestError as error:
            reply = failure(number, error)
        except MemoryError:
            raise
        except Exception as error:
            # A fault of this program. The trace is for its authors, the sentence for the user.
            traceback.print_exc(file=sys.stderr)
            reply = failure(number, RequestError(f"the adapter failed: {type(error).__name__}: {str(error)[:300]}"))
        try:
            channel.write(reply)
        except BrokenPipeError:
            return
