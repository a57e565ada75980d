"""Which lines of the subject are run: places in its code, told once each (docs/protocol.md).

Python 3.12 and newer say it themselves (`sys.monitoring`), once for each line and for next to nothing after that.
Before, every line of the subject is traced, which costs as much as the calls themselves or more.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Protocol

PLACES_MAX = 8192
"""Told of one sequence at most; what is more is told of a later one."""
TOOL = 4
"""The number of this tool among those of `sys.monitoring`: none that a debugger, a profiler or coverage takes."""


class Places:
    """The places of one package that were run and not told yet."""

    def __init__(self, root: Path) -> None:
        self.root = f"{root}/"
        self.told: set[int] = set()
        self.new: list[int] = []
        self.watcher = watcher(self)

    def is_ours(self, code: CodeType) -> bool:
        """Whether a function is of the package."""
        return code.co_filename.startswith(self.root)

    def note(self, code: CodeType, line: int, before: int) -> None:
        """A line was run, behind another of the same function."""
        name = f"{code.co_filename[len(self.root) :]}:{code.co_firstlineno}:{before}:{line}"
        place = zlib.crc32(name.encode())
        if place not in self.told:
            self.told.add(place)
            self.new.append(place)

    def take(self) -> list[int]:
        """Those that came since the last time."""
        taken, self.new = self.new[:PLACES_MAX], self.new[PLACES_MAX:]
        return taken

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Look while this lasts."""
        self.watcher.begin()
        try:
            yield
        finally:
            self.watcher.end()


class Watcher(Protocol):
    """What tells of lines."""

    def begin(self) -> None:
        """From now on."""

    def end(self) -> None:
        """No more."""


class Tracer:
    """For Python before 3.12. A line counts with the line before it in the same call, so that branches tell."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.ours: dict[CodeType, bool] = {}

    def begin(self) -> None:
        """From now on."""
        sys.settrace(self.on_call)

    def end(self) -> None:
        """No more."""
        sys.settrace(None)

    def on_call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        """A function is called: its lines matter if it is of the package."""
        code = frame.f_code
        ours = self.ours.get(code)
        if ours is None:
            ours = self.ours[code] = self.places.is_ours(code)
        if not ours:
            return None
        places, before = self.places, 0

        def on_line(frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal before
            if event == "line":
                places.note(code, frame.f_lineno, before)
                before = frame.f_lineno
            return on_line

        return on_line


if sys.version_info >= (3, 12):

    class Monitor:
        """For Python 3.12 and newer. Each line is told once, and then not looked at any more."""

        def __init__(self, places: Places) -> None:
            self.places = places
            sys.monitoring.use_tool_id(TOOL, "kvconform")
            sys.monitoring.register_callback(TOOL, sys.monitoring.events.LINE, self.on_line)

        def begin(self) -> None:
            """From now on."""
            sys.monitoring.set_events(TOOL, sys.monitoring.events.LINE)

        def end(self) -> None:
            """No more."""
            sys.monitoring.set_events(TOOL, sys.monitoring.events.NO_EVENTS)

        def on_line(self, code: CodeType, line: int) -> Any:
            """A line begins."""
            if self.places.is_ours(code):
                self.places.note(code, line, 0)
            return sys.monitoring.DISABLE


def watcher(places: Places) -> Watcher:
    """The best that this Python has."""
    if sys.version_info >= (3, 12):
        return Monitor(places)
    return Tracer(places)
