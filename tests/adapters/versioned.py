"""A subject that is called transformers and has the version that it is started with: versioned.py VERSION [WHAT].

WHAT: `broken`, its crop removes one token too few; `gone`, it cannot be imported; `history`, what the module `history`
says, which stands in the place of a checkout. Every start is written down in the file `started`.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the folder of a script is not searched in an adapter
import full_attention


class Broken(full_attention.Cache):
    """Removes one token too few."""

    def crop(self, count: int) -> None:
        super().crop(min(0, count + 1))


class Adapter(full_attention.Adapter):
    """The adapter of full attention under another name."""

    def hello(self) -> dict[str, object]:
        return {**super().hello(), "subject": "transformers", "version": sys.argv[1]}


def is_broken(what: str) -> bool:
    """Whether this version is."""
    if what == "history":
        import history  # type: ignore[import-not-found]  # noqa: PLC0415

        return bool(history.BROKEN)
    return what == "broken"


if __name__ == "__main__":
    with open("started", "a", encoding="utf-8") as file:
        file.write(f"{sys.argv[1]}\n")
    what = sys.argv[2] if len(sys.argv) > 2 else ""
    if what == "gone":
        sys.exit("this version cannot be imported")
    if is_broken(what):
        full_attention.Cache = Broken  # type: ignore[misc]
    Adapter().serve()
