"""The pytest plugin as docs/ci.md says: in a process of its own, on classes that are right and wrong on purpose."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

TREE = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KVCONFORM", str(TREE / "build" / "bin" / "kvconform"))
CLASSES = '''
from transformers.cache_utils import DynamicLayer

print("what a module prints when it is imported")


class Faithful(DynamicLayer):
    """As its base."""


class Oldest(DynamicLayer):
    """A crop takes the oldest tokens."""

    def crop(self, tokens_to_remove):
        if self.is_initialized and tokens_to_remove < 0:
            self.keys = self.keys[..., -tokens_to_remove:, :]
            self.values = self.values[..., -tokens_to_remove:, :]
        else:
            super().crop(tokens_to_remove)


class Stranger:
    """Derives from nothing that is known."""
'''
UNRELATED = "class Plain:\n    def crop(self):\n        pass\n"
"""A module that imports nothing: what is wrong with a command line is told without a subject."""
TESTS = "def test_of_their_own():\n    pass\n"

pytestmark = pytest.mark.skipif(
    shutil.which(PROGRAM) is None, reason=f"there is no {PROGRAM}: KVCONFORM names the program"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with cache classes and a test of its own."""
    (tmp_path / "caches.py").write_text(CLASSES, encoding="utf-8")
    (tmp_path / "unrelated.py").write_text(UNRELATED, encoding="utf-8")
    (tmp_path / "test_own.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def run(interpreter: str, folder: Path, *words: str, program: str = PROGRAM) -> tuple[int, str, dict[str, str]]:
    """Run pytest with the plugin. Exit status, output, and for each test its outcome with the reason."""
    paths = [TREE / "adapters" / "pytest", folder, Path(pytest.__file__).parents[1]]
    command = [interpreter, "-m", "pytest", "-p", "kvconform_pytest", "-p", "no:cacheprovider", "--junitxml=tests.xml"]
    done = subprocess.run(
        [*command, "--kvconform-budget", "300", *words],
        cwd=folder,
        env=os.environ
        | {
            "KVCONFORM": program,
            "KVCONFORM_DATA": str(TREE),
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    outcomes = {}
    if (folder / "tests.xml").exists():
        for case in ElementTree.parse(folder / "tests.xml").iter("testcase"):
            inner = case.find("*")
            said = "" if inner is None else f" {inner.get('message', '')} {inner.text or ''}"
            outcomes[case.get("name", "")] = ("passed" if inner is None else inner.tag) + said
    return done.returncode, done.stdout, outcomes


def test_laws_are_tests(interpreter: str, folder: Path) -> None:
    """A fault fails its law with the smallest case; what was not judged is skipped and says so."""
    status, output, outcomes = run(interpreter, folder, "--kvconform", "caches:Oldest")
    assert status == 1, output
    assert outcomes.pop("test_of_their_own") == "passed"
    assert {"ALIVE", "HONEST", "KEYS", "STATE", "RESUME"} < set(outcomes)
    assert outcomes["HONEST"].startswith("failure"), output
    assert "append 2, crop -1" in outcomes["HONEST"]
    assert "caches:Oldest as transformers:DynamicLayer" in output
    # The same case breaks a later law too.
    assert outcomes["KEYS"].startswith("failure"), output
    for law in ("ALIVE", "LENGTH", "BATCH"):
        assert outcomes[law] == "passed", output
    assert "skipped" in outcomes["STATE"]
    assert "no states" in outcomes["STATE"]


def test_choice_of_laws(interpreter: str, folder: Path) -> None:
    """A class that is right passes; -k chooses laws as it chooses other tests."""
    words = ["--kvconform", "caches:Faithful", "--kvconform-like", "transformers:DynamicLayer", "-k", "KEYS or HONEST"]
    status, output, outcomes = run(interpreter, folder, *words)
    assert outcomes == {"KEYS": "passed", "HONEST": "passed"}, output
    assert status == 0, output


@pytest.mark.parametrize(
    "like", [[], ["--kvconform-like", "builtin:full"], ["--kvconform-like", "transformers:Nothing"]]
)
def test_unknown_interface(interpreter: str, folder: Path, like: list[str]) -> None:
    """Of a class that is used in a way that nobody said nothing is claimed."""
    status, output, outcomes = run(interpreter, folder, "--kvconform", "caches:Stranger", *like)
    outcomes.pop("test_of_their_own")
    assert status == 0, output
    assert len(outcomes) > 20
    assert all(re.search("^skipped.*(no layer that kvconform knows|is not known)", said) for said in outcomes.values())


def test_not_run_is_no_pass(interpreter: str, folder: Path) -> None:
    """A class that cannot be used as the layer that is named fails."""
    words = ["--kvconform", "caches:Stranger", "--kvconform-like", "transformers:DynamicCache", "-k", "KEYS"]
    status, output, outcomes = run(interpreter, folder, *words)
    assert status == 1, output
    assert "could not be run" in outcomes["KEYS"]


def test_baseline(interpreter: str, folder: Path) -> None:
    """What is accepted is expected to fail; what is not, and what is accepted and gone, fails."""
    like = ["--kvconform-like", "transformers:DynamicLayer", "--kvconform-baseline", "known.json"]
    of_laws = [*like, "-k", "KEYS or HONEST or LENGTH"]
    accept = ["--kvconform-accept", "told upstream"]
    status, output, outcomes = run(interpreter, folder, "--kvconform", "caches:Oldest", *of_laws, *accept)
    assert status == 0, output
    assert outcomes["HONEST"].startswith("skipped"), output
    assert "known: " in outcomes["HONEST"]
    assert "told upstream" in outcomes["HONEST"]
    assert "3 xfailed" in output or "2 xfailed" in output, output
    # Another run takes nothing in, and knows it still.
    before = (folder / "known.json").read_text(encoding="utf-8")
    status, output, outcomes = run(interpreter, folder, "--kvconform", "caches:Oldest", *of_laws)
    assert status == 0, output
    assert (folder / "known.json").read_text(encoding="utf-8") == before
    # It is mended.
    status, output, outcomes = run(interpreter, folder, "--kvconform", "caches:Faithful", *of_laws)
    assert status == 1, output
    assert "fixed or expired" in outcomes["HONEST"]
    assert outcomes["LENGTH"] == "passed", output
    status, output, outcomes = run(interpreter, folder, "--kvconform", "caches:Faithful", *of_laws, *accept)
    assert status == 0, output
    assert outcomes["HONEST"] == "passed"
    # It is there again.
    status, output, outcomes = run(interpreter, folder, "--kvconform", "caches:Oldest", *of_laws)
    assert status == 1, output
    assert "append 2, crop -1" in outcomes["HONEST"]


def test_no_baseline_is_no_pass(interpreter: str, folder: Path) -> None:
    """A baseline that is not there is made by accepting only."""
    words = ["--kvconform", "caches:Faithful", "--kvconform-baseline", "nowhere.json", "-k", "KEYS"]
    status, output, outcomes = run(interpreter, folder, *words)
    assert status == 1, output
    assert "there is no such file" in outcomes["KEYS"]


def test_wrong_command_lines(interpreter: str, folder: Path) -> None:
    """Said in one line."""
    for words, said in (
        (["--kvconform", "unrelated:Nobody"], "expected MODULE:CLASS"),
        (["--kvconform", "nowhere:Nobody"], "expected MODULE:CLASS"),
        (["--kvconform", "unrelated:Plain.crop"], "this is no class"),
        (["--kvconform-baseline", "known.json"], "expected one class"),
        (["--kvconform", "unrelated:Plain", "--kvconform-accept", "x"], "into which file"),
    ):
        status, output, _ = run(interpreter, folder, *words)
        assert status == 4, output
        assert said in output
    status, output, _ = run(interpreter, folder, "--kvconform", "unrelated:Plain", program="no-such-program")
    assert status == 4, output
    assert "put kvconform into PATH" in output
