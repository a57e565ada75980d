"""Put the program and its data into the wheel; hatchling calls this."""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

from program import NotBuiltError, compile_program, listed

ALONE = "adapters/pytest/kvconform_pytest.py"
"""A module of its own in the wheel, where pytest finds it."""


class ProgramHook(BuildHookInterface[Any]):
    """Compiles the program for this machine."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds what the wheel consists of beside its Python package."""
        if version == "editable":
            raise NotBuiltError("a C program cannot be installed as editable; ./bootstrap build makes one here")
        root = Path(self.root)
        self.scratch = Path(tempfile.mkdtemp())
        program = compile_program(root, self.metadata.version, self.scratch)
        # Any Python 3 on this kind of machine: the wheel has no module in C.
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        data = listed((root / "Makefile.am").read_text(encoding="utf-8"), "nobase_dist_pkgdata_DATA")
        cases = [str(path.relative_to(root)) for path in sorted(root.glob("cases/**/*.json"))]
        included = build_data["force_include"]
        included[str(program)] = "kvconform/bin/kvconform"
        included[ALONE] = Path(ALONE).name
        for name in [*data, *cases]:
            if name != ALONE:
                included[name] = f"kvconform/share/kvconform/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes what was compiled."""
        del version, build_data, artifact_path
        shutil.rmtree(self.scratch)
