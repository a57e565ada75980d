"""Whole models of transformers: those known to be right are clean, and what is wrong shows without kvconform."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from program import LONG, NO_PYTHON, PROGRAM, PYTHON, TOP, plain, run

RIGHT = ("llama", "gpt2", "mixtral", *(("qwen2", "t5", "bart") if LONG else ()))
RIGHT_WHILE_RECORDING = ("gemma3_text", "mistral", *(("gpt_oss",) if LONG else ()))

pytestmark = pytest.mark.skipif(not PYTHON, reason=NO_PYTHON)


def run_models(*words: str) -> dict[str, Any]:
    """The run of each model, by its variant."""
    _, text = run("run", *words, "--python", PYTHON, "--json", "-", "--quiet")
    return {entry["variant"]: entry for entry in json.loads(text)["runs"]}


def test_models_that_are_right_are_clean() -> None:
    budget = "10000" if LONG else "3000"
    runs = run_models(*(f"transformers:model/{name}" for name in RIGHT), "--budget", budget)
    assert {name: [finding["title"] for finding in entry["findings"]] for name, entry in runs.items()} == {
        f"model/{name}": [] for name in RIGHT
    }
    assert all(entry["status"] == "conforms" and entry["kind"] == "model" for entry in runs.values())
    assert all(entry["sequences"] == int(budget) // 10 for entry in runs.values())


def test_windows_that_record_are_clean_as_assisted_decoding_calls_them() -> None:
    targets = [f"transformers:model/{name}" for name in RIGHT_WHILE_RECORDING]
    runs = run_models(*targets, "--profile", "assisted", "--budget", "2000")
    assert {name: [finding["title"] for finding in entry["findings"]] for name, entry in runs.items()} == {
        f"model/{name}": [] for name in RIGHT_WHILE_RECORDING
    }
    for entry in runs.values():
        crops = [
            row["count"] for row in entry["coverage"] if row["op"] == "crop" and "asked for some" in row["situation"]
        ]
        assert sum(crops) > 100, "drafts were taken back"
        assert "DynamicSlidingWindowLayer" in entry["layers"]


def test_caches_of_other_kinds_and_what_is_said_with_drafts() -> None:
    """A static cache, one that quantises, and `generate` with drafts."""
    runs = run_models("transformers:model-*/llama", "--budget", "800")
    assert set(runs) == {"model-static/llama", "model-quantised/llama", "model-generate/llama"}
    if "optimum-quanto" in runs["model-quantised/llama"]["reason"]:
        assert runs.pop("model-quantised/llama")["status"] == "not run"
    sequences = {"model-static/llama": 40, "model-quantised/llama": 20, "model-generate/llama": 8}
    for name, entry in runs.items():
        assert entry["sequences"] == sequences[name]
        done = sum(row["count"] - row["refused"] for row in entry["coverage"] if row["op"] == "append")
        assert done >= sequences[name] // 2, "words were read"
        # The model is right; a crop of an empty static layer makes its length -1, and that is told as the layer's.
        layer = {"StaticLayer"} if name == "model-static/llama" else set()
        for finding in entry["findings"]:
            assert layer, finding["title"]
            assert {link["variant"] for link in finding["model"]["links"]} == layer
        assert entry["status"] == ("findings" if layer else "conforms")


def test_what_cannot_be_made_is_not_covered_and_nothing_that_the_others_are_blamed_for() -> None:
    status, text = run(
        "run",
        "transformers:model/blt",
        "transformers:model/gpt2",
        "--python",
        PYTHON,
        "--json",
        "-",
        "--quiet",
        "--budget",
        "100",
    )
    runs = {entry["variant"]: entry for entry in json.loads(text)["runs"]}
    assert {name: entry["status"] for name, entry in runs.items()} == {
        "model/blt": "not covered",
        "model/gpt2": "conforms",
    }
    assert "cannot be made small enough" in runs["model/blt"]["reason"]
    assert status == 0


def test_what_a_model_predicts_after_a_wrong_crop(tmp_path: Path) -> None:
    """Nothing is raised, and the model goes on with other words than with a fresh cache, as its layer alone shows."""
    report = tmp_path / "report"
    name = "model/olmo_hybrid"
    runs = run_models(f"transformers:{name}", "--profile", "assisted", "--budget", "1000", "--report", str(report))
    silent = [finding for finding in runs[name]["findings"] if finding["law"] == "RESUME"]
    assert silent
    for finding in silent:
        assert finding["severity"] == "silent"
        told = finding["model"]
        assert (told["cache"], told["layers"]) == ("DynamicCache", ["LinearAttentionLayer", "DynamicLayer"])
        assert (told["promised"], told["generate"]) == (False, True)
        assert [(link["variant"], link["law"]) for link in told["links"]] == [("LinearAttentionLayer", "REFUSE")]
        assert finding["observed"]["difference"] > 0.001
        script = report / "cases" / f"{finding['id']}.py"
        done = subprocess.run([PYTHON, str(script)], capture_output=True, text=True, env=plain(), check=False)
        assert done.returncode == 1, done.stdout + done.stderr
        shown = re.search(r"largest difference [^:]*: (\S+) of the largest logit", done.stdout)
        assert shown
        assert float(shown[1]) == pytest.approx(finding["observed"]["difference"], rel=0.01)
        status, text = run("replay", str(script.with_suffix(".json")), "--python", PYTHON)
        assert status == 1, text


def test_a_crop_that_spoils_the_mask_is_found_and_shows_alone(tmp_path: Path) -> None:
    """More is removed than there is while a window records: the next words find masks of another size."""
    case = {
        "schema": "kvconform-case/1",
        "subject": "transformers",
        "variant": "model/gemma3_text",
        "title": "crop(-5) on 4 tokens while recording",
        "source": "a test",
        "params": {"batch": 1, "channels": 64, "window": 4, "dtype": "float64", "parts": "eager+dynamic"},
        "ops": [["record", 1], ["append", 4], ["crop", -5], ["append", 3]],
    }
    file = tmp_path / "case.json"
    file.write_text(json.dumps(case))
    status, text = run("replay", str(file), "--python", PYTHON)
    assert status == 1, text
    assert "REFUSE" in text or "raises" in text


def test_the_corpus_of_models_shows_what_it_must() -> None:
    """One that is wrong however it is called, three that follow from a layer, one whose reset forgets a part."""
    folder = TOP / "cases" / "transformers" / "models"
    status, text = run("replay", str(folder), "--python", PYTHON)
    assert status == 0, text
    assert text.endswith(f"{len(list(folder.glob('*.json')))} as expected, 0 not as expected\n"), text


@pytest.mark.skipif(not LONG, reason="explores two layers too: set KVCONFORM_LONG to 1")
@pytest.mark.parametrize(
    ("name", "layer", "ops"),
    [
        ("falcon_mamba", "LinearAttentionLayer", ["record", "crop"]),
        ("gemma3_text", "DynamicSlidingWindowLayer", ["record", "crop"]),
    ],
)
def test_a_fault_of_a_layer_reaches_models(name: str, layer: str, ops: list[str]) -> None:
    """The model's finding names the fault by the id that the layer's own run gives it."""
    runs = run_models(f"transformers:{layer}", f"transformers:model/{name}")
    own = {finding["id"] for finding in runs[layer]["findings"]}
    linked = [
        finding
        for finding in runs[f"model/{name}"]["findings"]
        if {op[0] for op in finding["case"]["ops"]} >= set(ops)
        and any(link["variant"] == layer and link["id"] in own for link in finding["model"]["links"])
    ]
    assert linked


def test_models_are_no_part_of_what_is_said_of_all_classes() -> None:
    words = [PROGRAM, "smoke", "transformers", "--python", PYTHON]
    environment = dict(os.environ, KVCONFORM_DATA=str(TOP), NO_COLOR="1")
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert "DynamicLayer: answers a batch of sequences" in done.stdout, done.stderr
    assert "model" not in done.stdout
