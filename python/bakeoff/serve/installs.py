"""`bakeoff systems install`, as a process of its own for each kind of system, whose output we show."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from dataclasses import dataclass, field

from ..errors import BakeoffError, PlanError
from ..systems import SYSTEMS
from ..terminal import printable

#: What is shown of what one says.
LINES_MAX = 200


@dataclass
class Install:
    """what: "mariadb@10.11". code: None while it goes on."""

    what: str
    lines: list[str] = field(default_factory=list)
    code: int | None = None

    @property
    def text(self) -> str:
        return "\n".join([f"bakeoff systems install {self.what}", *self.lines])


class Installs:
    """The last of each kind. Called from several threads."""

    def __init__(self) -> None:
        self._of: dict[str, Install] = {}
        self._starting = threading.Lock()

    def of(self, kind: str) -> Install | None:
        return self._of.get(kind)

    def start(self, kind: str, version: str) -> None:
        """version: "" for the newest. Does nothing while another installation of this kind goes on. Raises PlanError,
        BakeoffError."""
        sources = SYSTEMS[kind].sources() if kind in SYSTEMS else None
        if sources is None or not sources.fetching():
            raise PlanError(f"there is no system {kind!r} to install")
        if version and not re.fullmatch(r"[0-9][0-9.]{0,30}", version):
            raise PlanError(f"{version!r} is not a version", hint="write one such as 10.11, or nothing for the newest")
        with self._starting:
            before = self._of.get(kind)
            if before is not None and before.code is None:
                return
            one = Install(f"{kind}@{version}" if version else kind)
            try:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "bakeoff", "systems", "install", one.what],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    start_new_session=True,
                )
            except OSError as error:
                raise BakeoffError(f"cannot start {sys.executable}: {error.strerror}") from None
            self._of[kind] = one
            threading.Thread(target=_listen, args=(process, one), daemon=True).start()


def _listen(process: subprocess.Popen[str], one: Install) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        one.lines = [*one.lines, printable(line.rstrip("\n"))][-LINES_MAX:]
    one.code = process.wait()
