"""Every variant with a few sequences in every calling style: the adapter must answer, whatever the cache does."""

from __future__ import annotations

from typing import Any

import pytest

from adapter_process import Adapter, heads_tensor

VARIANTS = [
    "DynamicLayer", "DynamicSlidingWindowLayer", "DynamicIndexedLayer", "StaticLayer", "StaticSlidingWindowLayer",
    "StaticIndexedLayer", "LinearAttentionLayer", "LinearAttentionAndFullAttentionLayer",
    "LinearAttentionAndSlidingWindowAttentionLayer", "LinearAttentionAndStaticFullAttentionLayer",
    "LinearAttentionAndStaticSlidingWindowAttentionLayer", "MiniMaxM3VLSparseCacheLayer",
    "MiniMaxM3VLSparseStaticCacheLayer", "MiniMaxCache", "DynamicCache", "DeepseekV4HCACache", "DeepseekV4CSACache",
    "DummyLayer", "UnlimitedOcrDynamicReferenceSlidingWindowLayer", "UnlimitedOcrStaticReferenceSlidingWindowLayer",
    "QuantoQuantizedLayer", "HQQQuantizedLayer", "Fp8QuantizedLayer", "QuantizedCache", "QuantizedCache-hqq",
    "QuantizedCache-fp8",
]  # fmt: skip
QUANTISED_LAYERS = {
    "QuantizedCache": "QuantoQuantizedLayer",
    "QuantizedCache-hqq": "HQQQuantizedLayer",
    "QuantizedCache-fp8": "Fp8QuantizedLayer",
}
CALLS = ["position", "keyword", "deprecated", "container", "container_keyword", "container_deprecated", "inference"]
SEQUENCES: list[list[list[Any]]] = [
    [["append", 3], ["crop", -1], ["crop", -5], ["append", 1], ["crop", 0], ["crop", 2]],
    [["crop", -1], ["crop", 0], ["reset"], ["append", 0], ["append", 2], ["reset"], ["append", 1]],
    [["record", 1], ["append", 6], ["crop", -2], ["append", 1], ["record", 0], ["append", 1], ["crop", -1]],
    [["initialize"], ["append", 2], ["copy"], ["append", 1], ["offload"], ["prefetch"], ["pickle"], ["append", 1]],
    [["append", 2], ["reorder", [1, 0]], ["append", 1], ["select", [1]], ["append", 1], ["repeat", 3], ["append", 9]],
]
PARAMS: dict[str, Any] = {"batch": 2, "heads": 2, "key_dim": 8, "value_dim": 9, "window": 4, "capacity": 6, "kernel": 3}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("call", CALLS)
def test_every_op_is_answered(adapter: Adapter, variant: str, call: str) -> None:
    if variant not in adapter.hello["variants"]:
        pytest.skip(f"transformers {adapter.hello['version']} has no {variant}")
    params = {**PARAMS, "call": call}
    layers = 1
    if variant == "DynamicCache":
        last = "LinearAttentionLayer" if "LinearAttentionLayer" in adapter.hello["variants"] else "DynamicLayer"
        params["layers"] = f"DynamicLayer+DynamicSlidingWindowLayer+{last}"
        layers = 3
    if variant.startswith("Static") and adapter.hello["version"].startswith("4."):
        # Buffers had one number of channels for both.
        params["value_dim"] = params["key_dim"]
    if variant.startswith("QuantizedCache"):
        params["layers"] = "+".join([QUANTISED_LAYERS[variant]] * 2)
        layers = 2
    if "Quantized" in variant:
        params |= {"key_dim": 32, "value_dim": 64, "values": "two_levels"}
    for more in ({}, {"watch": 1, "dtype": "bfloat16", "layout": "strided"}):
        for ops, steps in zip(SEQUENCES, adapter.run(variant, {**params, **more}, *SEQUENCES), strict=True):
            tokens = 0
            for op, step in zip(ops, steps, strict=True):
                assert len(step.lengths) == layers
                # Only a container announces the position of the next token.
                assert len(step.positions) <= layers
                assert all(place in step.lengths for place in step.positions)
                assert len(step.masks) == (layers if op[0] == "append" else 0)
                assert (step.error is not None) == (step.outcome == 1)
                if op[0] != "crop":
                    assert step.claim is None
                named = ("layer", "input.", "earlier.", "original.")
                assert layers == 1 or all(name.startswith(named) for name in step.shapes)
                tokens += op[1] if op[0] == "append" else 0
            # The first append of a fresh cache works in every variant and style.
            if ops[0][0] == "append":
                assert steps[0].outcome == (1 if variant == "DummyLayer" else 0)


