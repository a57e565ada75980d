"""A cache while a sequence runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

AnySession = TypeVar("AnySession", bound="CacheSession")


class CacheSession:
    """One cache while a sequence runs. `layers` are what tensors are read from, `target` is what ops are called on.

    `find`: from such a target to its layers. `original`: the cache that was copied last, from then on only looked at.
    """

    __slots__ = ("appends", "find", "folds", "layers", "original", "rows", "start", "target")

    def __init__(self, target: Any, rows: int, find: Callable[[Any], list[Any]]) -> None:
        self.layers = find(target)
        self.find = find
        self.target = target
        self.original: Any = None
        self.rows = rows
        self.folds = [0] * rows
        self.start = 0
        self.appends = 0

    def snapshot(self: AnySession) -> AnySession:
        """The cache as it is, to be looked at later."""
        return type(self)(self.target, self.rows, self.find)

    def go_on_with(self, target: Any) -> None:
        """Take another cache of the same make for this one."""
        self.layers = self.find(target)
        self.target = target
