"""What all stand-alone programs have in common: why the case is wrong, and how a difference is printed."""

from __future__ import annotations

import json
from textwrap import wrap

from kvconform_adapter.request import Op, ScriptRequest

WIDTH = 110

FOLDERS: dict[str, str] = {}
"""What a program puts in front of its path before it imports a module: those of classes of the user's own."""


def plain_text(text: str) -> str:
    """A text that can stand in a docstring."""
    return " ".join(text.split()).replace("\\", "/").replace('"', "'")


def words(op: Op) -> str:
    """An op as the docstring and the output of the program name it."""
    name, argument = op
    if name == "append":
        return f"append {argument} token{'' if argument == 1 else 's'}"
    if name == "record":
        return "start recording" if argument else "stop recording"
    return f"{name}({'' if argument is None else json.dumps(argument)})"


def paragraph(text: str) -> str:
    """A text in lines of a docstring."""
    return "\n".join(wrap(plain_text(text), WIDTH))


def why(request: ScriptRequest) -> str:
    """On what it rests that the op should have done something else; a paragraph of the docstring, or nothing."""
    if not request.source:
        return ""
    told = {"documented": "Documented", "inferred": "Not documented, argued from"}.get(request.basis, "From")
    return f"\n{paragraph(f'{told}: {request.source}')}\n"


COMPARE = '''\
def compare(what, expected, saw):
    """Print one comparison and remember a difference."""
    print(f"{what}: expected {expected}, saw {saw}{'' if expected == saw else '   <-- differs'}")
    if expected != saw:
        faults.append(what)
'''
