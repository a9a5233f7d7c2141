"""Programs of Python packages, each in an environment of its own: a folder of packages that the machine's own pip (it
knows its mirrors) fills, and that nothing else of Python's is next to.

Lock files are lists of requirements, all that there are, with the checksums of every wheel that may be taken (of four
versions of Python, for two architectures). pip takes wheels alone, so no package's own code runs while it is installed.
Such a list is made of the packages in an environment (`pip freeze`) and, for each version and architecture, of

    pip install --dry-run --report REPORT --no-deps --only-binary=:all: --target X --python-version 3.12 \\
        --platform manylinux2014_x86_64 --requirement LIST
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff.provision.cache import CachedProgram, Content, Part, Progress, searchable_by_others, sha256_of
from bakeoff.provision.installation import Installation
from bakeoff.provision.locked import LockedSource, run_packager

PACKAGER = "PyPI"
#: Compiled packages are of one version of Python, that of the one that runs bakeoff.
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
_PLACES = (sys.executable, f"/usr/bin/{_PYTHON}", f"/usr/local/bin/{_PYTHON}")


def interpreter() -> Path | None:
    """The Python that runs them: not an environment's own link, and for root one that other accounts may run, which
    servers have."""
    real = (Path(place).resolve() for place in _PLACES if os.access(place, os.X_OK))
    return next((one for one in real if os.geteuid() != 0 or searchable_by_others(one)), None)


def lacks_python() -> str | None:
    """Why such programs do not run here; None: they do."""
    return None if interpreter() else f"no {_PYTHON} that other accounts may run, as servers of root do"


@dataclass(frozen=True)
class PipInstallation(Installation):
    """`program` is Python. packages: a folder of what it may import."""

    packages: Path = Path()

    def module(self, code: str) -> list[str | Path]:
        """Command of a program in Python, which sees these packages and nothing else."""
        found = f"import sys; sys.path.insert(0, sys.argv.pop(1)); {code}"
        return [self.program, "-I", "-S", "-c", found, self.packages]


class Pip(LockedSource):
    """locks: a folder of lists. module: of the program's package, a file of it."""

    name = "pypi"
    needs = "pip"

    def __init__(self, product: str, locks: Path, module: str, sizes_mib: Mapping[str, tuple[int, int]]) -> None:
        super().__init__(product, f"{_PYTHON}/{module}", [*locks.glob("*.txt")], sizes_mib)

    def _installed(self, one: CachedProgram) -> list[Installation]:
        python = interpreter()
        if python is None:
            return []
        packages = one.root / _PYTHON
        described = f"PyPI: {self._product} {one.version}"
        return [PipInstallation(one.version, self.name, described, python, packager=PACKAGER, packages=packages)]

    def lacks(self) -> str | None:
        has_pip = importlib.util.find_spec("pip") is not None
        return lacks_python() or (None if has_pip else f"pip not found ({sys.executable} -m ensurepip)")

    def _fetch(self, version: str, scratch: Path, root: Path, say: Progress) -> Content:
        lock = self._locks[version]
        say(f"{self._product} {version}: downloading {len(lock.read_text().splitlines())} packages")
        argv: list[str | Path] = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        argv += ["--no-cache-dir", "--no-deps", "--only-binary=:all:", "--require-hashes"]
        argv += ["--target", root / _PYTHON, "--requirement", lock]
        run_packager("pip", argv, scratch, f"{self._product} {version}", _said)
        part = Part(self._product, version, "", sha256_of(lock))
        return Content(version, f"{version}-{_PYTHON}", (part,))


def _said(errors: str) -> str:
    lines = [line.removeprefix("ERROR: ") for line in errors.splitlines() if line.startswith("ERROR: ")]
    return lines[0] if lines else errors.strip()[-300:]
