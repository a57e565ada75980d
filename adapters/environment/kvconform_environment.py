"""Make the Python environment in which one version of a subject runs.

    python3 kvconform_environment.py transformers 5.24.0 [--cache DIR]

prints the path of a Python interpreter that can import this version, as the only line on standard output; after a failure
the line says why. What is going on stands on standard error. An environment that is complete already is found in milliseconds.

    python3 kvconform_environment.py transformers all-minor [--cache DIR]
    python3 kvconform_environment.py transformers 5.12.0..5.24.0 [--cache DIR]

prints the newest patch of each minor release that the package index has, from the oldest that the contracts know, or all
releases from one to another, as one line.

    python3 kvconform_environment.py llama.cpp 0.3.36 [--cache DIR]

prints the path of the adapter for llama.cpp instead, a plugin: it is compiled against the llama.cpp of that release of
llama-cpp-python, or against the one in $KVCONFORM_LLAMA (an installed one, a source tree with a build, or a build folder).

The cache folder is DIR, else $KVCONFORM_CACHE, else $XDG_CACHE_HOME/kvconform, else ~/.cache/kvconform. In it each version
of a subject has a virtual environment of its own; torch, which is large, lives in one that all share through a .pth file:

    environments/torch-2.13.0/            torch and numpy
    environments/quantisers-torch-2.13.0/ what quantised caches need: optimum-quanto (which builds a C++ extension once), hqq
    environments/transformers-5.24.0/     transformers and what it depends on
    environments/mlx-0.32.4/              mlx for processors, and what all versions of mlx-lm import beside it
    environments/mlx-lm-0.32.2/           mlx-lm alone
    environments/llama.cpp-0.3.36/        llama.cpp as this version of llama-cpp-python holds it, compiled from source
    plugins/llama.cpp-DIGEST.so           the adapter for llama.cpp, compiled against one copy of it
    environments/NAME.lock                held while NAME is made, so that two processes do not collide

Without quantisers an environment still serves all other caches. Why there are none stands in its file `without.json`; they are
tried again when the environment is removed.

An environment is complete when its stamp, written last, describes the recipe and the Python that would make it now. Anything
else is removed and made again.

What the project itself is tested and packed with (`tools`, `page`, `packages`) is installed by the digests in the .txt files
beside this one. Subjects are not: any version may be named, and torch comes from the index that the user chooses.

The words in $KVCONFORM_PIP_ARGS are passed to every `pip install` (an index of CPU builds of torch, for example).

Exit status:
    0  the environment is there
    2  the command line is wrong, or the subject or its version is not one that can be named
    3  the package index has no such version for this Python
    4  the package index cannot be reached
    5  the cache folder cannot be written, or the disk is full
    6  this Python is too old, or cannot make virtual environments
    7  anything else went wrong while installing
    130  interrupted
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import errno
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

# kvconform sets PYTHONSAFEPATH for the subjects that it starts: then nothing is looked for beside a program.
sys.path.insert(0, str(Path(__file__).resolve().parent))

import kvconform_llama

HERE = Path(__file__).resolve().parent

USAGE, NO_VERSION, NO_NETWORK, NO_SPACE, NO_PYTHON, FAILED, INTERRUPTED = 2, 3, 4, 5, 6, 7, 130

LAYOUT = 1
"""Raised when environments made by an older release of this program must be made again."""

OLDEST_PYTHON = (3, 10)

VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}((a|b|rc)[0-9]{1,3})?(\.post[0-9]{1,3})?(\.dev[0-9]{1,6})?")

TORCH = "2.13.0"
MLX = "0.32.4"

LOCK_SECONDS = 3600
"""Longer than any compiler takes for quanto's extension."""

LOADING_SECONDS = 120
"""Longer than any process takes to load it once it is built."""


