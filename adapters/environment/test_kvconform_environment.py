"""Tests of the program that makes environments. Nothing is installed: `call` is replaced by one that plays pip."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import kvconform_environment as environment

Play = Callable[[Sequence[str]], tuple[int, str]]


class Pip:
    """Plays venv, pip and the importing interpreter; says `output` when `failing` is installed."""

    def __init__(self, failing: str = "", output: str = "") -> None:
        self.failing = failing
        self.output = output
        self.installed: list[str] = []

    def __call__(self, command: Sequence[str]) -> tuple[int, str]:
        if command[1:3] == ("-m", "venv"):
            folder = Path(command[3])
            (folder / "bin").mkdir(parents=True)
            (folder / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
            (folder / "bin" / "python").symlink_to(sys.executable)
        elif "install" in command:
            if self.failing and self.failing in command[-1]:
                return 1, self.output
            self.installed.append(command[-1])
        return 0, ""


def play(monkeypatch: pytest.MonkeyPatch, pip: Play) -> None:
    monkeypatch.setattr(environment, "call", pip)


def test_makes_shared_torch_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pip = Pip()
    play(monkeypatch, pip)
    for version in ("5.24.0", "5.14.1", "5.24.0"):
        assert environment.main(["transformers", version, "--cache", str(tmp_path)]) == 0
        printed = capsys.readouterr().out
        assert printed == f"{tmp_path}/environments/transformers-{version}/bin/python\n"
    assert pip.installed == ["numpy", "termcolor==3.3.0", "transformers==5.24.0", "transformers==5.14.1"]
    (link,) = tmp_path.glob("environments/transformers-5.24.0/lib/*/site-packages/kvconform_shared.pth")
    folders = [f"{tmp_path}/environments/{name}-{environment.TORCH}" for name in ("torch", "quantisers-torch")]
    *packages, programs = link.read_text().splitlines()
    assert packages == [f"{folder}/lib/python3.11/site-packages" for folder in folders]
    assert programs.startswith(f"import os; os.environ['PATH'] = '{folders[1]}/bin' + ")


def without(tmp_path: Path) -> dict[str, str]:
    """Runs the program on an empty cache; what the new environment is without."""
    assert environment.main(["transformers", "5.24.0", "--cache", str(tmp_path)]) == 0
    folder = tmp_path / "environments" / "transformers-5.24.0"
    assert environment.is_complete(folder, environment.recipe_of("transformers", "5.24.0"))
    (link,) = folder.glob("lib/*/site-packages/kvconform_shared.pth")
    found: dict[str, str] = json.loads((folder / "without.json").read_text())
    assert ("quantisers-torch" in link.read_text()) == ("" not in found)
    return found


def test_adds_quantisers_to_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Pip()
    play(monkeypatch, pip)
    recipe = environment.recipe_of("transformers", "5.24.0")
    folder = environment.ensure(dataclasses.replace(recipe, extra=None), tmp_path)
    (folder / "rest").touch()
    assert environment.ensure(recipe, tmp_path) == folder
    assert (folder / "rest").exists()
    assert environment.is_complete(folder, recipe)
    assert pip.installed == ["numpy", "transformers==5.24.0", "termcolor==3.3.0"]
    (link,) = folder.glob("lib/*/site-packages/kvconform_shared.pth")
    assert "quantisers-torch" in link.read_text()


def test_goes_on_without_quantisers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    play(monkeypatch, Pip("termcolor", "ERROR: no such luck\n"))
    (reason,) = without(tmp_path).values()
    assert reason.endswith("no such luck")
    assert "going on without quantisers-torch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "printed", "found"),
    [
        (0, "noise\n{}\n", {}),
        (0, '{"hqq": "ImportError: x"}\n', {"hqq": "ImportError: x"}),
        (1, "Traceback ...\nModuleNotFoundError: termcolor\n", {"": "ModuleNotFoundError: termcolor"}),
    ],
)
def test_quantisers_that_do_not_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, printed: str, found: dict[str, str]
) -> None:
    pip = Pip()

    def call(command: Sequence[str]) -> tuple[int, str]:
        return (status, printed) if command[-1] == environment.QUANTISERS_CHECK else pip(command)

    play(monkeypatch, call)
    assert without(tmp_path) == found


def damage_stamp(folder: Path) -> None:
    environment.stamp(folder).write_text('{"layout": 0}')


def damage_text(folder: Path) -> None:
    environment.stamp(folder).write_text("{")


def remove_stamp(folder: Path) -> None:
    environment.stamp(folder).unlink()


def remove_interpreter(folder: Path) -> None:
    environment.interpreter(folder).unlink()


@pytest.mark.parametrize("damage", [damage_stamp, damage_text, remove_stamp, remove_interpreter])
def test_makes_a_broken_one_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]) -> None:
    pip = Pip()
    play(monkeypatch, pip)
    recipe = environment.recipe_of("transformers", "5.24.0")
    folder = environment.ensure(recipe, tmp_path)
    (folder / "rest").touch()
    damage(folder)
    assert environment.ensure(recipe, tmp_path) == folder
    assert not (folder / "rest").exists()
    assert pip.installed == ["numpy", "termcolor==3.3.0", "transformers==5.24.0", "transformers==5.24.0"]
    assert json.loads(environment.stamp(folder).read_text()) == recipe.describe()


NONE_AT_ALL = "ERROR: Could not find a version that satisfies the requirement transformers==5.24.0 (from versions: none)"
NOT_THIS = (
    "ERROR: Could not find a version that satisfies the requirement transformers==5.24.0 (from versions: 5.0.0)\n"
    "ERROR: No matching distribution found for transformers==5.24.0\n"
)


@pytest.mark.parametrize(
    ("output", "status", "words"),
    [
        (NOT_THIS, environment.NO_VERSION, "the package index has no transformers==5.24.0"),
        ("WARNING: ... NewConnectionError(...)\n" + NOT_THIS, environment.NO_NETWORK, "cannot reach the package index"),
        (NONE_AT_ALL, environment.NO_NETWORK, "cannot reach the package index"),
        ("OSError: [Errno 28] No space left on device\n" + NOT_THIS, environment.NO_SPACE, "the disk is full"),
        ("ERROR: no such luck\n", environment.FAILED, "cannot install transformers==5.24.0: no such luck"),
        ("", environment.FAILED, "it printed nothing"),
    ],
)
def test_failures_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    output: str,
    status: int,
    words: str,
) -> None:
    play(monkeypatch, Pip("transformers", output))
    assert environment.main(["transformers", "5.24.0", "--cache", str(tmp_path)]) == status
    printed = capsys.readouterr()
    assert words in printed.out and printed.out.count("\n") == 1
    assert words in printed.err.splitlines()[-1]
    assert not (tmp_path / "environments" / "transformers-5.24.0").exists()


def test_no_virtual_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, lambda command: (1, "ensurepip is not available"))
    assert environment.main(["transformers", "5.24.0", "--cache", str(tmp_path)]) == environment.NO_PYTHON


def test_words_for_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Sequence[str]] = []

    def pip(command: Sequence[str]) -> tuple[int, str]:
        seen.append(command)
        return Pip()(command)

    play(monkeypatch, pip)
    monkeypatch.setenv("KVCONFORM_PIP_ARGS", "--find-links 'a b'")
    environment.ensure(environment.tools_recipe(), tmp_path)
    (install,) = (command for command in seen if "install" in command)
    place = install.index("--find-links")
    assert install[place + 1] == "a b"
    monkeypatch.setenv("KVCONFORM_PIP_ARGS", "'")
    assert environment.main(["transformers", "5.24.0", "--cache", str(tmp_path)]) == environment.USAGE


@pytest.mark.parametrize("version", ["", "5", "latest", "5.24.0\n", "5.24.0 --pre", "../5.0", "5.24.0;x", "5.24.0,<6", "-1.0"])
def test_refuses_what_is_no_version(version: str) -> None:
    with pytest.raises(environment.Problem) as caught:
        environment.recipe_of("transformers", version)
    assert caught.value.status == environment.USAGE


@pytest.mark.parametrize("version", ["5.24", "5.24.0", "5.0.0rc1", "5.0.0.dev0", "4.57.6.post1"])
def test_takes_versions(version: str) -> None:
    assert environment.recipe_of("transformers", version).requirements == (f"transformers=={version}",)


def test_newest_patches() -> None:
    listed = ["5.24.0", "5.20.10", "5.20.9", "5.20.2", "6.0.0rc1", "5.12.1", "5.12.0", "5.11.9", "4.57.6", "5.13.0.dev1", "5.21"]
    assert environment.newest_patches(listed, (5, 12)) == ["5.12.1", "5.20.10", "5.24.0"]
    assert environment.newest_patches([], (5, 12)) == []


def test_span() -> None:
    listed = ["5.10.0", "5.9.1", "5.9.0", "5.10.0rc1", "5.8.0"]
    assert environment.span(listed, "5.9.0", "5.10.0") == ["5.9.0", "5.9.1", "5.10.0"]
    assert environment.span(listed, "5.10.0", "5.9.0") == [], "backwards"
    assert environment.span(listed, "5.9.0", "5.11.0") == [], "there is no such end"


def test_lists_minor_releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answer = (0, "transformers (5.24.0)\nAvailable versions: 5.24.0, 5.23.1, 5.23.0, 5.1.0\n")

    def pip(command: Sequence[str]) -> tuple[int, str]:
        return answer if "index" in command else Pip()(command)

    play(monkeypatch, pip)
    words = ["transformers", "all-minor", "--cache", str(tmp_path)]
    assert environment.main(words) == 0
    assert capsys.readouterr().out == "5.23.1 5.24.0\n"
    assert environment.main(["transformers", "5.23.0..5.24.0", "--cache", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "5.23.0 5.23.1 5.24.0\n"
    assert environment.main(["transformers", "5.23.0..5.99.0", "--cache", str(tmp_path)]) == environment.NO_VERSION
    answer = (1, "ERROR: No matching distribution found for transformers\n(from versions: none)")
    assert environment.main(words) == environment.NO_NETWORK
    answer = (0, "Available versions: 5.1.0\n")
    assert environment.main(words) == environment.NO_VERSION
    assert environment.main(["vllm", "all-minor", "--cache", str(tmp_path)]) == environment.USAGE


def test_a_failure_is_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    play(monkeypatch, Pip("transformers", "ERROR: No matching distribution found for transformers==9.9.9 (from versions: 1)"))
    assert environment.main(["transformers", "9.9.9", "--cache", str(tmp_path)]) == environment.NO_VERSION
    printed = capsys.readouterr().out
    assert printed.startswith("the package index has no transformers==9.9.9") and printed.count("\n") == 1


def test_removes_old_locks(tmp_path: Path) -> None:
    build = tmp_path / "lib" / "python3.11" / "site-packages" / "optimum" / "quanto" / "library" / "extensions" / "cpp" / "build"
    build.mkdir(parents=True)
    lock = build / "lock"
    lock.touch()
    environment.remove_old_locks(tmp_path)
    assert lock.exists(), "somebody may be compiling"
    os.utime(lock, (time.time() - 600, time.time() - 600))
    environment.remove_old_locks(tmp_path)
    assert lock.exists(), "that takes minutes"
    (build / "quanto_cpp.so").touch()
    environment.remove_old_locks(tmp_path)
    assert not lock.exists(), "loading does not"
    (build / "quanto_cpp.so").unlink()
    lock.touch()
    os.utime(lock, (0, 0))
    environment.remove_old_locks(tmp_path)
    assert not lock.exists()


def test_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("KVCONFORM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert environment.cache_folder(None) == Path("/home/someone/.cache/kvconform")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert environment.cache_folder(None) == Path("/caches/kvconform")
    monkeypatch.setenv("KVCONFORM_CACHE", "/own")
    assert environment.cache_folder(None) == Path("/own")
    assert environment.cache_folder("/given") == Path("/given")


def test_waits_for_another_process(tmp_path: Path) -> None:
    lock = tmp_path / "environments" / f"torch-{environment.TORCH}.lock"
    lock.parent.mkdir()
    command = [sys.executable, "-B", environment.__file__, "transformers", "5.24.0", "--cache", str(tmp_path)]
    with environment.locked(lock, "torch"):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            assert "waiting for another process" in process.stderr.readline()
        finally:
            process.kill()
            process.communicate()
    assert not (tmp_path / "environments" / f"torch-{environment.TORCH}").exists()


def test_starts_after_a_subject() -> None:
    """kvconform has set PYTHONSAFEPATH by the time it asks for the environment of its second target."""
    settings = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, environment.__file__, "--help"], env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_mlx_lm_is_installed_alone_beside_one_mlx() -> None:
    recipe = environment.recipe_of("mlx-lm", "0.32.2")
    assert recipe.requirements == ("--no-deps", "mlx-lm==0.32.2")
    assert recipe.shared is not None and recipe.shared.name == f"mlx-{environment.MLX}"
    assert f"mlx[cpu]=={environment.MLX}" in recipe.shared.requirements
    assert recipe.shared == environment.recipe_of("mlx-lm", "0.28.4").shared
    assert recipe.extra is None


@pytest.mark.parametrize("own", environment.OWN)
def test_own_environments_are_pinned(own: str) -> None:
    recipe = environment.OWN[own]()
    assert recipe.words() == ("--require-hashes", "-r", str(environment.HERE / recipe.pins))
    text = (environment.HERE / recipe.pins).read_text(encoding="utf-8")
    blocks = re.findall(r"^[A-Za-z0-9].*\n(?:[ ].*\n)+", text, re.MULTILINE)
    assert blocks and all("==" in block and "--hash=sha256:" in block for block in blocks)
    for wanted in (environment.HERE / f"{own}.in").read_text(encoding="utf-8").splitlines():
        assert any(block.startswith(wanted.split(";")[0]) for block in blocks), wanted


def test_stale_when_a_pin_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = environment.packages_recipe().describe()
    shutil.copy(environment.HERE / "packages.txt", tmp_path)
    monkeypatch.setattr(environment, "HERE", tmp_path)
    assert environment.packages_recipe().describe() == before
    with (tmp_path / "packages.txt").open("a", encoding="utf-8") as pins:
        pins.write("other==1.0\n")
    assert environment.packages_recipe().describe() != before
    (tmp_path / "packages.txt").unlink()
    with pytest.raises(environment.Problem, match="source tree"):
        environment.packages_recipe().describe()
