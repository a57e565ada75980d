"""The value formula: a few golden values by hand, then all against a second writing of the formula."""

from __future__ import annotations

import pytest

from adapter_process import Adapter, formula, heads_tensor, level

GOLDEN = [
    # salt, token, row, head, eight channels
    (0, 0, 0, 0, [1, 6, 4, 2, 7, 5, 3, 1]),
    (0, 1, 0, 0, [2, 6, 4, 2, 7, 5, 3, 1]),
    (0, 117648, 6, 6, [7, 5, 3, 1, 6, 4, 2, 7]),
    (1, 8, 2, 1, [5, 3, 7, 5, 3, 1, 1, 5]),
    (2, 50, 1, 0, [1, 5, 4, 1, 6, 4, 3, 7]),
]


@pytest.mark.parametrize(("salt", "token", "row", "head", "values"), GOLDEN)
def test_golden(salt: int, token: int, row: int, head: int, values: list[int]) -> None:
    assert [formula(salt, token, row, head, channel) for channel in range(8)] == values


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("layout", ["contiguous", "strided"])
def test_keys_and_values(adapter: Adapter, dtype: str, layout: str) -> None:
    params = {"batch": 3, "heads": 2, "key_dim": 9, "value_dim": 17, "dtype": dtype, "layout": layout, "watch": 1}
    ((first, second),) = adapter.run("DynamicLayer", params, [["append", 3], ["append", 1]])
    for tokens, step in ((range(3), first), (range(4), second)):
        rows = [[(token, row) for token in tokens] for row in range(3)]
        assert step.dtypes["keys"] == dtype
        assert step.values("keys") == heads_tensor(0, rows, 2, 9)
        assert step.values("values") == heads_tensor(1, rows, 2, 17)
        assert step.data["returned.keys"] == step.data["keys"]
    assert second.values("input.0.keys") == heads_tensor(
        0, [[(token, row) for token in range(3)] for row in range(3)], 2, 9
    )
    assert second.values("input.1.values") == heads_tensor(1, [[(3, row)] for row in range(3)], 2, 17)
    assert second.shapes["earlier.0.keys"] == [3, 2, 3, 9]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("layout", ["contiguous", "strided"])
def test_two_levels(adapter: Adapter, dtype: str, layout: str) -> None:
    sizes = {"batch": 3, "heads": 2, "key_dim": 33, "value_dim": 64}
    params = {**sizes, "dtype": dtype, "layout": layout, "values": "two_levels"}
    ((step,),) = adapter.run("DynamicLayer", params, [["append", 300]])
    cells = [(row, head, token) for row in range(3) for head in range(2) for token in range(300)]
    for name, salt, channels in (("keys", 0, 33), ("values", 1, 64)):
        wanted = [level(salt, token, row, head, at) for row, head, token in cells for at in range(channels)]
        assert step.values(name) == wanted


@pytest.mark.parametrize("variant", ["QuantoQuantizedLayer", "HQQQuantizedLayer", "Fp8QuantizedLayer"])
def test_quantised_layers_give_back_two_levels(adapter: Adapter, variant: str) -> None:
    if variant not in adapter.hello["variants"]:
        assert variant in adapter.hello.get("unavailable", {}) or adapter.hello["version"] < "5.22"
        pytest.skip(f"{variant} is not there")
    params = {"batch": 2, "key_dim": 32, "value_dim": 64, "residual": 2, "values": "two_levels"}
    ((*_, last),) = adapter.run(variant, params, [["append", 3], *[["append", 1]] * 20])
    for name in ("keys", "returned.keys"):
        wanted = [level(0, token, row, 0, at) for row in range(2) for token in range(23) for at in range(32)]
        assert last.values(name) == pytest.approx(wanted, abs=0.02)
    if variant != "Fp8QuantizedLayer":
        assert last.shapes["residual_keys"] in ([0], [2, 1, 1, 32], [2, 1, 2, 32])


