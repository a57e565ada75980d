"""Compile the program with a C compiler alone, without configure and make.

The files, the definitions and the flags are those of the other build: they are read from Makefile.am and configure.ac,
so that there is one list of each. CC and CFLAGS are the user's own (cc, gcc or clang, and -O2), as are CPPFLAGS and
LDFLAGS. cJSON is the copy in packaging/vendor, for a wheel must not depend on what a machine happens to have.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

VENDOR = Path("packaging", "vendor")


class NotBuiltError(Exception):
    """Why there is no program: what a user can act on."""


def listed(makefile: str, name: str) -> list[str]:
    """The words of a variable of Makefile.am, over all its lines."""
    found = re.search(rf"^{re.escape(name)} *= *((?:.*\\\n)*.*)$", makefile, re.MULTILINE)
    if found is None:
        raise NotBuiltError(f"Makefile.am has no {name}")
    return found.group(1).replace("\\\n", " ").split()


def probed(configure: str, name: str) -> list[str]:
    """The flags that configure.ac takes into a variable as far as the compiler knows them."""
    found = re.search(rf"^KVC_PROBE_FLAGS\(\[{name}\], \[([^\]]*)\]\)", configure, re.MULTILINE)
    if found is None:
        raise NotBuiltError(f"configure.ac probes no flags for {name}")
    return found.group(1).split()


def call(command: list[str], where: Path, what: str) -> None:
    """Runs a command of the compiler in a folder. Raises NotBuiltError with what it said."""
    done = subprocess.run(
        command, cwd=where, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise NotBuiltError(f"{what} failed ({shlex.join(command)}):\n{said[-4000:]}")


class Compiler:
    """A C compiler, and the folder that it writes to."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.command = self.find()

    def find(self) -> list[str]:
        """The first that can make a program. Raises NotBuiltError."""
        given = os.environ.get("CC", "")
        for text in [given] if given else ["cc", "gcc", "clang"]:
            self.command = shlex.split(text)
            if self.takes():
                return self.command
        tried = given or "cc, gcc, clang"
        raise NotBuiltError(f"no C compiler works (tried: {tried}); Debian packages: gcc libc6-dev; CC names another")

    def takes(self, *flags: str) -> bool:
        """Whether it compiles and links an empty program with these flags. -Werror, for clang only warns of others."""
        source = self.scratch / "probe.c"
        source.write_text("#include <stdio.h>\nint main(void) { return 0; }\n", encoding="utf-8")
        command = [*self.command, "-Werror", *flags[:1], str(source), "-o", str(self.scratch / "probe"), *flags[1:]]
        try:
            return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
        except OSError:
            return False


def words(name: str, standard: str = "") -> list[str]:
    """The words of an environment variable."""
    return shlex.split(os.environ.get(name, standard))


def compile_program(root: Path, version: str, scratch: Path) -> Path:
    """Compiles the sources below `root` into the empty folder `scratch`, as many at once as there are processors.

    Returns the program. Raises NotBuiltError.
    """
    makefile = (root / "Makefile.am").read_text(encoding="utf-8")
    configure = (root / "configure.ac").read_text(encoding="utf-8")
    compiler = Compiler(scratch)
    names = [*listed(makefile, "libkvconform_a_SOURCES"), *listed(makefile, "bin_kvconform_SOURCES")]
    sources = [Path(name) for name in names if name.endswith(".c")] + [VENDOR / "cjson" / "cJSON.c"]
    defined = [word for word in listed(makefile, "AM_CPPFLAGS") if word.startswith("-D") and "$(" not in word]

    def taken(name: str) -> list[str]:
        return [flag for flag in probed(configure, name) if compiler.takes(flag)]

    if not taken("KVC_STANDARD"):
        name = shlex.join(compiler.command)
        raise NotBuiltError(f"{name} does not take -std=c11; a C11 compiler is needed (Debian package: gcc)")
    libraries = [f"-l{name}" for _, name in re.findall(r"AC_SEARCH_LIBS\(\[(\w+)\], \[(\w+)\]\)", configure)]
    compiling = [*taken("KVC_STANDARD"), *taken("KVC_HARDENING"), *words("CFLAGS", "-O2")]
    including = ["-I.", "-Iinclude", f"-I{VENDOR}", *defined, "-D_FILE_OFFSET_BITS=64", f'-DKVC_VERSION="{version}"']

    def compile_one(numbered: tuple[int, Path]) -> str:
        number, source = numbered
        to = scratch / f"{number}-{source.stem}.o"
        flags = [*including, *words("CPPFLAGS"), *compiling]
        call([*compiler.command, *flags, "-c", str(source), "-o", str(to)], root, f"compiling {source}")
        return str(to)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, enumerate(sources)))
    program = scratch / "kvconform"
    linking = [*taken("KVC_LINK_HARDENING"), *taken("KVC_EXPORT"), *words("CFLAGS", "-O2"), *words("LDFLAGS")]
    needed = [library for library in libraries if compiler.takes("-O0", library)]
    call([*compiler.command, *linking, *objects, "-o", str(program), *needed], root, "linking kvconform")
    return program
