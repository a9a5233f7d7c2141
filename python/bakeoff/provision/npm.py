"""Programs of npm packages, and the Node.js that runs them; fetched by the machine's own npm, which knows its mirrors.

Which packages a program consists of, with their checksums, is in a lock file next to the code that wants it, one for
each version of the program: npm takes these and no others. No package's own scripts are run. Such a file is made by

    npm install --package-lock-only --ignore-scripts NAME@VERSION

and may be without `resolved`, which names one mirror.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import ServerError
from bakeoff.provision.cache import CachedProgram, Content, Part, Progress, sha256_of
from bakeoff.provision.installation import (
    CachedSource,
    Installation,
    NotOffered,
    Offer,
    Size,
    version_fits,
    version_key,
)
from bakeoff.terminal import said_if_slow

PACKAGER = "npm"
_TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class NodeInstallation(Installation):
    """`program` is Node.js. script: what it runs."""

    script: Path = Path()


def lacks_node() -> str | None:
    """Why programs of npm packages do not run here; None: they do."""
    return "node not found (install Node.js)" if shutil.which("node") is None else None


class Npm(CachedSource):
    """locks: a folder of lock files, each named by the version of the program. script: in the program's `package`; by
    default it has the product's name. sizes_mib: of all packages together: fetched, unpacked."""

    name = "npm"
    needs = "npm, Node.js"

    def __init__(
        self, product: str, locks: Path, script: str, sizes_mib: Mapping[str, tuple[int, int]], *, package: str = ""
    ) -> None:
        super().__init__(product, f"node_modules/{package or product}/{script}")
        self._locks = {path.stem: path for path in locks.glob("*.json")}
        self._sizes = {version: Size(*size) for version, size in sizes_mib.items()}

    def _installed(self, one: CachedProgram) -> list[Installation]:
        node = shutil.which("node")
        if node is None:
            return []
        described = f"npm: {self._product}@{one.version}"
        script = one.root / self._program
        return [NodeInstallation(one.version, self.name, described, Path(node), packager=PACKAGER, script=script)]

    def lacks(self) -> str | None:
        return lacks_node() or ("npm not found (install npm)" if shutil.which("npm") is None else None)

    def versions(self) -> list[str]:
        return sorted(self._locks, key=version_key)

    def offers(self) -> list[Offer]:
        return [Offer(version, self._sizes.get(version)) for version in self.versions()]

    def fetch(self, version: str | None, say: Progress) -> CachedProgram:
        fitting = [one for one in self.versions() if version is None or version_fits(one, version)]
        if not fitting:
            raise NotOffered(f"bakeoff knows {self._product} {self.offer()} of npm's, not {version}")
        chosen = fitting[-1]
        return self._cached_or(chosen, lambda scratch, root: self._fetch(chosen, scratch, root, say), say)

    def _fetch(self, version: str, scratch: Path, root: Path, say: Progress) -> Content:
        lock = self._locks[version]
        packages = json.loads(lock.read_text())["packages"]
        say(f"{self._product} {version}: downloading {len(packages) - 1} packages")
        shutil.copyfile(lock, root / "package-lock.json")
        (root / "package.json").write_text(json.dumps(packages[""]))
        _run_npm(root, scratch, f"{self._product}@{version}")
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


def _run_npm(folder: Path, scratch: Path, what: str) -> None:
    """Puts what the folder's lock file names into it. Raises ServerError."""
    argv = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", f"--cache={scratch / 'npm'}"]
    try:
        with said_if_slow(f"npm downloads {what} (timeout {_TIMEOUT_S:.0f} s)"):
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
                timeout=_TIMEOUT_S,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError(f"could not download {what}: {error}", hint="check that `npm` works here") from error
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "npm error" in line), done.stderr.strip()[-300:])
        raise ServerError(
            f"npm could not download {what}: {said.removeprefix('npm error ')[:400]}",
            hint="check the network and npm's settings, and retry",
        )