class Problem(Exception):
    """Why there is no environment: one line for the user, and the exit status that says which kind it is."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What one environment is made of.

    `requirements` are given to one `pip install`; `modules` are imported afterwards to prove that they work; `shared` is the
    environment whose packages this one sees too. So it does those of `extra`, which it can do without.
    """

    name: str
    requirements: tuple[str, ...]
    modules: tuple[str, ...]
    about: str
    shared: Recipe | None = None
    extra: Recipe | None = None
    cmake: str = ""
    """Words for the build of a package that is compiled from its source."""
    pins: str = ""
    """A file beside this one: requirements with the digest of every file that may be installed for them."""

    def title(self) -> str:
        """In a message."""
        return " ".join(self.requirements) or f"what {self.pins} names"

    def words(self) -> tuple[str, ...]:
        """For `pip install`."""
        return (*self.requirements, *(("--require-hashes", "-r", str(HERE / self.pins)) if self.pins else ()))

    def describe(self) -> dict[str, object]:
        """What a complete environment's stamp holds: it is stale as soon as any of this changes."""
        return {
            "layout": LAYOUT,
            "python": sys.version,
            "requirements": list(self.requirements),
            "shared": self.shared.describe() if self.shared else None,
        } | ({"cmake": self.cmake} if self.cmake else {}) | ({"pins": digest(self.pins)} if self.pins else {})


def digest(name: str) -> str:
    """Of a file beside this one. Raises Problem."""
    try:
        return hashlib.sha256((HERE / name).read_bytes()).hexdigest()
    except OSError as error:
        where = f"{HERE / name}: {error.strerror}"
        raise Problem(FAILED, f"{where}; such an environment is made from kvconform's source tree") from error


def torch_recipe() -> Recipe:
    return Recipe(f"torch-{TORCH}", (f"torch=={TORCH}", "numpy"), ("torch", "numpy"), "some hundred megabytes, once")


def quantisers_recipe() -> Recipe:
    """Without dependencies: each version of transformers brings its own of what both need."""
    packages = ("optimum-quanto==0.2.7", "ninja==1.13.2", "hqq==0.2.8.post1", "termcolor==3.3.0")
    return Recipe(f"quantisers-torch-{TORCH}", ("--no-deps", *packages), (), "a few MB, once", torch_recipe())


def mlx_recipe() -> Recipe:
    """The packages that mlx-lm imports, so that its versions can be installed without dependencies and share one mlx."""
    packages = ("numpy", "transformers==5.24.0", "sentencepiece", "protobuf", "pyyaml", "jinja2")
    return Recipe(f"mlx-{MLX}", (f"mlx[cpu]=={MLX}", *packages), ("mlx.core", "numpy"), "about 200 MB, once")


def llama_recipe(version: str) -> Recipe:
    """llama.cpp's headers and libraries, compiled. Its Python part is not used: it comes without what only that needs."""
    packages = ("--no-deps", "--no-binary", "llama-cpp-python", f"llama-cpp-python=={version}")
    about = "compiled from source, which takes ten minutes, once"
    return Recipe(f"llama.cpp-{version}", packages, (), about, cmake="-DLLAVA_BUILD=OFF")


QUANTISERS_CHECK = """
import json
import torch
from transformers import cache_utils
without = {}
states = torch.tensor([1.0, -1.0]).repeat(1, 1, 2, 16)
for package, name in (("optimum-quanto", "QuantoQuantizedLayer"), ("hqq", "HQQQuantizedLayer")):
    try:
        layer = getattr(cache_utils, name)(q_group_size=16, residual_length=1)
        layer.update(states, states)
        layer.update(states, states)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        without[package] = f"{type(error).__name__}: {lines[0][:200]}"
print(json.dumps(without))
"""
"""Prints as its last line which quantisers do not work, and why. The first run of all builds the extension."""


