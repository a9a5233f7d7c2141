"""What is fetched by a lock file: a program and all packages that it consists of, with their checksums, in a file next
to the code that wants it, one for each version of the program. A packager of this machine (npm, pip) takes these and
no others."""

from __future__ import annotations

import subprocess
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bakeoff.errors import ServerError
from bakeoff.provision.cache import CachedProgram, Content, Progress
from bakeoff.provision.installation import CachedSource, NotOffered, Offer, Size, version_fits, version_key
from bakeoff.terminal import said_if_slow

_TIMEOUT_S = 1800.0


class LockedSource(CachedSource):
    """program: as of CachedSource. locks: the lock files, each named by the version. sizes_mib: of all packages
    together: fetched, unpacked."""

    def __init__(self, product: str, program: str, locks: Sequence[Path], sizes_mib: Mapping[str, tuple[int, int]]):
        super().__init__(product, program)
        self._locks = {path.stem: path for path in locks}
        self._sizes = {version: Size(*size) for version, size in sizes_mib.items()}

    def versions(self) -> list[str]:
        return sorted(self._locks, key=version_key)

    def offers(self) -> list[Offer]:
        return [Offer(version, self._sizes.get(version)) for version in self.versions()]

    def fetch(self, version: str | None, say: Progress) -> CachedProgram:
        fitting = [one for one in self.versions() if version is None or version_fits(one, version)]
        if not fitting:
            raise NotOffered(f"bakeoff knows {self._product} {self.offer()} of {self.name}, not {version}")
        chosen = fitting[-1]
        return self._cached_or(chosen, lambda scratch, root: self._fetch(chosen, scratch, root, say), say)

    @abstractmethod
    def _fetch(self, version: str, scratch: Path, root: Path, say: Progress) -> Content: ...


def run_packager(name: str, argv: Sequence[str | Path], folder: Path, what: str, said: Callable[[str], str]) -> None:
    """Downloads `what`. said: from its errors what went wrong. Raises ServerError."""
    try:
        with said_if_slow(f"{name} downloads {what} (timeout {_TIMEOUT_S:.0f} s)"):
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
        raise ServerError(f"could not download {what}: {error}", hint=f"check that `{name}` works here") from error
    if done.returncode:
        raise ServerError(
            f"{name} could not download {what}: {said(done.stderr)[:400]}",
            hint=f"check the network and {name}'s settings, and retry",
        )
