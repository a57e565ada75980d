"""cache_bugs.py PYTHON [--of-class] [NUMBER...]: does the gate see a bug that is put into transformers 5.24.0?

PYTHON is an interpreter that has that version. Each bug is one change of a module in a copy of the package; the gate
must fail with the class that has it, one of the laws that it can be said to break, and a case of few ops, within a
minute on two processors, and it must pass on an unchanged copy (number 0). `--of-class` runs the gate on the class
alone, and not on everything. The baseline is that of BASELINE; KVCONFORM names the program. One line for each, with
the seconds that passed, which are not judged, and those of processors.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from cache_bug_list import BUGS, Bug

TREE = Path(__file__).resolve().parents[2]
BASELINE = TREE / "tests" / "long" / "transformers-5.24.json"
PROGRAM = os.environ.get("KVCONFORM", "kvconform")
OPS_MAX = 5
BUDGET = "4000"
"""Twice that of a job on a busy day: some bugs need four ops and three rows."""
PROCESSOR_SECONDS_MAX = 120
"""A minute on two processors, which a machine that has more to do does not give."""


def changed(text: str, bug: Bug) -> str:
    """The module with the bug. What it changes must stand there once."""
    head = re.search(rf"\nclass {bug.place}\b", text)
    assert head, f"there is no class {bug.place}"
    start = head.start()
    end = text.find("\nclass ", start + 1)
    body = text[start:end]
    assert body.count(bug.old) == 1, f"{bug.place}: {body.count(bug.old)} times: {bug.old}"
    return text[:start] + body.replace(bug.old, bug.new) + text[end:]


def copied(package: Path, folder: Path) -> Path:
    """A copy of a package whose files are links, so that one of them can be another."""
    return Path(
        shutil.copytree(package, folder / package.name, copy_function=os.symlink, ignore=lambda *_: ["__pycache__"])
    )


def processor_seconds() -> float:
    """What processes that have ended took, and those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class Done:
    """A gate that has ended: exit status, output, seconds that passed and seconds of processors."""

    status: int
    output: str
    seconds: float
    processor: float


def gate(python: str, folder: Path, target: str) -> Done:
    """Run the gate on the package in `folder`."""
    start, used = time.monotonic(), processor_seconds()
    done = subprocess.run(
        [PROGRAM, "gate", target, "--python", python, "--baseline", str(BASELINE), "--budget", BUDGET],
        env=os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout or done.stderr, time.monotonic() - start, processor_seconds() - used)


def told(output: str) -> list[tuple[str, str, int]]:
    """What is new: class, law and number of ops of the case."""
    found = re.findall(
        r"^new: .*\n  in:   transformers:([\w-]+).*\n  case: (.*)\n  id:   ([A-Z]+)-", output, re.MULTILINE
    )
    return [(name, law, len(re.sub(r"\[[^]]*\]", "[]", case).split(", "))) for name, case, law in found]


def judge(bug: Bug | None, done: Done) -> bool:
    """Whether the gate did as it must."""
    if bug is None:
        return done.status == 0
    named = [
        law
        for name, law, ops in told(done.output)
        if name == bug.shown and law in bug.laws.split() and ops <= OPS_MAX
    ]
    return done.status == 1 and bool(named) and done.processor <= PROCESSOR_SECONDS_MAX


def main() -> int:
    """Returns 0 when every bug was named and the unchanged package passed."""
    words = sys.argv[1:]
    of_class = "--of-class" in words
    words = [word for word in words if word != "--of-class"]
    python, chosen = words[0], [int(word) for word in words[1:]] or range(len(BUGS) + 1)
    where = "import transformers; print(transformers.__path__[0])"
    package = Path(subprocess.run([python, "-c", where], stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
    missed = 0
    with tempfile.TemporaryDirectory() as temporary:
        copy = copied(package, Path(temporary))
        for number in chosen:
            bug = BUGS[number - 1] if number > 0 else None
            module = (bug or BUGS[0]).file
            text = (package / module).read_text(encoding="utf-8")
            (copy / module).unlink()
            (copy / module).write_text(changed(text, bug) if bug else text, encoding="utf-8")
            target = f"transformers:{bug.shown if bug else 'Dynamic*'}" if of_class else "transformers"
            done = gate(python, Path(temporary), target)
            (copy / module).unlink()
            (copy / module).symlink_to(package / module)
            good = judge(bug, done)
            missed += not good
            laws = " ".join(sorted({f"{law} of {name}" for name, law, _ in told(done.output)}))
            what = f"{bug.place}: {(bug.new.strip() or 'nothing').splitlines()[-1][:60]}" if bug else "unchanged"
            print(
                f"{'ok' if good else 'MISSED'} {number} {what}: {laws or done.output.splitlines()[0]}"
                f" ({done.seconds:.0f} s, {done.processor:.0f} s of processors)",
                flush=True,
            )
            if not good:
                print(done.output)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