def recipe_of(subject: str, version: str) -> Recipe:
    """The recipe of one version of a subject. Raises Problem for a name or a version that cannot be one."""
    if not VERSION.fullmatch(version):
        raise Problem(USAGE, f"not a version: {shown(version)} (expected a form like 5.24.0)")
    if subject == "transformers":
        return Recipe(
            f"transformers-{version}",
            (f"transformers=={version}",),
            ("transformers",),
            "about 100 MB",
            torch_recipe(),
            quantisers_recipe(),
        )
    if subject == "mlx-lm":
        requirements = ("--no-deps", f"mlx-lm=={version}")
        return Recipe(f"mlx-lm-{version}", requirements, ("mlx_lm.models.cache",), "less than 1 MB", mlx_recipe())
    if subject == "llama.cpp":
        return llama_recipe(version)
    raise Problem(USAGE, f"no such subject: {shown(subject)} (known: {', '.join(SUBJECTS)})")


OLDEST_MINOR = {"transformers": (5, 12), "mlx-lm": (0, 28)}
"""Where `all-minor` begins."""

SUBJECTS = (*OLDEST_MINOR, "llama.cpp")


RELEASE = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){2}")
"""A version that is no pre-release."""


def in_order(versions: Sequence[str]) -> list[tuple[int, ...]]:
    """The releases among them, the oldest first."""
    return sorted({tuple(int(part) for part in text.split(".")) for text in versions if RELEASE.fullmatch(text)})


def newest_patches(versions: Sequence[str], oldest: tuple[int, int]) -> list[str]:
    """The newest release of each minor release from `oldest` on, in order."""
    newest = {number[:2]: number for number in in_order(versions) if number[:2] >= oldest}
    return [".".join(map(str, newest[minor])) for minor in sorted(newest)]


def span(versions: Sequence[str], first: str, last: str) -> list[str]:
    """All releases from `first` to `last`, in order; both are among them, or there are none."""
    found = [".".join(map(str, number)) for number in in_order(versions)]
    if first not in found or last not in found:
        return []
    return found[found.index(first) : found.index(last) + 1]


def released(subject: str, wanted: str, environments: Path) -> list[str]:
    """The versions of `all-minor` or `FIRST..LAST`. Asks the package index. Raises Problem."""
    if subject not in OLDEST_MINOR:
        raise Problem(USAGE, f"{shown(subject)} has no list of versions (known: {', '.join(OLDEST_MINOR)})")
    shared = mlx_recipe() if subject == "mlx-lm" else torch_recipe()
    python = interpreter(ensure(shared, environments))
    command = [str(python), "-m", "pip", "index", "versions", *pip_arguments(), subject]
    status, output = call(command)
    listed = re.search(r"^Available versions: (.+)$", output, re.MULTILINE)
    if status != 0 or listed is None:
        raise explain(f"the list of versions of {subject}", output)
    versions = listed.group(1).split(", ")
    first, dots, last = wanted.partition("..")
    found = span(versions, first, last) if dots else newest_patches(versions, OLDEST_MINOR[subject])
    if not found:
        lacking = f"no versions {shown(wanted)} of {subject}" if dots else f"no version of {subject} that the contracts know"
        raise Problem(NO_VERSION, f"the package index has {lacking}")
    return found


def tools_recipe() -> Recipe:
    """What the project's own Python code is tested with."""
    return Recipe("tools", (), ("pytest", "mypy", "jsonschema"), "about 50 MB", pins="tools.txt")


def page_recipe() -> Recipe:
    """What the reports are read with: a browser's driver, a checker of accessibility, readers of JUnit and SARIF."""
    modules = ("playwright", "axe_playwright_python", "junitparser")
    return Recipe("page", (), modules, "about 150 MB", tools_recipe(), pins="page.txt")


def packages_recipe() -> Recipe:
    """What makes the packages for pip."""
    return Recipe("packages", (), ("hatchling",), "less than 1 MB", pins="packages.txt")


OWN = {"tools": tools_recipe, "page": page_recipe, "packages": packages_recipe}


def shown(text: str) -> str:
    """A word from outside, made fit for one line of a terminal."""
    return json.dumps(text[:80])


def say(text: str) -> None:
    print(f"kvconform-environment: {text}", file=sys.stderr, flush=True)


