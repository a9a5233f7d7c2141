"""Programs of npm packages, and the Node.js that runs them; fetched by the machine's own npm, which knows its mirrors.

Which packages a program consists of, with their checksums, is in a lock file next to the code that wants it, one for
each version of the program: npm takes these and no others. No package's own scripts are run. Such a file is made by

    npm install --package-lock-only --ignore-scripts NAME@VERSION

and may be without `resolved`, which names one mirror.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff.provision.cache import CachedProgram, Content, Part, Progress, sha256_of
from bakeoff.provision.installation import Installation
from bakeoff.provision.locked import LockedSource, run_packager

PACKAGER = "npm"


@dataclass(frozen=True)
class NodeInstallation(Installation):
    """`program` is Node.js. script: what it runs."""

    script: Path = Path()


def lacks_node() -> str | None:
    """Why programs of npm packages do not run here; None: they do."""
    return "node not found (install Node.js)" if shutil.which("node") is None else None


class Npm(LockedSource):
    """locks: a folder of lock files. script: in the program's `package`; by default it has the product's name."""

    name = "npm"
    needs = "npm, Node.js"

    def __init__(
        self, product: str, locks: Path, script: str, sizes_mib: Mapping[str, tuple[int, int]], *, package: str = ""
    ) -> None:
        program = f"node_modules/{package or product}/{script}"
        super().__init__(product, program, [*locks.glob("*.json")], sizes_mib)

    def _installed(self, one: CachedProgram) -> list[Installation]:
        node = shutil.which("node")
        if node is None:
            return []
        described = f"npm: {self._product}@{one.version}"
        script = one.root / self._program
        return [NodeInstallation(one.version, self.name, described, Path(node), packager=PACKAGER, script=script)]

    def lacks(self) -> str | None:
        return lacks_node() or ("npm not found (install npm)" if shutil.which("npm") is None else None)

    def _fetch(self, version: str, scratch: Path, root: Path, say: Progress) -> Content:
        lock = self._locks[version]
        packages = json.loads(lock.read_text())["packages"]
        say(f"{self._product} {version}: downloading {len(packages) - 1} packages")
        shutil.copyfile(lock, root / "package-lock.json")
        (root / "package.json").write_text(json.dumps(packages[""]))
        argv = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", f"--cache={scratch / 'npm'}"]
        run_packager("npm", argv, root, f"{self._product}@{version}", _said)
        return Content(version, version, (Part(self._product, version, "", sha256_of(lock)),))


class NpmLibrary(Npm):
    """A shared library in a package. It needs no Node.js."""

    needs = "npm"

    def _installed(self, one: CachedProgram) -> list[Installation]:
        described = f"npm: {self._product}@{one.version}"
        return [Installation(one.version, self.name, described, one.root / self._program, packager=PACKAGER)]

    def lacks(self) -> str | None:
        own = "install npm, or name a library of your own with `library`"
        return f"npm not found ({own})" if shutil.which("npm") is None else None


def _said(errors: str) -> str:
    said = next((line for line in errors.splitlines() if "npm error" in line), errors.strip()[-300:])
    return said.removeprefix("npm error ")
