"""The adapter full_attention.py, with words of the subject that would act on a terminal or name another folder.

    hostile_names.py subject|version|variants|folder|environment|refusal|adapter

says which words are so; `folder`: its variant has the name of another folder; `adapter`: it answers no batch, and says
why.
"""

from __future__ import annotations

import sys
from typing import Any

import full_attention

HOSTILE = "\x1b]0;title\x07\x1b[31mred \u202e\u2066 \u009b31m\r\n../../escape"
FIELD = sys.argv[1]


class Refusing(full_attention.Cache):
    """Refuses each crop."""

    def perform(self, op: list[Any], numbers: list[int] | None) -> list[full_attention.Tensor]:
        if op[0] == "crop" and FIELD == "refusal":
            raise ValueError(HOSTILE)
        return super().perform(op, numbers)


class Hostile(full_attention.Adapter):
    """Says it."""

    def hello(self) -> dict[str, Any]:
        reply = super().hello()
        spoiled = {"subject": HOSTILE, "version": HOSTILE, "variants": [HOSTILE], "environment": {HOSTILE: HOSTILE}}
        if FIELD == "folder":
            return reply | {"variants": ["../../escape"]}
        return reply | {name: words for name, words in spoiled.items() if name == FIELD}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"error": HOSTILE} if FIELD == "adapter" else super().run(request)


if __name__ == "__main__":
    full_attention.Cache = Refusing  # type: ignore[misc]
    Hostile().serve()