def cache_folder(given: str | None) -> Path:
    """The cache folder, as said at the top of this file. An empty variable counts as unset."""
    for base, tail in ((given, ""), (os.environ.get("KVCONFORM_CACHE"), ""), (os.environ.get("XDG_CACHE_HOME"), "kvconform")):
        if base:
            return Path(base, tail).absolute()
    try:
        return Path.home() / ".cache" / "kvconform"
    except RuntimeError as error:
        raise Problem(NO_SPACE, "there is no home folder to keep a cache in; set KVCONFORM_CACHE") from error


def interpreter(folder: Path) -> Path:
    return folder / "bin" / "python"


def stamp(folder: Path) -> Path:
    return folder / "complete.json"


def extra_stamp(folder: Path) -> Path:
    """Written when the extra packages were tried, with success or without."""
    return folder / "extra.json"


def says(file: Path, recipe: Recipe) -> bool:
    try:
        return bool(json.loads(file.read_text(encoding="utf-8")) == recipe.describe())
    except (OSError, ValueError):
        return False


def is_complete(folder: Path, recipe: Recipe) -> bool:
    if recipe.extra and not says(extra_stamp(folder), recipe.extra):
        return False
    return says(stamp(folder), recipe) and os.access(interpreter(folder), os.X_OK)


