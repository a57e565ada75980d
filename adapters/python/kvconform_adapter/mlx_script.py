"""Writes a case as a program that needs only mlx-lm and mlx."""

from __future__ import annotations

from kvconform_adapter.request import RequestError, ScriptRequest


def write_script(request: ScriptRequest, version: str) -> str:
    """The program for one case: exits 1 when the fault shows, 0 when it does not."""
    raise RequestError(f"{request.variant} {version}")
