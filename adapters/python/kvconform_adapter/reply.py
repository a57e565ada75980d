"""What a reply to `run` is made of: descriptions of tensors, errors, raw bytes (docs/protocol.md).

This is the inner loop of every run, so it avoids work: text is made once and found again, bytes are read in place, and
a tensor that is watched is sent again only when its bytes are others than before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from ctypes import c_char
from operator import methodcaller
from typing import Any, Generic, TypeVar

from kvconform_adapter.request import RequestError

ERROR_TEXT_MAX = 300
TABLE_MAX = 1 << 14
"""Descriptions kept from one reply to the next before all are sent anew."""
PACKED_MAX = 1 << 14
"""Longest copy of a tensor that is kept, in bytes."""
WORDS = ("float32", "float16", "bfloat16", "float64", "int64")

Read = Callable[[int], Any]
"""From the address of a tensor to its bytes, in the attribute `raw`. Several times faster than string_at and numpy."""
Shown = tuple[str, Read]
"""The index of a description, and how to read the bytes of such a tensor when it is contiguous."""

address_of = methodcaller("data_ptr")


def version_of(tensor: Any) -> int:
    """How often it was written to. What was made in inference mode does not count that: its bytes must say it."""
    return 0 if tensor.is_inference() else int(tensor._version)


class Descriptions:
    """The descriptions (name, dtype, shape) that the replies of this process have sent so far."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.sent = 0

    def fields(self) -> str:
        """The fields `known` and `tensors` of a reply."""
        return f'"known":{self.sent},"tensors":[{",".join(self.texts[self.sent :])}]'

    def describe(self, name: str, word: str, shape: Iterable[int]) -> str:
        """The index of a description that is not known yet."""
        # Names are made of letters, digits, dots and underscores, and need no quoting.
        self.texts.append(f'["{name}","{word}",[{",".join(map(str, shape))}]]')
        return str(len(self.texts) - 1)

    def tidy(self) -> None:
        """Between two replies: begin anew when there is too much."""
        if len(self.texts) > TABLE_MAX:
            self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.texts.clear()
        self.sent = 0


Described = TypeVar("Described", bound=Descriptions)


class Table(Descriptions):
    """Those of torch tensors, and how their bytes are read."""

    def __init__(self) -> None:
        super().__init__()
        self.definitions: dict[Any, Shown] = {}
        self.same: dict[tuple[str, str, int], str] = {}
        self.readers: dict[int, Read] = {}
        self.packed: dict[Any, tuple[Any, Any]] = {}
        self.words: dict[Any, str] = {}

    def forget(self) -> None:
        """Begin anew."""
        super().forget()
        for kept in (self.definitions, self.same, self.readers, self.packed):
            kept.clear()

    def define(self, key: Any, tensor: Any) -> Shown:
        """The index of a description that is not known yet."""
        name, dtype, shape = key
        if not tensor.is_cpu:
            raise RequestError(f"{name} is a tensor on {tensor.device}, which the protocol cannot carry")
        word = self.words.get(dtype) or self.name_type(dtype, name)
        shown = self.definitions[key] = (self.describe(name, word, shape), self.reader(tensor.nbytes))
        return shown

    def show(self, name: str, tensor: Any) -> Shown:
        """The index of a description, and how to read the tensor."""
        key = (name, tensor.dtype, tensor.shape)
        return self.definitions.get(key) or self.define(key, tensor)

    def define_same(self, key: tuple[str, str, int], tensor: Any) -> str:
        """An entry of a returned tensor that is the stored one in the entry at `place`."""
        name, _, place = key
        text = self.same[key] = f"[{self.show(name, tensor)[0]},{place}]"
        return text

    def name_type(self, dtype: Any, name: str) -> str:
        """What the protocol calls a type."""
        word = str(dtype).removeprefix("torch.")
        if word not in WORDS:
            raise RequestError(f"{name} is a tensor of type {word}, which the protocol cannot carry")
        self.words[dtype] = word
        return word

    def reader(self, size: int) -> Read:
        """How to read so many bytes."""
        read = self.readers.get(size)
        if read is None:
            read = self.readers[size] = (c_char * size).from_address
        return read

    def pack(self, tensor: Any, read: Read) -> bytes:
        """The bytes of a tensor that is not contiguous. Copying into a tensor that is kept takes half the time."""
        key = (tensor.dtype, tensor.shape)
        found = self.packed.get(key)
        if found is None:
            copy = tensor.contiguous()
            found = (copy, read(copy.data_ptr()))
            if tensor.nbytes <= PACKED_MAX:
                self.packed[key] = found
        else:
            found[0].copy_(tensor)
        data: bytes = found[1].raw
        return data

    def span(self, tensor: Any, read: Read) -> Any:
        """The memory between the first and the last element of a tensor, gaps included; `raw` reads it."""
        if tensor.is_contiguous():
            return read(tensor.data_ptr())
        elements = 1
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
            if size == 0:
                return self.reader(0)(tensor.data_ptr())
            elements += (size - 1) * stride
        return self.reader(elements * tensor.element_size())(tensor.data_ptr())


