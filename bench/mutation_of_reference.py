"""How many small mistakes in reference/ the tests see.

    python3 bench/mutation_of_reference.py --build BUILD --work DIR [--every N] [--only reference/judge.c]

Makes one small change of a C file below reference/ at a time, compiles that file, links it before the library of
BUILD, and runs the unit tests, the cases of the built-in caches and the built-in caches themselves until one of them
fails: the mutant is killed. BUILD is a folder in which `make check` was run. DIR keeps what came of each
(mutants.json), so that a run goes on where it was stopped; nothing else is written. Of mistakes that nobody can see
(equivalent ones) it knows nothing: they survive.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SECONDS = 30
"""What a test may take until it counts as one that fails."""
TESTS = (
    "judge",
    "check",
    "model",
    "spec",
    "contract",
    "catalogue",
    "rows",
    "sequences",
    "values",
    "json",
    "predictions",
    "builtin",
)
"""The unit tests of reference/; that of the same name as the changed file comes first."""
PROGRAM = (["replay", "cases/builtin"], ["run", "builtin", "--budget", "400", "--jobs", "1", "-q"])
CHANGES = {
    "comparison": [
        (" < ", " <= "),
        (" <= ", " < "),
        (" > ", " >= "),
        (" >= ", " > "),
        (" == ", " != "),
        (" != ", " == "),
    ],
    "logic": [(" && ", " || "), (" || ", " && "), ("(!", "(")],
    "arithmetic": [(" + ", " - "), (" - ", " + "), (" * ", " + "), (" % ", " / "), ("++)", "--)")],
    "constant": [
        (" 0)", " 1)"),
        (" 1)", " 2)"),
        ("return 0;", "return 1;"),
        ("return 1;", "return 0;"),
        (" = 0;", " = 1;"),
    ],
}
STATEMENT = re.compile(r"^ {4,}[a-z_][\w.>()\[\]-]*( [-+|&]?= .*|\(.*\)|\+\+|--);$")
NOT_CODE = re.compile(r"^\s*(/?\*|//|#|case |default:|static const|typedef|\{\")|^\S.*;$|^[{}]")


@dataclass(frozen=True)
class Mutant:
    """One change of one line."""

    file: str
    line: int
    operator: str
    old: str
    new: str

    def name(self) -> str:
        return f"{self.file}:{self.line}: {self.old.strip()} -> {self.new.strip()}"


def mutants_of_line(line: str) -> Iterator[tuple[str, str]]:
    """Each change of one line, as operator and new line. What stands in quotation marks stays."""
    code = re.sub(r'"(\\.|[^"\\])*"|/\*.*?\*/|//.*', lambda found: "\0" * len(found.group()), line)
    for operator, pairs in CHANGES.items():
        for old, new in pairs:
            start = -1
            while (start := code.find(old, start + 1)) >= 0:
                yield operator, line[:start] + new + line[start + len(old) :]
    if STATEMENT.match(code):
        yield "statement", ";"


def mutants_of(file: str) -> Iterator[Mutant]:
    """All of one file, in the order of its lines; those that would say the same are one."""
    for number, line in enumerate((TOP / file).read_text(encoding="utf-8").splitlines(), 1):
        if NOT_CODE.search(line):
            continue
        made = set()
        for operator, new in mutants_of_line(line):
            if new not in made:
                made.add(new)
                yield Mutant(file, number, operator, line, new)


class Bench:
    """A built tree, and the folder in which mutants are made."""

    def __init__(self, build: Path, work: Path) -> None:
        self.build, self.work = build, work
        packages = ["libcjson", "criterion"]
        asked = ["pkg-config", *packages]
        self.flags = shlex.split(subprocess.check_output([*asked, "--cflags"], text=True))
        self.libraries = shlex.split(subprocess.check_output([*asked, "--libs"], text=True))
        self.libraries += ["-lm", "-lpthread", "-ldl", "-lrt"]
        self.environment = os.environ | {"KVCONFORM_DATA": str(TOP)}

    def call(self, *command: str) -> bool:
        """Whether a command ends with status 0 in time."""
        try:
            done = subprocess.run(
                command,
                cwd=TOP,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def link(self, *objects: str) -> bool:
        """Links ./changed of the work folder; what comes first hides what the library has."""
        library = str(self.build / "libkvconform.a")
        return self.call("cc", "-o", str(self.work / "changed"), *objects, library, *self.libraries)

    def seen_by(self, mutant: Mutant) -> str:
        """The test that fails, "" when none does, or "compiler"."""
        text = (TOP / mutant.file).read_text(encoding="utf-8").splitlines()
        text[mutant.line - 1] = mutant.new
        source, compiled = self.work / "changed.c", str(self.work / "changed.o")
        source.write_text("\n".join(text) + "\n", encoding="utf-8")
        flags = [
            "-std=c11",
            "-O1",
            "-w",
            "-D_POSIX_C_SOURCE=200809L",
            "-D_DEFAULT_SOURCE",
            f"-I{TOP}",
            f"-I{TOP}/include",
        ]
        if not self.call("cc", *flags, *self.flags, "-c", str(source), "-o", compiled):
            return "compiler"
        stem = Path(mutant.file).stem
        for test in sorted(TESTS, key=lambda name: name != stem):
            if not self.link(str(self.build / f"tests/unit/{test}_test.o"), compiled):
                raise SystemExit(f"{test}_test does not link: is {self.build} a folder in which `make check` was run?")
            if not self.call(str(self.work / "changed")):
                return f"{test}_test"
        if not self.link(str(self.build / "harness/main.o"), compiled):
            raise SystemExit("the program does not link")
        for arguments in PROGRAM:
            if not self.call(str(self.work / "changed"), *arguments):
                return "kvconform " + " ".join(arguments[:2])
        return ""


def tell(results: dict[str, dict[str, str]]) -> None:
    """A table by file, then those that nothing saw."""
    counts: Counter[tuple[str, str]] = Counter()
    for name, result in results.items():
        if result["seen"] != "compiler":
            counts[name.split(":", 1)[0], "killed" if result["seen"] else "survived"] += 1
    files = sorted({file for file, _ in counts})
    for file in files:
        print(f"| `{file}` | {counts[file, 'killed'] + counts[file, 'survived']} | {counts[file, 'killed']} |")
    killed = sum(counts[file, "killed"] for file in files)
    print(f"| all | {sum(counts.values())} | {killed} |")
    for name, result in results.items():
        if not result["seen"]:
            print(f"survived: {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1, help="only each Nth mutant")
    parser.add_argument("--only", default="reference/", help="only files whose names begin so")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    bench = Bench(options.build.resolve(), options.work.resolve())
    kept = options.work / "mutants.json"
    results: dict[str, dict[str, str]] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    files = sorted(str(path.relative_to(TOP)) for path in (TOP / "reference").rglob("*.c"))
    mutants = [mutant for file in files if file.startswith(options.only) for mutant in mutants_of(file)]
    for mutant in mutants[:: options.every]:
        if mutant.name() in results:
            continue
        results[mutant.name()] = {"operator": mutant.operator, "seen": bench.seen_by(mutant)}
        new = kept.with_suffix(".new")
        new.write_text(json.dumps(results, indent=1), encoding="utf-8")
        new.replace(kept)
    print(f"{len(mutants)} mutants, each {options.every}th of them:", file=sys.stderr)
    tell(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
