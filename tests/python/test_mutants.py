"""The mistakes that bench/mutants.py makes, on a module of a few lines, and what bench/mutation.py says of them."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

from conftest import TREE

sys.path.insert(0, str(TREE / "bench"))

import mutants
import mutation

SAMPLE = '''\
class Base:
    def crop(self, n: int = 0) -> None:
        """Text with 1 number."""
        if n > 0 and self.keys is not None:
            raise ValueError(f"not {n + 1}")
        if self.held == 3:
            return
        self.keys = self.keys[..., : -abs(n), :]
        self.length -= n
        logger.warning("gone", 1)

    def update(self, k, v):
        first = k.clone()
        out = torch.cat([first, v], dim=-2)
        size = max(len(out), 2)
        return self.store(out, size)


class Heir(Base):
    def reset(self):
        self.values.zero_()


class Last(Heir): ...
'''


def changes(operator: str) -> list[str]:
    """Old and new of all changes of one kind."""
    return [mutant.told() for mutant in mutants.mutants(SAMPLE) if mutant.identifier.split("/")[1] == operator]


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (
            "comparison",
            [
                "n > 0 -> (n >= 0)",
                "self.keys is not None -> (self.keys is None)",
                "self.held == 3 -> (self.held != 3)",
            ],
        ),
        ("condition", ["n > 0 and self.keys is not None -> (not (n > 0 and self.keys is not None))"]),
        ("and-or", ["n > 0 and self.keys is not None -> (n > 0 or self.keys is not None)"]),
        ("constant", ["0 -> (1)", "3 -> (4)", "-2 -> (-3)", "2 -> (3)"]),
        ("sign", ["-abs(n) -> (abs(n))", "-2 -> (2)"]),
        ("arithmetic", ["self.length -= n -> self.length += n"]),
        ("call-away", ["abs(n) -> (n)", "k.clone() -> (k)"]),
        ("function", ["max(len(out), 2) -> (min(len(out), 2))"]),
        ("argument", ["max(len(out), 2) -> (max(2, len(out)))", "self.store(out, size) -> (self.store(size, out))"]),
        ("dimension", ["self.keys[..., : -abs(n), :] -> (self.keys[..., :, :-abs(n)])"]),
        ("tensor", ["self.keys -> (self.values)", "self.keys -> (self.values)", "self.values -> (self.keys)"]),
    ],
)
def test_operators(operator: str, expected: list[str]) -> None:
    """Each mistake where it applies, and no other: not in texts, warnings or error messages."""
    assert changes(operator) == expected


def test_statements() -> None:
    """Left out is what a method can do without: not the first value of a name, nor what it returns."""
    assert changes("statement") == [
        'raise ValueError(f"not {n + 1}") -> pass',
        "return -> pass",
        "self.keys = self.keys[..., : -abs(n), :] -> pass",
        "self.length -= n -> pass",
        "self.values.zero_() -> pass",
    ]


def test_mutants_are_programs() -> None:
    """Each can be read, differs from the module and from all others, keeps its lines and has a name of its own."""
    found = mutants.mutants(SAMPLE)
    texts = {ast.dump(ast.parse(mutant.apply(SAMPLE))) for mutant in found}
    assert len({mutant.identifier for mutant in found}) == len(found)
    assert len(texts) > len(found) - 2
    assert ast.dump(ast.parse(SAMPLE)) not in texts
    assert all(mutant.apply(SAMPLE).count("\n") == SAMPLE.count("\n") for mutant in found)


def test_heirs() -> None:
    """A change of a class is one of all that inherit from it."""
    assert mutants.heirs(SAMPLE, "Base") == ["Base", "Heir", "Last"]
    assert mutants.heirs(SAMPLE, "Last") == ["Last"]


def test_a_column_counts_bytes() -> None:
    """A letter of two bytes before the change does not move it."""
    text = 'class A:\n    def reset(self):\n        self.name("é", self.length < 1)\n'
    changed = [mutant.apply(text) for mutant in mutants.mutants(text) if "/comparison/" in mutant.identifier]
    assert changed == [text.replace("self.length < 1", "(self.length <= 1)")]


def test_what_the_gate_says() -> None:
    """The first thing that it has against a mutant."""
    said = "FAILED: 1 new\nnew: A: crop is wrong\n  in:   s:A\n  case: crop 1\n  id:   KEYS-1\n1 entry\n"
    assert mutation.seen(said) == "new KEYS-1: A: crop is wrong"
    assert mutation.seen("NOT RUN: x\n\nnot run: the adapter ended\n") == "not run: the adapter ended"


def test_survivors_have_reasons(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A name before a pattern; without either it is unexplained; what is no verdict is refused."""
    known = {"A.*": {"verdict": "open", "reason": "all"}, "A.crop/sign/1": {"verdict": "equivalent", "reason": "one"}}
    assert mutation.reason_of("A.crop/sign/1", known)["reason"] == "one"
    assert mutation.reason_of("A.crop/sign/2", known)["reason"] == "all"
    assert mutation.reason_of("B.crop/sign/2", known)["verdict"] == "unexplained"
    assert all(entry["reason"] for entry in mutation.reasons().values())
    wrong = tmp_path / "survivors.json"
    wrong.write_text(json.dumps({"A": {"verdict": "fine", "reason": "x"}}), encoding="utf-8")
    monkeypatch.setattr(mutation, "SURVIVORS", wrong)
    with pytest.raises(SystemExit, match="one of equivalent, not observable, open"):
        mutation.reasons()
