"""The small correct adapter on a machine that lacks a package: it says which of its variants cannot be run, and why."""

from __future__ import annotations

import sys
from typing import Any

from full_attention import Adapter


class WithoutAPackage(Adapter):
    """Says `unavailable` in its greeting. With the word `nothing` behind its name nothing is left that could be run."""

    def hello(self) -> dict[str, Any]:
        fields = super().hello()
        fields["unavailable"] = {"window": "the package sliding is not installed"}
        if sys.argv[1:] == ["nothing"]:
            fields["variants"] = []
            fields["unavailable"]["full"] = "the package plain is not installed"
        return fields


if __name__ == "__main__":
    WithoutAPackage().serve()