@pytest.mark.parametrize("variant", ["DynamicLayer", "StaticLayer", "LinearAttentionLayer", "MiniMaxCache"])
def test_the_original_of_a_copy_is_shown(adapter: Adapter, variant: str) -> None:
    ops = [["append", 2], ["copy"], ["append", 1], ["pickle"], ["reset"], ["copy"]]
    steps = adapter.run(variant, {"batch": 2, "watch": 1}, ops)[0]
    assert all(step.outcome == 0 for step in steps)
    for held, copied, *later in (steps[:5], steps[4:]):
        assert not [name for name in held.data if name.startswith("original.") and held is steps[0]]
        stored = [name for name in copied.data if not name.startswith(("original.", "input.", "earlier."))]
        for name in stored:
            assert copied.data[f"original.{name}"] == copied.data[name] == held.data[name]
            assert all(step.data[f"original.{name}"] == held.data[name] for step in later)
        lengths = [-1 if length is None else length for length in copied.lengths]
        assert copied.values("original.length") == lengths


def test_early_initialisation_makes_static_buffers(adapter: Adapter) -> None:
    for call, dims in (("position", 9), ("keyword", 9), ("container", 8), ("container_keyword", 8), ("container", 9)):
        params = {"batch": 2, "heads": 2, "value_dim": dims, "capacity": 6, "dtype": "float16", "call": call}
        fresh, used = adapter.run("StaticLayer", params, [["initialize"], ["append", 2]])[0]
        assert fresh.outcome == used.outcome == 0
        assert fresh.lengths == [0]
        assert fresh.shapes["keys"] == used.shapes["keys"] == [2, 2, 6, 8]
        assert fresh.shapes["values"] == used.shapes["values"] == [2, 2, 6, dims]
        assert fresh.dtypes["keys"] == fresh.dtypes["values"] == "float16"
        assert fresh.addresses["keys"] == used.addresses["keys"]


def test_all_calling_styles_show_the_same(adapter: Adapter, version: tuple[int, ...]) -> None:
    ops = [
        ["append", 3],
        ["crop", -1],
        ["reorder", [1, 0]],
        ["append", 2],
        ["repeat", 2],
        ["select", [3, 0]],
        ["reset"],
    ]
    for variant in ("DynamicLayer", "DynamicIndexedLayer", "MiniMaxM3VLSparseCacheLayer"):
        if variant not in adapter.hello["variants"]:
            continue
        wanted = None
        for call in CALLS:
            if call.endswith("deprecated") and version >= (5, 15):
                continue
            (steps,) = adapter.run(variant, {**PARAMS, "call": call}, ops)
            seen = [(step.outcome, step.lengths, step.masks, step.data) for step in steps]
            wanted = wanted or seen
            assert seen == wanted, call


def test_refusals_carry_their_error_and_go_on(adapter: Adapter) -> None:
    ((_, refused, after),) = adapter.run(
        "DynamicSlidingWindowLayer", {"window": 4}, [["append", 6], ["crop", -1], ["append", 1]]
    )
    assert refused.outcome == 1
    assert refused.error is not None
    assert refused.error[0] in ("RuntimeError", "ValueError")
    assert 0 < len(refused.error[1]) <= 300
    assert refused.lengths == [6]
    assert after.outcome == 0
    assert after.lengths == [7]


def test_a_step_shows_what_was_announced_before(adapter: Adapter) -> None:
    ((first, second),) = adapter.run("DynamicSlidingWindowLayer", {"window": 4}, [["append", 6], ["append", 2]])
    assert first.masks == [[6, 0]]
    assert second.masks == [[5, 3]]
    assert second.shapes["returned.keys"] == [1, 1, 5, 8]
    assert second.values("keys") == heads_tensor(0, [[(5, 0), (6, 0), (7, 0)]], 1, 8)


def test_static_buffers_show_addresses_and_counters(adapter: Adapter) -> None:
    ((first, second),) = adapter.run("StaticLayer", {"capacity": 4}, [["append", 2], ["append", 1]])
    assert first.shapes["keys"] == [1, 1, 4, 8]
    assert first.values("cumulative_length") == [2]
    assert first.dtypes["cumulative_length"] == "int64"
    assert first.addresses["keys"] == second.addresses["keys"] != 0
    assert second.lengths == [3]


def test_claims(adapter: Adapter, version: tuple[int, ...]) -> None:
    ((_, crop),) = adapter.run("DynamicLayer", {}, [["append", 2], ["crop", -1]])
    assert crop.claim == (1 if version >= (5, 17) else None)


def test_layers_have_names_of_their_own(adapter: Adapter) -> None:
    params = {"window": 3, "layers": "DynamicLayer+DynamicSlidingWindowLayer", "watch": 1}
    ((step, _),) = adapter.run("DynamicCache", params, [["append", 4], ["append", 1]])
    assert step.lengths == [4, 4]
    assert step.shapes["layer0.keys"] == [1, 1, 4, 8]
    assert step.shapes["layer1.keys"] == [1, 1, 2, 8]
    assert step.shapes["layer1.returned.keys"] == [1, 1, 4, 8]
    assert step.shapes["input.0.layer1.keys"] == [1, 1, 4, 8]
    assert step.shapes["earlier.0.layer0.values"] == [1, 1, 4, 8]


