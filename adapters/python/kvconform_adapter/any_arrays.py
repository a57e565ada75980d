"""The array libraries that a class may be written with, as far as needed here: torch, numpy, mlx, plain lists.

Each is imported only when a class uses it. Types have the protocol's names.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from ctypes import c_char
from typing import Any, ClassVar

Array = Any
"""An array of whichever library is in use."""
Shape = tuple[int, ...]

GARBAGE = 9
"""Stands between the elements of an input that is not contiguous; no value of the formula is as large."""


class Library(ABC):
    """One library. `dtypes`: its floating types by the protocol's names."""

    name: ClassVar[str]
    dtypes: dict[str, Any]

    @abstractmethod
    def make(self, numbers: list[int], shape: Shape, dtype: str) -> Array:
        """An array of its own."""

    @abstractmethod
    def indices(self, rows: Sequence[int]) -> Array:
        """Numbers of rows, as such a class takes them."""

    @abstractmethod
    def is_array(self, held: Any) -> bool:
        """Whether this is an array of the library."""

    @abstractmethod
    def shape(self, array: Array) -> Shape:
        """Its sizes. Raises ValueError for lists that are none of one shape."""

    @abstractmethod
    def word(self, array: Array) -> str:
        """The name of its type."""

    @abstractmethod
    def data(self, array: Array) -> bytes:
        """Its elements, row-major, little-endian. Raises TypeError where they are no numbers."""

    @abstractmethod
    def copy(self, array: Array) -> Array:
        """Another array that shares nothing with it."""

    @abstractmethod
    def turn(self, array: Array, order: Sequence[int], shape: Shape) -> Array:
        """The same elements with their axes in this order, and then with this shape; a copy where it must be."""

    def apart(self, array: Array) -> Array:
        """The same elements in an array that is not contiguous, where the library has such."""
        return self.copy(array)


class Packed(Library):
    """One whose arrays know their shape, and lie in memory as they like. `package` is what is imported."""

    package: Any

    def shape(self, array: Array) -> Shape:
        return tuple(array.shape)

    def apart(self, array: Array) -> Array:
        larger = self.package.full((*array.shape, 2), GARBAGE, dtype=array.dtype)
        larger[..., 0] = array
        return larger[..., 0]


class Numpy(Packed):
    """numpy, which has no bfloat16."""

    name = "numpy"

    def __init__(self) -> None:
        import numpy  # noqa: PLC0415

        self.package = numpy
        self.dtypes = {"float32": numpy.float32, "float16": numpy.float16, "float64": numpy.float64}

    def make(self, numbers: list[int], shape: Shape, dtype: str) -> Array:
        return self.package.array(numbers, dtype=self.dtypes[dtype]).reshape(shape)

    def indices(self, rows: Sequence[int]) -> Array:
        return self.package.array(rows, dtype=self.package.int64)

    def is_array(self, held: Any) -> bool:
        return isinstance(held, self.package.ndarray)

    def word(self, array: Array) -> str:
        return str(array.dtype.name)

    def data(self, array: Array) -> bytes:
        return bytes(array.tobytes())

    def copy(self, array: Array) -> Array:
        return array.copy()

    def turn(self, array: Array, order: Sequence[int], shape: Shape) -> Array:
        return array.transpose(order).reshape(shape)


class Torch(Packed):
    """torch on the processor."""

    name = "torch"

    def __init__(self) -> None:
        import torch  # noqa: PLC0415

        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        self.package = torch
        self.dtypes = {word: getattr(torch, word) for word in ("float32", "float16", "bfloat16", "float64")}

    def make(self, numbers: list[int], shape: Shape, dtype: str) -> Array:
        return self.package.tensor(numbers, dtype=self.dtypes[dtype]).reshape(shape)

    def indices(self, rows: Sequence[int]) -> Array:
        return self.package.tensor(rows, dtype=self.package.int64)

    def is_array(self, held: Any) -> bool:
        return isinstance(held, self.package.Tensor)

    def word(self, array: Array) -> str:
        return str(array.dtype).removeprefix("torch.")

    def data(self, array: Array) -> bytes:
        plain = array.detach().cpu().contiguous()
        # Several times faster than through numpy, which has no bfloat16.
        return bytes((c_char * plain.nbytes).from_address(plain.data_ptr()).raw) if plain.nbytes else b""

    def copy(self, array: Array) -> Array:
        return array.clone()

    def turn(self, array: Array, order: Sequence[int], shape: Shape) -> Array:
        return array.permute(tuple(order)).reshape(shape)