@contextlib.contextmanager
def locked(path: Path, name: str) -> Iterator[None]:
    """Holds the lock file `path`. The system gives it back when the process ends, however it ends."""
    with open(path, "a", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            say(f"waiting for another process that makes {name}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def clean_environment() -> dict[str, str]:
    """The process environment without what would let packages from elsewhere in, or pip ask a question."""
    outside = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_REQUIRE_VIRTUALENV")
    kept = {name: value for name, value in os.environ.items() if name not in outside}
    kept.update(PYTHONNOUSERSITE="1", PIP_NO_INPUT="1", PIP_DISABLE_PIP_VERSION_CHECK="1", LC_ALL="C.UTF-8")
    return kept


def call(command: Sequence[str], **more: str) -> tuple[int, str]:
    """Runs a command without standard input, with more variables. Returns its exit status and all that it printed."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=clean_environment() | more,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout


def pip_arguments() -> list[str]:
    """The user's own words for pip. Raises ValueError for an unclosed quotation."""
    return shlex.split(os.environ.get("KVCONFORM_PIP_ARGS", ""))


UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectTimeoutError|ReadTimeoutError|NameResolutionError|ProxyError|SSLError|ProtocolError"
    r"|Temporary failure in name resolution|Connection (?:refused|reset|aborted|timed out)|[Rr]ead timed out"
    r"|Network is unreachable|No route to host"
)


def explain(what: str, output: str) -> Problem:
    """Turns what a failed installation printed into one line.

    The order matters: pip says "no matching distribution" also when it could not ask for one.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines or ["it printed nothing"]
    reason = errors[-1].removeprefix("ERROR:").strip()[:300]
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return Problem(NO_SPACE, f"the disk is full; {what} needs more room in the cache folder")
    if found := UNREACHABLE.search(output):
        return Problem(NO_NETWORK, f"cannot reach the package index: {found.group(0)} while installing {what}")
    if "(from versions: none)" in output:
        return Problem(NO_NETWORK, f"cannot reach the package index: no version at all is listed while installing {what}")
    if "No matching distribution found" in output or "Could not find a version" in output:
        for line in lines:
            if wanted := re.search(r"No matching distribution found for ([^\s()]+)", line):
                python = ".".join(str(part) for part in sys.version_info[:2])
                return Problem(NO_VERSION, f"the package index has no {wanted.group(1)} for Python {python}")
        return Problem(NO_VERSION, f"the package index has no {what}: {reason}")
    return Problem(FAILED, f"cannot install {what}: {reason}")


def site_packages(folder: Path) -> Path:
    found = sorted(folder.glob("lib/python*/site-packages"))
    if len(found) != 1:
        raise Problem(FAILED, f"{folder} has no site-packages folder")
    return found[0]


def link(folder: Path, others: Sequence[Path]) -> None:
    """Lets `folder` see the packages of others; the last of them also lend their programs, such as ninja."""
    lines = [str(site_packages(other)) for other in others]
    if len(others) > 1:
        programs = str(others[-1] / "bin")
        lines.append(f"import os; os.environ['PATH'] = {programs!r} + os.pathsep + os.environ.get('PATH', os.defpath)")
    (site_packages(folder) / "kvconform_shared.pth").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def build(folder: Path, recipe: Recipe, others: Sequence[Path]) -> None:
    """Makes the environment `folder`, which does not exist. Raises Problem. The stamp is not written yet."""
    status, output = call((sys.executable, "-m", "venv", str(folder)))
    if status != 0:
        if "ensurepip" in output or "No module named venv" in output:
            raise Problem(NO_PYTHON, "this Python cannot make virtual environments (Debian package: python3-venv)")
        raise explain(f"the virtual environment {recipe.name}", output)
    if others:
        link(folder, others)
    command = [str(interpreter(folder)), "-m", "pip", "install", "--progress-bar", "off", "--retries", "2"]
    more = {"CMAKE_ARGS": recipe.cmake} if recipe.cmake else {}
    status, output = call([*command, *pip_arguments(), *recipe.words()], **more)
    if status != 0:
        raise explain(recipe.title(), output)
    if not recipe.modules:
        return
    status, output = call((str(interpreter(folder)), "-c", "import " + ", ".join(recipe.modules)))
    if status != 0:
        reason = output.strip().rpartition("\n")[2][:300]
        raise Problem(FAILED, f"{recipe.name} was installed but cannot be imported: {reason}")


def write_whole(path: Path, content: object) -> None:
    """Writes JSON to a file that is there completely or not at all."""
    draft = path.with_name(path.name + ".draft")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.replace(path)


def find_extra(extra: Recipe, environments: Path) -> tuple[Path | None, str]:
    """The folder of packages that can be done without, or why there is none."""
    try:
        return ensure(extra, environments), ""
    except Problem as problem:
        say(f"going on without {extra.name}: {problem}")
        return None, str(problem)


def check_extra(folder: Path, shared: Sequence[Path]) -> dict[str, str]:
    """Which of the quantisers do not work in a new environment, and why. Where nothing works with them, they are taken out."""
    status, output = call((str(interpreter(folder)), "-c", QUANTISERS_CHECK))
    last = output.strip().rpartition("\n")[2]
    if status != 0:
        say(f"going on without quantisers: {last[:300]}")
        link(folder, shared)
        return {"": last[:300]}
    found: dict[str, str] = json.loads(last) if last else {}
    for package, reason in found.items():
        say(f"going on without {package}: {reason}")
    return found


def remove_old_locks(folder: Path) -> None:
    """Removes what a process that was killed while it loaded quanto's extension has left: others would wait for ever."""
    for lock in folder.glob("lib/python*/site-packages/optimum/quanto/library/extensions/*/build/lock"):
        with contextlib.suppress(OSError):
            # Once it is built, whoever holds the lock only loads it.
            limit = LOADING_SECONDS if (lock.parent / "quanto_cpp.so").exists() else LOCK_SECONDS
            if time.time() - lock.stat().st_mtime > limit:
                say(f"removing a lock that nobody holds any more: {lock}")
                lock.unlink()


def ensure(recipe: Recipe, environments: Path) -> Path:
    """Returns the folder of a complete environment, and makes it first when there is none. Raises Problem or OSError."""
    folder = environments / recipe.name
    shared = [ensure(recipe.shared, environments)] if recipe.shared else []
    if is_complete(folder, recipe):
        if recipe.extra:
            remove_old_locks(environments / recipe.extra.name)
        return folder
    with locked(environments / f"{recipe.name}.lock", recipe.name):
        if is_complete(folder, recipe):
            return folder
        extra, reason = find_extra(recipe.extra, environments) if recipe.extra else (None, "")
        others = [*shared, extra] if extra else shared
        has_all_else = is_complete(folder, dataclasses.replace(recipe, extra=None))
        if folder.exists() and not has_all_else:
            say(f"removing {recipe.name}, which is incomplete or was made by another Python")
            shutil.rmtree(folder)
        try:
            if has_all_else:
                say(f"adding {recipe.extra.name if recipe.extra else 'nothing'} to {recipe.name}")
                link(folder, others)
            else:
                say(f"installing {recipe.title()} ({recipe.about}) into {folder}")
                build(folder, recipe, others)
            without = check_extra(folder, shared) if extra else {"": reason} if reason else {}
            write_whole(folder / "without.json", without)
            if recipe.extra:
                write_whole(extra_stamp(folder), recipe.extra.describe())
            write_whole(stamp(folder), recipe.describe())
        except BaseException:
            if not has_all_else:
                shutil.rmtree(folder, ignore_errors=True)  # room for others; a killed process leaves this to the next one
            raise
        say(f"{recipe.name} is ready")
    return folder


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="kvconform_environment.py",
        description="Make the Python environment of one version of a subject and print its interpreter.",
        epilog="example: python3 kvconform_environment.py transformers 5.24.0",
    )
    parser.add_argument("subject", help="transformers, mlx-lm, llama.cpp; or tools, page, packages, for the project itself")
    parser.add_argument("version", nargs="?", help="such as 5.24.0; or all-minor or 5.12.0..5.24.0, to list versions")
    parser.add_argument("--cache", metavar="DIR", help="the cache folder (default: $KVCONFORM_CACHE, ~/.cache/kvconform)")
    given = parser.parse_args(arguments)
    if given.subject in OWN and given.version is not None:
        parser.error(f"{given.subject} has no versions")
    if given.subject not in OWN and given.version is None:
        parser.error("the version is missing")
    return given


