"""The same property as a Hypothesis state machine: DynamicLayer against a log of tokens, with all its laws.

Takes the number of examples and prints `{"ops": ..., "seconds": ...}`. It is written to be quick: expected tensors are
cut from a table, compared with `torch.equal`, and nothing is drawn that is not used.
"""

from __future__ import annotations

import copy
import io
import json
import sys
import time
import warnings
from typing import Any

import torch
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from transformers.cache_utils import Cache, DynamicLayer

from hypothesis_settings import settings_for

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
STYLES = ("position", "keyword", "container", "container_keyword")
TOKENS = 512
ROWS = 8


def make_table(salt: int, heads: int, channels: int) -> torch.Tensor:
    """[token, row, head, channel]: each element says which token, row and head it belongs to."""
    token = torch.arange(TOKENS).view(-1, 1, 1, 1)
    row = torch.arange(ROWS).view(1, -1, 1, 1)
    head = torch.arange(heads).view(1, 1, -1, 1)
    parts = [token % 7, token // 7 % 7, token // 49 % 7, token // 343 % 7, row % 7, head % 7]
    columns = [parts[channel % 6].expand(TOKENS, ROWS, heads, 1) + 0 * row + 0 * head for channel in range(channels)]
    return 1 + (torch.cat(columns, dim=-1) + 3 * salt) % 7


TABLES = {
    (salt, heads, channels): make_table(salt, heads, channels)
    for salt in (0, 1)
    for heads in (1, 2)
    for channels in (8, 9, 10, 11)
}


class DynamicLayerMachine(RuleBasedStateMachine):
    """`log` holds the tokens in the cache: number, and for each row the row into which it was appended."""

    ops = 0

    @initialize(
        batch=st.integers(1, 3),
        heads=st.integers(1, 2),
        key_dim=st.integers(8, 9),
        value_dim=st.integers(8, 11),
        dtype=st.sampled_from(DTYPES),
        style=st.sampled_from(STYLES),
        strided=st.booleans(),
        watch=st.sampled_from((False, False, False, True)),
    )
    def start(
        self,
        batch: int,
        heads: int,
        key_dim: int,
        value_dim: int,
        dtype: torch.dtype,
        style: str,
        strided: bool,
        watch: bool,
    ) -> None:
        """A new cache. `watch`: inputs and returned tensors are compared with what they were."""
        self.layer = DynamicLayer()
        self.through = style.startswith("container")
        self.cache: Any = Cache(layers=[self.layer]) if self.through else self.layer
        self.keyword = style.endswith("keyword")
        self.strided = strided
        self.watch = watch
        self.tables = (TABLES[0, heads, key_dim].to(dtype), TABLES[1, heads, value_dim].to(dtype))
        self.batch = self.rows = batch
        self.next = 0
        self.used = False
        self.bare = False
        self.log: list[tuple[int, list[int]]] = []
        self.watched: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.original: tuple[Any, list[torch.Tensor | None], int] | None = None
        self.dims = (heads, key_dim, value_dim)

    def expected(self, table: torch.Tensor, log: list[tuple[int, list[int]]]) -> torch.Tensor:
        """[row, head, token, channel] for these tokens."""
        numbers = torch.tensor([number for number, _ in log], dtype=torch.int64).view(-1, 1)
        origins = torch.tensor([origin for _, origin in log], dtype=torch.int64).view(len(log), self.rows)
        return table[numbers, origins].permute(1, 2, 0, 3)

    def check(self) -> None:
        """All laws on what is stored and said."""
        type(self).ops += 1
        length = self.cache.get_seq_length(0) if self.through else self.cache.get_seq_length()
        assert length == len(self.log)
        for name, table in zip(("keys", "values"), self.tables, strict=True):
            tensor = getattr(self.layer, name)
            if not self.log:
                assert tensor is None or tensor.numel() == 0
                continue
            wanted = self.expected(table, self.log)
            assert tensor.dtype == table.dtype
            assert torch.equal(tensor, wanted)
        for tensor, before in self.watched:
            assert torch.equal(tensor, before)
        if self.original is not None:
            cache, held, length = self.original
            layer = cache.layers[0] if self.through else cache
            assert layer.get_seq_length() == length
            for tensor, before in zip((layer.keys, layer.values), held, strict=True):
                assert before is None or torch.equal(tensor, before)

    @rule(count=st.integers(1, 8))
    def append(self, count: int) -> None:
        """update, with the mask sizes before it."""
        if self.next + count > TOKENS:
            return
        new = [(self.next + at, list(range(self.rows))) for at in range(count)]
        inputs = [self.expected(table, new) for table in self.tables]
        if not self.strided:
            inputs = [tensor.contiguous() for tensor in inputs]
        place = (0,) if self.through else ()
        words = {"layer_idx": 0} if self.through else {}
        if self.keyword:
            mask = self.cache.get_mask_sizes(query_length=count, **words)
            returned = self.cache.update(key_states=inputs[0], value_states=inputs[1], **words)
        else:
            mask = self.cache.get_mask_sizes(count, *place)
            returned = self.cache.update(*inputs, *place)
        self.next += count
        self.used = True
        self.bare = False
        self.log += new
        assert mask == (len(self.log), 0)
        for tensor, table in zip(returned, self.tables, strict=True):
            assert torch.equal(tensor, self.expected(table, self.log))
        if self.watch:
            self.watched += [(tensor, tensor.clone()) for tensor in (*inputs, *returned)]
        self.check()

    # A cache that was initialised early and never used cannot be cropped: a fault that is known.
    @precondition(lambda self: not self.bare)
    @rule(data=st.data())
    def crop(self, data: st.DataObject) -> None:
        """crop by nothing, by some, by all, by more, and with a positive number."""
        held = len(self.log)
        count = data.draw(st.sampled_from((0, -1, -held, -held - 1, 1)) | st.integers(-held - 4, held + 1))
        try:
            if self.keyword:
                self.cache.crop(tokens_to_remove=count)
            else:
                self.cache.crop(count)
        except (ValueError, RuntimeError):
            assert count > 0
        else:
            assert count <= 0
            self.log = self.log[: max(0, held + count)]
        self.check()

    @rule()
    def reset(self) -> None:
        """reset."""
        self.cache.reset()
        self.log = []
        self.check()

    def move(self, rows: list[int]) -> None:
        """Row i of the log becomes what row rows[i] was."""
        self.log = [(number, [origin[row] for row in rows]) for number, origin in self.log]
        self.rows = len(rows)
        self.check()

    @precondition(lambda self: not self.bare)
    @rule(data=st.data())
    def reorder(self, data: st.DataObject) -> None:
        """reorder_cache."""
        rows = data.draw(st.lists(st.integers(0, self.rows - 1), min_size=self.rows, max_size=self.rows))
        self.cache.reorder_cache(torch.tensor(rows))
        self.move(rows)

    # An empty cache that was used keeps its rows: a fault that is known, which would end every example that meets it.
    @precondition(lambda self: self.log or not self.used)
    @rule(data=st.data())
    def select(self, data: st.DataObject) -> None:
        """batch_select_indices."""
        rows = data.draw(st.lists(st.integers(0, self.rows - 1), min_size=1, max_size=self.rows))
        self.cache.batch_select_indices(torch.tensor(rows))
        self.move(rows)

    @precondition(lambda self: self.log or not self.used)
    @rule(times=st.integers(1, 3))
    def repeat(self, times: int) -> None:
        """batch_repeat_interleave."""
        if self.rows * times > ROWS:
            return
        self.cache.batch_repeat_interleave(times)
        self.move([row for row in range(self.rows) for _ in range(times)])

    @rule()
    def offload(self) -> None:
        """offload, where there are tensors; prefetch follows in a rule of its own."""
        if self.used:
            self.cache.offload(0, False) if self.through else self.cache.offload()
        self.check()

    @rule()
    def prefetch(self) -> None:
        """prefetch."""
        if self.used:
            self.layer.prefetch()
        self.check()

    @precondition(lambda self: not self.used)
    @rule()
    def initialize_early(self) -> None:
        """lazy_initialization with states of no tokens."""
        heads, key_dim, value_dim = self.dims
        shapes = ((self.rows, heads, 0, key_dim), (self.rows, heads, 0, value_dim))
        states = [torch.zeros(shape, dtype=self.tables[0].dtype) for shape in shapes]
        self.layer.lazy_initialization(*states)
        self.used = self.bare = True
        self.check()

    def go_on_with(self, cache: Any) -> None:
        """Another cache takes the place of this one."""
        self.cache = cache
        self.layer = cache.layers[0] if self.through else cache

    @rule()
    def copy(self) -> None:
        """deepcopy: the original stays and is compared from then on."""
        held = [None if tensor is None else tensor.clone() for tensor in (self.layer.keys, self.layer.values)]
        self.original = (self.cache, held, len(self.log))
        self.go_on_with(copy.deepcopy(self.cache))
        self.check()

    @rule()
    def save_and_load(self) -> None:
        """torch.save and torch.load."""
        saved = io.BytesIO()
        torch.save(self.cache, saved)
        saved.seek(0)
        self.go_on_with(torch.load(saved, weights_only=False))
        self.check()


def run(examples: int) -> None:
    """Runs this many examples."""
    run_state_machine_as_test(
        DynamicLayerMachine,
        settings=settings_for(examples, derandomize=True, phases=(Phase.generate,)),
    )


def main() -> int:
    """Runs a few examples unmeasured, then those asked for."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    run(10)
    DynamicLayerMachine.ops = 0
    start, processor = time.perf_counter(), time.process_time()
    run(int(sys.argv[1]))
    taken, used = time.perf_counter() - start, time.process_time() - processor
    print(json.dumps({"ops": DynamicLayerMachine.ops, "seconds": taken, "processor_seconds": used}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