class Mlx(Packed):
    """mlx on the processor. Its arrays are never written to: what looks like it makes a new one under the old name."""

    name = "mlx"

    def __init__(self) -> None:
        import mlx.core  # noqa: PLC0415

        self.package = mlx.core
        self.package.set_default_device(self.package.cpu)
        self.dtypes = {word: getattr(self.package, word) for word in ("float32", "float16", "bfloat16")}

    def make(self, numbers: list[int], shape: Shape, dtype: str) -> Array:
        return self.package.array(numbers).astype(self.dtypes[dtype]).reshape(shape)

    def indices(self, rows: Sequence[int]) -> Array:
        return self.package.array(list(rows))

    def is_array(self, held: Any) -> bool:
        return isinstance(held, self.package.array)

    def word(self, array: Array) -> str:
        return str(array.dtype).removeprefix("mlx.core.")

    def data(self, array: Array) -> bytes:
        plain = self.package.contiguous(array)
        self.package.eval(plain)
        return bytes(memoryview(plain)) if plain.size else b""

    def copy(self, array: Array) -> Array:
        return self.package.array(array)

    def turn(self, array: Array, order: Sequence[int], shape: Shape) -> Array:
        return array.transpose(*order).reshape(shape)

    def apart(self, array: Array) -> Array:
        return self.copy(array)


class Lists(Library):
    """Plain Python: lists of lists of floats."""

    name = "list"

    def __init__(self) -> None:
        self.dtypes = {"float64": float}

    def make(self, numbers: list[int], shape: Shape, dtype: str) -> Array:
        return self.nest([float(number) for number in numbers], shape)

    def indices(self, rows: Sequence[int]) -> Array:
        return list(rows)

    def is_array(self, held: Any) -> bool:
        return isinstance(held, list | tuple)

    def shape(self, array: Array) -> Shape:
        if not isinstance(array, list | tuple):
            return ()
        inside = {self.shape(entry) for entry in array}
        if len(inside) > 1:
            raise ValueError(f"lists of different sizes stand side by side: {' and '.join(map(str, sorted(inside)))}")
        return (len(array), *inside.pop()) if inside else (0,)

    def word(self, array: Array) -> str:
        return "float64"

    def flat(self, array: Array) -> list[float]:
        """All elements in order."""
        if isinstance(array, list | tuple):
            return [element for entry in array for element in self.flat(entry)]
        return [array]

    def nest(self, flat: list[float], shape: Shape) -> Array:
        """The lists that have these elements in order."""
        if not shape:
            return flat[0]
        step = len(flat) // shape[0] if shape[0] else 0
        return [self.nest(flat[place * step : (place + 1) * step], shape[1:]) for place in range(shape[0])]

    def data(self, array: Array) -> bytes:
        flat = self.flat(array)
        try:
            return struct.pack(f"<{len(flat)}d", *flat)
        except struct.error as error:
            kinds = sorted({type(element).__name__ for element in flat})
            raise TypeError(f"among the elements of a list are some of type {' and '.join(kinds)}") from error

    def copy(self, array: Array) -> Array:
        return [self.copy(entry) for entry in array] if isinstance(array, list | tuple) else array

    def turn(self, array: Array, order: Sequence[int], shape: Shape) -> Array:
        held = self.shape(array)
        if len(held) < len(order):
            # An empty list does not say what lies in it.
            return self.nest([], (0,))
        flat = self.flat(array)
        strides = [1] * len(held)
        for axis in range(len(held) - 2, -1, -1):
            strides[axis] = strides[axis + 1] * held[axis + 1]
        places = [0]
        for axis in order:
            places = [place + strides[axis] * step for place in places for step in range(held[axis])]
        return self.nest([flat[place] for place in places], shape)


LIBRARIES: dict[str, type[Library]] = {library.name: library for library in (Torch, Numpy, Mlx, Lists)}


class Axes:
    """Where a class has rows, heads, tokens and channels; the protocol has them in that order.

    An axis that is left out has one entry.
    """

    ALL = ("batch", "heads", "tokens", "channels")

    def __init__(self, names: Sequence[str], library: Library) -> None:
        self.names = tuple(names)
        self.library = library
        self.plain = self.names == self.ALL
        missing = [axis for axis in self.ALL if axis not in self.names]
        self.order = [self.ALL.index(axis) for axis in (*missing, *self.names)]
        self.missing = len(missing)
        self.back = [self.names.index(axis) for axis in self.ALL if axis in self.names]

    def give(self, array: Array) -> Array:
        """From the protocol's axes to those of the class."""
        if self.plain:
            return array
        shape = self.library.shape(array)
        return self.library.turn(array, self.order, tuple(shape[axis] for axis in self.order[self.missing :]))

    def take(self, array: Array) -> Array:
        """Back again. What has not these axes is left as it is: that is for the harness to judge."""
        shape = self.library.shape(array)
        if self.plain or len(shape) != len(self.names):
            return array
        sizes = [shape[self.names.index(axis)] if axis in self.names else 1 for axis in self.ALL]
        return self.library.turn(array, self.back, tuple(sizes))
