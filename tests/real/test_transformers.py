"""Real caches of transformers under the built program: what is known to be wrong is found, what is intended is not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from program import HERE, LONG, NO_PYTHON, PROGRAM, PYTHON, TOP, VERSIONS, corpus, interpreter, outcomes, plain, run

BUDGET = ["--budget", "10000"]
SEPARATE = 10 if LONG else 6
"""Stand-alone programs that are started as a user starts them, each in an interpreter of its own."""

pytestmark = pytest.mark.skipif(not PYTHON, reason=NO_PYTHON)

PACKAGES = {
    "QuantoQuantizedLayer": "optimum.quanto",
    "QuantizedCache": "optimum.quanto",
    "HQQQuantizedLayer": "hqq",
    "QuantizedCache-hqq": "hqq",
}
"""What some variants cannot be run without."""

Finding = dict[str, Any]


def weight(op: list[Any]) -> int:
    """What an op adds to the size of a case."""
    return abs(op[1]) if len(op) > 1 and isinstance(op[1], int) else 1


def size(ops: list[list[Any]]) -> tuple[int, int]:
    """Number of ops, then the sum of their numbers."""
    return len(ops), sum(map(weight, ops))


def target(version: str) -> list[str]:
    """The words of the command line that choose a version."""
    return [f"transformers@{version}"] if LONG else ["transformers", "--python", PYTHON]


@pytest.fixture(scope="session", params=VERSIONS)
def result(request: pytest.FixtureRequest) -> Any:
    """The result of one version."""
    version: str = request.param
    status, text = run("run", *target(version), *BUDGET, "--json", "-", "--quiet")
    document = json.loads(text)
    assert status == 1
    assert document["finished"]
    return version, document


def findings(document: Any, variant: str) -> list[Finding]:
    """All findings of a variant."""
    return [found for entry in document["runs"] if entry["variant"] == variant for found in entry["findings"]]


def expected(case: Any, version: str) -> str | None:
    """What a case must show: one word for all versions, or one for each that it names."""
    expect = case["expect"]
    found: str | None = expect if isinstance(expect, str) else expect.get(version)
    return found


def not_run(document: Any) -> set[str]:
    """Variants whose packages are missing."""
    return {entry["variant"] for entry in document["runs"] if entry["status"] == "not run"}


def missing_packages(version: str) -> set[str]:
    """Those of `PACKAGES` that the interpreter of a version does not have; nothing is imported that takes long."""
    ask = (
        "import importlib.util as u, sys\n"
        "for name in sys.argv[1:]:\n"
        "    if not u.find_spec(name.split('.')[0]) or not u.find_spec(name): print(name)"
    )
    words = [interpreter(version), "-c", ask, *sorted(set(PACKAGES.values()))]
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


def test_everything_ran(result: Any) -> None:
    version, document = result
    assert {entry["version"] for entry in document["runs"]} == {version}
    ran = ("findings", "conforms", "absent")
    # Where a package is missing those that need it are not run; what has its package must run.
    missing = missing_packages(version)
    assert [name for name in not_run(document) if PACKAGES.get(name) not in missing] == []
    assert [entry for entry in document["runs"] if entry["status"] not in (*ran, "not run")] == []


def linked_copy(folder: Path) -> None:
    """transformers once more, in a folder where files may be added or replaced."""
    ask = "import importlib.util as u; print(u.find_spec('transformers').origin)"
    found = subprocess.run([PYTHON, "-c", ask], capture_output=True, text=True, check=True)
    shutil.copytree(Path(found.stdout.strip()).parent, folder / "transformers", copy_function=os.symlink)


def test_a_flag_that_a_reset_forgets_is_seen_at_once(tmp_path: Path) -> None:
    """A reset of EncoderDecoderCache without its last lines: the flags stay, and no model would fill it again."""
    linked_copy(tmp_path)
    file = tmp_path / "transformers" / "cache_utils.py"
    text = file.read_text()
    line = "            self.is_updated[layer_idx] = False\n"
    assert text.count(line) == 1
    file.unlink()
    file.write_text(text.replace(line, "            pass\n"))
    words = ["run", "transformers:EncoderDecoderCache", "--python", PYTHON, "--budget", "500", "--json", "-", "--quiet"]
    status, output = run(*words, PYTHONPATH=str(tmp_path))
    assert status == 1
    found = findings(json.loads(output), "EncoderDecoderCache")
    assert [["append", 1], ["reset"]] in [entry["case"]["ops"] for entry in found if entry["law"] == "RESET"]
    assert any("is_updated" in entry["script"] for entry in found if entry["law"] == "RESET")


@pytest.mark.parametrize(
    ("variant", "law", "line", "changed"),
    [
        # A placeholder announces no mask of its own.
        (
            "DynamicCache-gemma4",
            "MASK",
            "kv_length = self.get_seq_length() + query_length\n",
            "kv_length = max(self.get_seq_length(), query_length)\n",
        ),
        # The prefix and the window cannot be joined to be shown.
        (
            "UnlimitedOcrDynamicReferenceSlidingWindowLayer",
            "SAVE",
            'self.values = self.values.to("cpu", non_blocking=True)\n',
            'self.values = self.keys.to("cpu", non_blocking=True)\n',
        ),
    ],
)
def test_what_cannot_be_shown_whole_is_found(tmp_path: Path, variant: str, law: str, line: str, changed: str) -> None:
    """Bugs of one line whose traces have other shapes than a cache should have."""
    linked_copy(tmp_path)
    file = tmp_path / "transformers" / "cache_utils.py"
    text = file.read_text()
    assert text.count(line) == 1
    file.unlink()
    file.write_text(text.replace(line, changed))
    words = ["run", f"transformers:{variant}", "--python", PYTHON, "--budget", "1000", "--json", "-", "--quiet"]
    status, output = run(*words, PYTHONPATH=str(tmp_path))
    assert status == 1
    laws = [found["law"] for found in findings(json.loads(output), variant)]
    assert law in laws and "ALIVE" not in laws


def test_a_new_class_cannot_go_unseen(tmp_path: Path) -> None:
    """transformers as it is, with one more model whose cache nobody has written a spec for."""
    linked_copy(tmp_path)
    model = tmp_path / "transformers" / "models" / "brandnew"
    model.mkdir()
    (model / "modeling_brandnew.py").write_text("class BrandNewState(DynamicLayer):\n    pass\n")
    result = tmp_path / "result.json"
    words = ["run", "transformers:BrandNew*", "--python", PYTHON, "--jobs", "1", "--json", str(result)]
    environment = dict(os.environ, KVCONFORM_DATA=str(TOP), PYTHONPATH=str(tmp_path))
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 3, done.stderr
    assert "BrandNewState" in done.stdout and "not covered" in done.stdout
    (entry,) = json.loads(result.read_text())["runs"]
    assert (entry["variant"], entry["status"]) == ("BrandNewState", "not covered")


def test_known_faults_are_found(result: Any) -> None:
    version, document = result
    missing = []
    for name, case in corpus().items():
        law = expected(case, version)
        if law in (None, "conforms", "absent", "impossible") or case["variant"] in not_run(document):
            continue
        good = [
            found
            for found in findings(document, case["variant"])
            if law in [found["law"], *found["also"]]
            and found["case"]["ops"][found["step"]][0] == case["ops"][-1][0]
            and size(found["case"]["ops"]) <= size(case["ops"])
        ]
        if not good:
            missing.append(name)
    assert missing == []


def test_the_corpus_shows_what_it_must(result: Any) -> None:
    version, document = result
    words = ["--target", f"transformers@{version}"] if LONG else ["--python", PYTHON]
    possible = {name: case for name, case in corpus().items() if case["variant"] not in not_run(document)}
    status, text = run("replay", *(str(TOP / "cases" / "transformers" / name) for name in possible), *words)
    assert status == 0, text
    speaking = [case for case in possible.values() if expected(case, version) is not None]
    assert text.endswith(f"{len(speaking)} as expected, 0 not as expected\n"), text


def test_what_is_intended_is_not_reported(result: Any) -> None:
    version, document = result
    wrong = []
    for intended in json.loads((HERE / "intended.json").read_text()):
        if version in intended["versions"]:
            wrong += [
                found["title"]
                for found in findings(document, intended["variant"])
                if found["case"]["ops"][found["step"]][0] == intended["op"]
                and found["case"]["params"]["call"] in intended["calls"]
                and not any(op[0] in intended.get("without", []) for op in found["case"]["ops"])
            ]
    assert wrong == []


def test_findings_are_whole(result: Any) -> None:
    _, document = result
    for entry in document["runs"]:
        for found in entry.get("findings", []):
            assert not found["flaky"], found["title"]
            assert found["script"], found["title"]
            assert found["source"], found["title"]
            assert found["basis"] in ("documented", "inferred")


def wrong(status: int, printed: str) -> bool:
    """Whether a stand-alone program did not do what it is for: say that the fault shows."""
    return status != 1 or "Traceback" in printed or "THE FAULT SHOWS" not in printed


def test_scripts_show_the_fault(result: Any, tmp_path: Path) -> None:
    version, document = result
    found = [finding for entry in document["runs"] for finding in entry.get("findings", [])]
    scripts = {finding["id"]: finding["script"] for finding in found}
    assert len(scripts) == len(found)
    silent = []
    for name in list(scripts)[:: max(1, len(scripts) // SEPARATE)]:
        (tmp_path / "script.py").write_text(scripts[name])
        words = [interpreter(version), "script.py"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=plain(), check=False)
        if wrong(done.returncode, done.stdout + done.stderr):
            silent.append((name, done.returncode, done.stderr[-300:]))
    if LONG:
        for name, (status, printed) in outcomes(version, scripts, tmp_path / "scripts").items():
            if wrong(status, printed):
                silent.append((name, status, printed[-300:]))
    assert silent == []


@pytest.mark.parametrize(
    "variant",
    ["DynamicLayer", "DynamicSlidingWindowLayer", "DynamicIndexedLayer", "LinearAttentionLayer", "StaticLayer"],
)
def test_assisted_decoding_is_clean_where_it_works(variant: str) -> None:
    words = ["run", f"transformers:{variant}", "--python", PYTHON, "--profile", "assisted", "--quiet"]
    status, _ = run(*words, "--budget", "10000" if LONG else "1000")
    assert status == 0
