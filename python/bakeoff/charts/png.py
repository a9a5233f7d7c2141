"""PNG files beside SVG files, made by a process of its own: it takes as long as everything else about a report, and
the library that does it holds the interpreter's lock all the while.

    python -m bakeoff.charts.png FILE.svg ...
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import BakeoffError

SCALE = 1.5
TIMEOUT_S = 120.0


class Conversion:
    """Begins at once; `wait` for its end. Give it the files as they will be named."""

    def __init__(self, drawings: Sequence[Path]) -> None:
        self.files = [path.with_suffix(".png") for path in drawings]
        command = [sys.executable, "-m", __name__, *map(str, drawings)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def wait(self) -> None:
        try:
            _, said = self._process.communicate(timeout=TIMEOUT_S)
        except BaseException as error:
            self._process.kill()
            self._process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise BakeoffError(
                    f"PNG files of the charts were not made within {TIMEOUT_S:.0f} s: this machine is very busy",
                    where=str(self.files[0].parent),
                    hint="report.html and the SVG files are there; `bakeoff report` on the bundle makes the rest",
                ) from None
            raise
        if self._process.returncode:
            last = said.strip().splitlines()[-1:] or ["it said nothing"]
            raise BakeoffError(
                f"could not make PNG files of the charts: {last[0]}",
                where=str(self.files[0].parent),
                hint="report.html and the SVG files are there; the disk may be full",
            )


def convert(drawing: Path) -> Path:
    import vl_convert

    path = drawing.with_suffix(".png")
    path.write_bytes(vl_convert.svg_to_png(drawing.read_text(encoding="utf-8"), scale=SCALE))
    return path


if __name__ == "__main__":
    for name in sys.argv[1:]:
        convert(Path(name))
