"""Which subject `python -m kvconform_adapter python MODULE:CLASS [--init JSON] [--spec FILE] [--like KIND]` is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kvconform_adapter.any_class import find
from kvconform_adapter.any_spec import Told, read_file, read_object
from kvconform_adapter.protocol import Subject
from kvconform_adapter.request import LayersRequest, RequestError, RunRequest, ScriptRequest

OPTIONS = ("--init", "--spec", "--like")


class Unusable:
    """A subject that answers every request with the reason why there is none."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def hello(self) -> dict[str, Any]:
        """Raises RequestError."""
        raise RequestError(self.reason)

    def classes(self) -> list[str]:
        """Raises RequestError."""
        raise RequestError(self.reason)

    def run(self, request: RunRequest) -> tuple[str, list[bytes]]:
        """Raises RequestError."""
        raise RequestError(self.reason)

    def sent(self) -> None:
        """Nothing was sent."""

    def script(self, request: ScriptRequest) -> str:
        """Raises RequestError."""
        raise RequestError(self.reason)

    def layers(self, request: LayersRequest) -> dict[str, Any]:
        """Raises RequestError."""
        raise RequestError(self.reason)


def read_words(words: list[str]) -> tuple[str, Told] | None:
    """The name of the class and what is told of it; None for a wrong command line. Raises RequestError."""
    if not words or words[0].startswith("-") or len(words) % 2 == 0:
        return None
    options = dict(zip(words[1::2], words[2::2], strict=True))
    if any(name not in OPTIONS for name in options):
        return None
    told = read_file(options["--spec"]) if "--spec" in options else Told()
    if "--like" in options:
        told = replace(told, like=options["--like"])
    if "--init" in options:
        told = replace(told, init=told.init | read_object(options["--init"], "--init"))
    return words[0], told


def any_subject(words: list[str]) -> Subject | None:
    """The subject; None for a wrong command line."""
    try:
        read = read_words(words)
        if read is None:
            return None
        name, told = read
        found = find(name)
        from kvconform_adapter.any_derived import derived_subject  # noqa: PLC0415
        from kvconform_adapter.any_subject import AnySubject  # noqa: PLC0415

        return derived_subject(found, told) or AnySubject(found, told)
    except RequestError as error:
        return Unusable(str(error))
