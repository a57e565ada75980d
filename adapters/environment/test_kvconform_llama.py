"""Tests of the program that compiles the adapter for llama.cpp. The compiler is replaced by one that writes down its words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import kvconform_llama as llama

SOURCES = ("adapters/llama.cpp/plugin.c", "adapters/llama.cpp/standalone.c", "include/kvconform/plugin.h")


class Compiler:
    """Plays the C compiler."""

    def __init__(self, status: int = 0, output: str = "") -> None:
        self.status, self.output = status, output
        self.commands: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str]) -> tuple[int, str]:
        self.commands.append(command)
        if self.status == 0:
            Path(command[-1]).write_text("a library", encoding="utf-8")
        return self.status, self.output


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    """The data of kvconform, a llama.cpp, and where plugins are kept."""
    data, prefix, plugins = tmp_path / "data", tmp_path / "llama", tmp_path / "plugins"
    for file in (*SOURCES, "adapters/llama.cpp/blob.h"):
        (data / file).parent.mkdir(parents=True, exist_ok=True)
        (data / file).write_text(file, encoding="utf-8")
    for file in ("include/llama.h", f"lib/{llama.NAME}"):
        (prefix / file).parent.mkdir(parents=True, exist_ok=True)
        (prefix / file).write_text(file, encoding="utf-8")
    return data, prefix, plugins


def test_compiles_once(folders: tuple[Path, Path, Path]) -> None:
    data, prefix, plugins = folders
    compiler = Compiler()
    first = llama.build(data, prefix, plugins, compiler)
    assert first.is_file() and first.parent == plugins
    assert llama.build(data, prefix, plugins, compiler) == first
    assert len(compiler.commands) == 1
    assert not any(word.endswith("standalone.c") for word in compiler.commands[0])
    assert list(plugins.iterdir()) == [first], "no draft is left"


@pytest.mark.parametrize("changed", SOURCES)
def test_a_change_is_seen(folders: tuple[Path, Path, Path], changed: str) -> None:
    data, prefix, plugins = folders
    compiler = Compiler()
    first = llama.build(data, prefix, plugins, compiler)
    (data / changed).write_text("another", encoding="utf-8")
    assert llama.build(data, prefix, plugins, compiler) != first
    (prefix / "lib" / llama.NAME).write_text("a newer library", encoding="utf-8")
    llama.build(data, prefix, plugins, compiler)
    assert len(compiler.commands) == 3


def test_a_source_tree(folders: tuple[Path, Path, Path]) -> None:
    data, prefix, plugins = folders
    (prefix / "build").mkdir()
    (prefix / "lib").rename(prefix / "build" / "bin")
    (prefix / "ggml" / "include").mkdir(parents=True)
    compiler = Compiler()
    llama.build(data, prefix, plugins, compiler)
    assert f"-I{prefix / 'ggml' / 'include'}" in compiler.commands[0]
    assert f"-L{prefix / 'build' / 'bin'}" in compiler.commands[0]


def test_a_build_folder(folders: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """One that lies anywhere, as CMake makes it: it says where its sources are."""
    data, prefix, plugins = folders
    build = tmp_path / "elsewhere" / "build-cpu"
    (build / "bin").mkdir(parents=True)
    (prefix / "lib" / llama.NAME).rename(build / "bin" / llama.NAME)
    (prefix / "ggml" / "include").mkdir(parents=True)
    cache = build / "CMakeCache.txt"
    cache.write_text(f"# a comment\nCMAKE_HOME_DIRECTORY:INTERNAL=/wrong\n{llama.SOURCE}{prefix}\n", encoding="utf-8")
    compiler = Compiler()
    llama.build(data, build, plugins, compiler)
    words = compiler.commands[0]
    assert {f"-I{prefix / 'include'}", f"-I{prefix / 'ggml' / 'include'}", f"-L{build / 'bin'}"} <= set(words)
    cache.write_text(f"{llama.SOURCE}{tmp_path}\n", encoding="utf-8")
    with pytest.raises(llama.NotBuilt, match=r"no include/llama\.h, and is no build folder"):
        llama.build(data, build, plugins, compiler)


def test_says_why_not(folders: tuple[Path, Path, Path], tmp_path: Path) -> None:
    data, prefix, plugins = folders
    with pytest.raises(llama.NotBuilt, match=r"no include/llama\.h"):
        llama.build(data, tmp_path, plugins, Compiler())
    with pytest.raises(llama.NotBuilt, match=r"cannot be compiled: plugin\.c:3: error: no such field"):
        llama.build(data, prefix, plugins, Compiler(1, "in a function\nplugin.c:3: error: no such field\nmore"))
    with pytest.raises(llama.NotBuilt, match="lacks the sources"):
        llama.build(tmp_path / "nowhere", prefix, plugins, Compiler())
    (prefix / "lib" / llama.NAME).unlink()
    with pytest.raises(llama.NotBuilt, match="in lib, lib64, bin or build/bin"):
        llama.build(data, prefix, plugins, Compiler())
    assert not plugins.exists() or not list(plugins.iterdir())


def test_without_a_compiler(folders: tuple[Path, Path, Path]) -> None:
    def missing(command: Sequence[str]) -> tuple[int, str]:
        raise FileNotFoundError(command[0])

    with pytest.raises(llama.NotBuilt, match="no C compiler"):
        llama.build(*folders, missing)