class Reply(Generic[Described]):
    """What one reply gathers beside the table."""

    def __init__(self, table: Described) -> None:
        self.table = table
        self.errors: dict[tuple[str, str], int] = {}
        self.raw: list[bytes] = []

    def error(self, error: BaseException, observer: str = "") -> int:
        """The index of an error."""
        text = f"{observer}: {error}" if observer else str(error)
        key = (type(error).__name__, text[:ERROR_TEXT_MAX])
        return self.errors.setdefault(key, len(self.errors))

    def body(self, results: list[str]) -> str:
        """The fields of the reply between `id` and `bytes`."""
        return f'{self.table.fields()},"errors":{json.dumps(list(self.errors))},"results":[{",".join(results)}]'


class Watch:
    """Tensors of one sequence that are shown after every op as they are then: its inputs, or what it returned.

    The lists run side by side. Whether anything has changed is found by looking at the bytes themselves; torch's count
    of writes and the address only say that they still lie where they lay.
    """

    __slots__ = ("addresses", "data", "indices", "marks", "names", "reply", "spans", "tensors", "versions")

    def __init__(self, reply: Reply[Table]) -> None:
        self.reply = reply
        self.names: list[str] = []
        self.tensors: list[Any] = []
        # What was shown last, for as many as have been shown:
        self.indices: list[str] = []
        self.addresses: list[int] = []
        self.versions: list[int] = []
        self.spans: list[Any] = []
        self.data: list[bytes] = []
        self.marks: list[str] = []
        """Entries that say: as in the step before."""

    def add(self, pairs: Iterable[tuple[str, Any]]) -> None:
        """Watch more tensors, from the end of this op on."""
        for name, tensor in pairs:
            self.names.append(name)
            self.tensors.append(tensor)

    def entries(self, place: int, places: dict[int, int]) -> list[str]:
        """The entries of one step, the first of which is number `place`. `places`: which tensors it shows already."""
        tensors = self.tensors
        count = len(self.marks)
        old = tensors if len(tensors) == count else tensors[:count]
        if (
            list(map(address_of, old)) == self.addresses
            and list(map(version_of, old)) == self.versions
            and [span.raw for span in self.spans] == self.data
        ):
            found = self.marks.copy()
        else:
            found = [self.look(at, place + at, places) for at in range(count)]
        found += [self.show_first(at, place + at, places) for at in range(count, len(tensors))]
        return found

    def show_first(self, at: int, place: int, places: dict[int, int]) -> str:
        """The entry of a tensor that has not been shown yet."""
        table, tensor = self.reply.table, self.tensors[at]
        index, read = table.show(self.names[at], tensor)
        span = table.span(tensor, read)
        data = span.raw
        self.indices.append(index)
        self.addresses.append(tensor.data_ptr())
        self.versions.append(version_of(tensor))
        self.spans.append(span)
        self.data.append(data)
        self.marks.append(f"[{index},-1]")
        other = places.setdefault(id(tensor), place)
        if other != place:
            return f"[{index},{other}]"
        self.reply.raw.append(data if tensor.is_contiguous() else table.pack(tensor, read))
        return index

    def look(self, at: int, place: int, places: dict[int, int]) -> str:
        """The entry of a tensor of which it is not known whether it has changed."""
        table, tensor = self.reply.table, self.tensors[at]
        index, read = table.show(self.names[at], tensor)
        address, version = tensor.data_ptr(), version_of(tensor)
        if (
            index == self.indices[at]
            and address == self.addresses[at]
            and version == self.versions[at]
            and self.spans[at].raw == self.data[at]
        ):
            return self.marks[at]
        span = table.span(tensor, read)
        data = span.raw
        self.indices[at], self.addresses[at], self.versions[at] = index, address, version
        self.spans[at], self.data[at], self.marks[at] = span, data, f"[{index},-1]"
        other = places.setdefault(id(tensor), place)
        if other != place:
            return f"[{index},{other}]"
        self.reply.raw.append(data if tensor.is_contiguous() else table.pack(tensor, read))
        return index
