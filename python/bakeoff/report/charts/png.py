"""PNG pictures of SVG files, made by a process of its own: it takes as long as everything else about a report, and the
library that does it holds the interpreter's lock all the while, and is large: it is the extra `png`. The process only
reads; whoever wants files writes them.

    python -m bakeoff.report.charts.png FILE.svg ... > each picture, its length in eight bytes before it
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from ...errors import BakeoffError

SCALE = 1.5
TIMEOUT_S = 120.0
_LENGTH = struct.Struct(">Q")


class Conversion:
    """Begins at once. Use as a context manager: leaving it ends the process, whatever happened."""

    def __init__(self, drawings: Sequence[Path]) -> None:
        self._where = str(drawings[0].parent) if drawings else ""
        self._made = tempfile.TemporaryFile()  # noqa: SIM115 (closed in __exit__; a pipe would be full before we look)
        command = [sys.executable, "-m", __name__, *map(str, drawings)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._made, stderr=subprocess.PIPE, text=True, process_group=0
        )

    def __enter__(self) -> Conversion:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()
        self._made.close()

    def pictures(self) -> list[bytes]:
        """Of the drawings in their order, when all are made."""
        try:
            _, said = self._process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise BakeoffError(
                f"PNG files of the charts were not made within {TIMEOUT_S:.0f} s: this machine is very busy",
                where=self._where,
                hint="report.html and the SVG files are complete; `bakeoff report --png` on the bundle draws the rest",
            ) from None
        if self._process.returncode:
            last = said.strip().splitlines()[-1:] or ["it said nothing"]
            raise BakeoffError(
                f"could not make PNG files of the charts: {last[0]}",
                where=self._where,
                hint="report.html and the SVG files are complete; the disk may be full",
            )
        self._made.seek(0)
        pictures = []
        while length := self._made.read(_LENGTH.size):
            pictures.append(self._made.read(*_LENGTH.unpack(length)))
        return pictures


def picture(drawing: Path) -> bytes:
    import vl_convert

    return bytes(vl_convert.svg_to_png(drawing.read_text(encoding="utf-8"), scale=SCALE))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        made = picture(Path(name))
        sys.stdout.buffer.write(_LENGTH.pack(len(made)) + made)
