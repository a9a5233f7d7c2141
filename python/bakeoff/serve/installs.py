"""`bakeoff systems install`, as a process of its own for each kind of system, whose output we show. It goes on when we
end, as plans do: it writes into a file, not into a pipe that would break.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from ..errors import BakeoffError, PlanError
from ..systems import SYSTEMS
from ..terminal import printable

#: What is shown of what one says.
LINES_MAX = 200
_BYTES_MAX = 64 << 10


@dataclass
class Install:
    """what: as it is written in a terminal, "mariadb@10.11" or "mariadb --from debian"."""

    what: Sequence[str]
    _process: subprocess.Popen[bytes]
    _said: IO[bytes]

    @property
    def code(self) -> int | None:
        """None while it goes on."""
        return self._process.poll()

    @property
    def text(self) -> str:
        """Its last lines."""
        handle = self._said.fileno()  # which shares its place with the process: no seeking
        said = os.pread(handle, _BYTES_MAX, max(0, os.fstat(handle).st_size - _BYTES_MAX)).decode(errors="replace")
        lines = [printable(line) for line in said.splitlines()][-LINES_MAX:]
        return "\n".join([f"bakeoff systems install {' '.join(self.what)}", *lines])


class Installs:
    """The last of each kind. Called from several threads."""

    def __init__(self) -> None:
        self._of: dict[str, Install] = {}
        self._starting = threading.Lock()

    def of(self, kind: str) -> Install | None:
        return self._of.get(kind)

    def start(self, kind: str, version: str, source: str) -> None:
        """version: "" for the newest. source: as of `--from`, "" for any. Does nothing while another installation of
        this kind goes on. Raises PlanError, BakeoffError."""
        sources = SYSTEMS[kind].sources() if kind in SYSTEMS else None
        if sources is None or not sources.fetching():
            raise PlanError(f"there is no system {kind!r} to install")
        if version and not re.fullmatch(r"[0-9][0-9.]{0,30}", version):
            raise PlanError(f"{version!r} is not a version", hint="write one such as 10.11, or nothing for the newest")
        if source:
            sources.source(source)
        with self._starting:
            before = self._of.get(kind)
            if before is not None and before.code is None:
                return
            what = [f"{kind}@{version}" if version else kind, *(["--from", source] if source else [])]
            said: IO[bytes] | None = None
            try:
                said = tempfile.TemporaryFile()  # noqa: SIM115 - read until another install of this kind replaces it
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "bakeoff", "systems", "install", *what],
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                )
            except OSError as error:
                if said is not None:
                    said.close()
                raise BakeoffError(f"cannot start {sys.executable}: {error.strerror}") from None
            self._of[kind] = Install(what, process, said)
            threading.Thread(target=process.wait, daemon=True).start()  # else it stays a zombie