def test_numbers_take_the_place_of_the_count(adapter: Adapter) -> None:
    sequence = [["append", 2], ["append", 1]]
    (plain, given) = adapter.run("DynamicLayer", {"value_dim": 8}, sequence, sequence, numbers=[None, [117648, 5, 5]])
    assert plain[1].values("keys") == heads_tensor(0, [[(0, 0), (1, 0), (2, 0)]], 1, 8)
    assert given[1].values("keys") == heads_tensor(0, [[(117648, 0), (5, 0), (5, 0)]], 1, 8)


def test_tokens_beyond_one_block(adapter: Adapter) -> None:
    ((*_, last),) = adapter.run("DynamicLayer", {}, [["append", 250], ["append", 5], ["append", 3], ["append", 1000]])
    assert last.values("keys") == heads_tensor(0, [[(token, 0) for token in range(1258)]], 1, 8)


def test_rows_move_and_new_tokens_take_the_new_rows(adapter: Adapter) -> None:
    ops = [["append", 1], ["reorder", [2, 0, 1]], ["append", 1], ["select", [1, 2]], ["repeat", 2], ["append", 1]]
    ((*_, last),) = adapter.run("DynamicLayer", {"batch": 3, "heads": 2, "value_dim": 8}, ops)
    rows = [[(0, 0), (1, 1), (2, 0)], [(0, 0), (1, 1), (2, 1)], [(0, 1), (1, 2), (2, 2)], [(0, 1), (1, 2), (2, 3)]]
    assert last.values("keys") == heads_tensor(0, rows, 2, 8)


def test_states_are_folds(adapter: Adapter) -> None:
    params = {"batch": 2, "heads": 1, "key_dim": 3, "value_dim": 4, "channels": 8, "kernel": 3}
    ((first, second, third),) = adapter.run(
        "LinearAttentionLayer", params, [["append", 2], ["append", 1], ["reorder", [1, 0]]]
    )
    fold = 0
    for token in range(3):
        fold = (31 * fold + token + 1) % 117649
    state = [[float(formula(5, fold, row, 0, channel)) for channel in range(12)] for row in range(2)]
    assert second.values("recurrent_states.0") == state[0] + state[1]
    assert third.values("recurrent_states.0") == state[1] + state[0]
    # A convolution state that is not full yet has zeros on its left.
    column = [[formula(3, token, 0, 0, channel) for token in range(2)] for channel in range(8)]
    assert first.shapes["conv_states.0"] == [2, 8, 3]
    assert first.values("conv_states.0")[:24] == [float(value) for row in column for value in (0, *row)]


def test_position_ids(adapter: Adapter, version: tuple[int, ...]) -> None:
    params = {"batch": 2, "index_dim": 8, "parts": "attention+index+positions"}
    if version < (5, 21):
        message = {"request": "run", "variant": "DynamicIndexedLayer", "params": params, "sequences": [[]]}
        assert "indexer_position_ids" in adapter.ask(message)["error"]
        return
    ((_, step),) = adapter.run("DynamicIndexedLayer", params, [["append", 2], ["append", 1]])
    assert step.shapes["indexer_position_ids"] == [2, 2, 3]
    wanted = [64 * token + 8 * row + plane for plane in range(2) for row in range(2) for token in range(3)]
    assert step.values("indexer_position_ids") == wanted


def test_an_input_that_a_cache_writes_to_is_made_anew(adapter: Adapter) -> None:
    # Some versions zero on reset what they were given; the next sequence must not see that.
    sequence = [["append", 2], ["reset"], ["append", 1]]
    for variant in ("MiniMaxM3VLSparseCacheLayer", "DynamicLayer"):
        if variant in adapter.hello["variants"]:
            for steps in adapter.run(variant, {"watch": 1}, *[sequence] * 3):
                assert steps[0].values("input.0.keys") == heads_tensor(0, [[(0, 0), (1, 0)]], 1, 8)
                assert steps[2].values("input.1.keys") == heads_tensor(0, [[(2, 0)]], 1, 8)
                name = "input.0.idx_keys"
                if name in steps[0].shapes:
                    assert steps[0].values(name) == heads_tensor(2, [[(0, 0), (1, 0)]], 1, 8)