def test_blocks_are_compressed_as_the_model_does(adapter: Adapter) -> None:
    params = {"window": 3, "block": 2, "batch": 2, "watch": 1}
    ((first, second),) = adapter.run("DeepseekV4CSACache", params, [["append", 1], ["append", 3]])
    assert first.shapes["buffer_kv.compressor"] == [2, 1, 16]
    assert first.values("entry_count.indexer") == [0]
    assert "overlap_kv.compressor" not in first.shapes
    assert second.shapes["returned.buffer_gate.indexer"] == [2, 4, 16]
    assert second.shapes["overlap_gate.indexer"] == [2, 2, 8]
    assert "returned.overlap_kv.compressor" not in second.shapes
    assert second.values("entry_count.compressor") == [2]
    assert second.values("returned.entry_count.compressor") == [0]
    # The entries are those of the folds 31 * 1 + 2 and 31 * 3 + 4.
    entries = heads_tensor(3, [[(33, row), (97, row)] for row in range(2)], 1, 8)
    assert second.values("compressed_kv.compressor") == entries
    assert second.shapes["input.1.buffer_kv.compressor"] == [2, 3, 16]


def test_a_placeholder_takes_nothing(adapter: Adapter) -> None:
    if "DummyLayer" not in adapter.hello["variants"]:
        pytest.skip(f"transformers {adapter.hello['version']} has no DummyLayer")
    ((refused, crop, reset),) = adapter.run("DummyLayer", {}, [["append", 1], ["crop", 3], ["reset"]])
    assert refused.error is not None
    assert refused.error[0] == "NotImplementedError"
    assert (crop.outcome, crop.claim, reset.outcome) == (0, 1, 0)
    assert crop.lengths == [None]
    assert crop.shapes == {}


def test_a_prefix_is_declared_as_generate_does(adapter: Adapter) -> None:
    variant = "UnlimitedOcrDynamicReferenceSlidingWindowLayer"
    if variant not in adapter.hello["variants"]:
        pytest.skip(f"transformers {adapter.hello['version']} has no {variant}")
    ops = [["append", 1], ["append", 5], ["append", 1], ["reset"], ["append", 4]]
    for keep, held in ((0, [0, 4, 5]), (3, [0, 1, 2, 4, 5])):
        ((_, second, third, _, after),) = adapter.run(variant, {"window": 3, "keep": keep}, ops)
        assert second.values("keys") == heads_tensor(0, [[(token, 0) for token in held]], 1, 8)
        assert third.masks == [[len(held) + 1, 4 - max(keep, 1)]]
        assert third.shapes["returned.keys"] == [1, 1, len(held) + 1, 8]
        assert after.shapes["keys"] == [1, 1, 4, 8]


def test_a_prefix_and_its_window_are_one_buffer(adapter: Adapter) -> None:
    variant = "UnlimitedOcrStaticReferenceSlidingWindowLayer"
    if variant not in adapter.hello["variants"]:
        pytest.skip(f"transformers {adapter.hello['version']} has no {variant}")
    ((first, second),) = adapter.run(variant, {"window": 2, "capacity": 8}, [["append", 3], ["append", 3]])
    assert first.shapes["keys"] == first.shapes["returned.keys"] == [1, 1, 5, 8]
    assert second.values("keys") == heads_tensor(0, [[(token, 0) for token in (0, 1, 2, 4, 5)]], 1, 8)
    assert first.addresses["keys"] == second.addresses["keys"] != 0
    assert second.values("prefill_length") == [3]


@pytest.mark.parametrize("variant", QUANTISED_LAYERS)
def test_a_container_quantises_as_its_layers_do(adapter: Adapter, variant: str) -> None:
    layer = QUANTISED_LAYERS[variant]
    if variant not in adapter.hello["variants"]:
        # Both are missing, for the same reason, or this version has neither.
        missing = adapter.hello.get("unavailable", {})
        assert layer not in adapter.hello["variants"]
        assert missing.get(variant) == missing.get(layer)
        pytest.skip(f"transformers {adapter.hello['version']} has no {variant} here")
    params = {**PARAMS, "key_dim": 32, "value_dim": 64, "values": "two_levels", "residual": 3}
    params["parts"] = "attention" if layer == "Fp8QuantizedLayer" else "attention+nbits2+group32"
    ops = [["append", 1], ["append", 2], ["reorder", [1, 0]], ["append", 1], ["append", 3]]
    (alone,) = adapter.run(layer, params, ops)
    (steps,) = adapter.run(variant, {**params, "layers": f"{layer}+{layer}"}, ops)
    for step, one in zip(steps, alone, strict=True):
        assert step.outcome == one.outcome == 0
        assert step.lengths == one.lengths * 2
        assert step.data == {f"layer{place}.{name}": data for place in range(2) for name, data in one.data.items()}
        twice = {f"layer{place}.{name}": dtype for place in range(2) for name, dtype in one.dtypes.items()}
        assert step.dtypes == twice
