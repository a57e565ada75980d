"""Replies are written without torch: tensors are played by memory of this program."""

from __future__ import annotations

import ctypes

from kvconform_adapter.reply import TABLE_MAX, Reply, Table, Watch


class Memory:
    """What a reply asks of a tensor, here with one byte in each element."""

    is_cpu = True

    def __init__(self, data: bytes, stride: int = 1) -> None:
        self.buffer = ctypes.create_string_buffer(data, len(data))
        self.steps = stride
        self.dtype = "torch.float16"
        self._version = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis."""
        return (-(-len(self.buffer) // self.steps),)

    @property
    def nbytes(self) -> int:
        """Without gaps."""
        return self.shape[0]

    def stride(self) -> tuple[int, ...]:
        """In elements."""
        return (self.steps,)

    def element_size(self) -> int:
        """In bytes."""
        return 1

    def is_inference(self) -> bool:
        """Writes are counted."""
        return False

    def is_contiguous(self) -> bool:
        """Whether there are no gaps."""
        return self.steps == 1

    def data_ptr(self) -> int:
        """Where it lies."""
        return ctypes.addressof(self.buffer)

    def contiguous(self) -> Memory:
        """A copy without gaps."""
        return Memory(self.buffer.raw[:: self.steps])

    def copy_(self, other: Memory) -> None:
        """Takes over the elements of another one."""
        self.buffer.raw = other.buffer.raw[:: other.steps]


def step(watch: Watch, reply: Reply[Table]) -> tuple[list[str], list[bytes]]:
    """Entries and raw data of one step that shows nothing else."""
    reply.raw.clear()
    return watch.entries(0, {}), list(reply.raw)


def test_what_is_watched_is_sent_when_its_bytes_change() -> None:
    reply = Reply(Table())
    watch = Watch(reply)
    one, other = Memory(b"one"), Memory(b"o-t-h-", 2)
    watch.add([("input.0.keys", one), ("earlier.0.keys", other), ("earlier.1.keys", one)])
    assert step(watch, reply) == (["0", "1", "[2,0]"], [b"one", b"oth"])
    assert step(watch, reply) == (["[0,-1]", "[1,-1]", "[2,-1]"], [])
    # Nobody counts this write.
    one.buffer[0] = b"O"
    assert step(watch, reply) == (["0", "[1,-1]", "[2,0]"], [b"One"])
    assert step(watch, reply) == (["[0,-1]", "[1,-1]", "[2,-1]"], [])
    other.buffer[2] = b"T"
    watch.add([("input.1.keys", Memory(b"new"))])
    assert step(watch, reply) == (["[0,-1]", "1", "[2,-1]", "3"], [b"oTh", b"new"])
    # Another place, another shape, and a write that is counted but changes nothing.
    other.buffer = ctypes.create_string_buffer(b"a-b-", 4)
    one._version = 1
    entries, raw = step(watch, reply)
    assert entries == ["0", "4", "[2,0]", "[3,-1]"]
    assert raw == [b"One", b"ab"]
    assert step(watch, reply) == (["[0,-1]", "[4,-1]", "[2,-1]", "[3,-1]"], [])


def test_a_shape_that_changes_without_a_trace_is_described_anew() -> None:
    reply = Reply(Table())
    watch = Watch(reply)
    one = Memory(b"abcd")
    watch.add([("input.0.keys", one)])
    assert step(watch, reply) == (["0"], [b"abcd"])
    one.steps = 2
    one._version = 1
    assert step(watch, reply) == (["1"], [b"ac"])


def test_the_table_goes_on_until_it_is_too_long() -> None:
    table = Table()
    assert table.show("keys", Memory(b"abc"))[0] == "0"
    assert table.fields() == '"known":0,"tensors":[["keys","float16",[3]]]'
    # That reply was not sent: the next one says it again.
    assert table.fields() == '"known":0,"tensors":[["keys","float16",[3]]]'
    table.sent = len(table.texts)
    assert table.show("keys", Memory(b"xyz"))[0] == "0"
    assert table.show("keys", Memory(b"wxyz"))[0] == "1"
    assert table.fields() == '"known":1,"tensors":[["keys","float16",[4]]]'
    for number in range(TABLE_MAX):
        table.show(f"keys{number}", Memory(b""))
    table.tidy()
    assert table.fields() == '"known":0,"tensors":[]'
    assert table.show("keys", Memory(b"abc"))[0] == "0"
