"""Compile the adapter for llama.cpp against a copy of it, once for each of both.

The adapter is C and must be compiled against the very `llama.h` of the library that it drives, whose structs change from
version to version. So it is compiled here, when the target is first asked for, as environments are made for Python subjects:
kvconform itself needs no llama.cpp to be built, and one kvconform can drive several. What was compiled is kept; its name says
from what.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

Call = Callable[[Sequence[str]], tuple[int, str]]
"""Runs a command; returns its exit status and what it printed."""

NAME = "libllama.dylib" if sys.platform == "darwin" else "libllama.so"


class NotBuilt(Exception):
    """Why there is no adapter: one line."""


SOURCE = "llama.cpp_SOURCE_DIR:STATIC="
"""What stands in the cache of a CMake build before the folder of its sources."""


def source_folder(prefix: Path) -> Path:
    """Where headers are: in the prefix itself, or in the source tree that a build folder says it was made from."""
    if (prefix / "include" / "llama.h").is_file():
        return prefix
    try:
        lines = (prefix / "CMakeCache.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith(SOURCE) and (Path(line[len(SOURCE) :]) / "include" / "llama.h").is_file():
            return Path(line[len(SOURCE) :])
    raise NotBuilt(f"{prefix} has no include/llama.h, and is no build folder of llama.cpp")


def include_folders(prefix: Path) -> list[Path]:
    """Those of an installed llama.cpp, or of its source tree."""
    source = source_folder(prefix)
    return [folder for folder in (source / "include", source / "ggml" / "include") if folder.is_dir()]


def library_folder(prefix: Path) -> Path:
    """Where the libraries lie: installed, in a build folder, or in one that lies below the sources as `build`."""
    for place in ("lib", "lib64", "bin", "build/bin"):
        if (prefix / place / NAME).exists():
            return prefix / place
    raise NotBuilt(f"{prefix} has no {NAME} in lib, lib64, bin or build/bin (a build needs BUILD_SHARED_LIBS=ON)")


def compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def digest_of(files: Sequence[Path], command: Sequence[str]) -> str:
    """A name for what comes of these files: their content and the compiler's words, of libraries their date and size."""
    digest = hashlib.sha256()
    for word in command:
        digest.update(word.encode() + b"\0")
    for file in files:
        if file.name == NAME:
            status = file.stat()
            digest.update(f"{status.st_mtime_ns} {status.st_size}".encode())
        else:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def build(data: Path, prefix: Path, plugins: Path, call: Call) -> Path:
    """The path of the adapter, a plugin; compiled into the folder `plugins` when it is not there. Raises NotBuilt or OSError."""
    folder = data / "adapters" / "llama.cpp"
    part = folder / "standalone.c"  # of the programs that the adapter writes, not of itself
    sources = [file for file in sorted(folder.glob("*.c")) if file != part]
    headers = sorted(folder.glob("*.h"))
    interface = data / "include" / "kvconform" / "plugin.h"
    if not sources or not interface.is_file():
        raise NotBuilt(f"{data} lacks the sources of the adapter")
    includes = include_folders(prefix)
    library = library_folder(prefix)
    command = [*compiler(), "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-fPIC", "-shared", "-fvisibility=hidden"]
    command += [f"-I{data / 'include'}", *(f"-I{place}" for place in includes), f'-DKVC_LLAMA_SOURCES="{folder}"']
    command += map(str, sources)
    command += [f"-L{library}", f"-Wl,-rpath,{library}", "-lllama", "-lggml", "-lggml-base", "-lm"]
    files = [*sources, *headers, part, interface, includes[0] / "llama.h", library / NAME]
    plugin = plugins / f"llama.cpp-{digest_of(files, command)}.so"
    if plugin.exists():
        return plugin
    plugins.mkdir(parents=True, exist_ok=True)
    draft = plugin.with_name(f"{plugin.name}.{os.getpid()}")
    try:
        status, output = call([*command, "-o", str(draft)])
    except FileNotFoundError:
        raise NotBuilt("there is no C compiler (Debian package: gcc)") from None
    if status != 0:
        draft.unlink(missing_ok=True)
        lines = [line for line in output.splitlines() if "error" in line] or output.splitlines() or ["it printed nothing"]
        raise NotBuilt(f"the adapter cannot be compiled: {lines[0].strip()[:300]}")
    draft.replace(plugin)
    return plugin