def llama_plugin(recipe: Recipe, environments: Path) -> Path:
    """The adapter for llama.cpp: for the user's own copy, or for the one that the recipe compiles. Raises Problem or OSError."""
    own = os.environ.get("KVCONFORM_LLAMA")
    prefix = Path(own).absolute() if own else site_packages(ensure(recipe, environments))
    try:
        return kvconform_llama.build(Path(__file__).resolve().parents[2], prefix, environments.parent / "plugins", call)
    except kvconform_llama.NotBuilt as reason:
        raise Problem(FAILED, str(reason)) from reason


def answer(given: argparse.Namespace) -> str:
    """The line that was asked for: an interpreter, a plugin, or a list of versions. Raises Problem or OSError."""
    listing = given.version is not None and (given.version == "all-minor" or ".." in given.version)
    recipe = OWN[given.subject]() if given.subject in OWN else None
    if recipe is None and not listing:
        recipe = recipe_of(given.subject, given.version)
    if sys.version_info < OLDEST_PYTHON:
        raise Problem(NO_PYTHON, "Python {}.{} or newer is needed".format(*OLDEST_PYTHON))
    environments = cache_folder(given.cache) / "environments"
    environments.mkdir(parents=True, exist_ok=True)
    if recipe is None:
        return " ".join(released(given.subject, given.version, environments))
    if given.subject == "llama.cpp":
        return str(llama_plugin(recipe, environments))
    return str(interpreter(ensure(recipe, environments)))


def failed(status: int, reason: str) -> int:
    """Says why, for a person and for the program that called."""
    say(reason)
    print(reason)
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        line = answer(parse(arguments))
    except Problem as problem:
        return failed(problem.status, str(problem))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return failed(NO_SPACE, f"cannot write the cache folder: {error.strerror or error}{where}")
    except ValueError as error:  # shlex: an unclosed quotation
        return failed(USAGE, f"KVCONFORM_PIP_ARGS cannot be read: {error}")
    except KeyboardInterrupt:
        return failed(INTERRUPTED, "interrupted")
    print(line)
    return 0


def run() -> NoReturn:
    sys.exit(main())


if __name__ == "__main__":
    run()
