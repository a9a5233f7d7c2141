"""docs/reference/python.md: every block runs, and prints what stands under it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from builders.bundles import Story, write_bundle

PAGE = Path(__file__).parents[2] / "docs/reference/python.md"
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
STORY = Story(presets=("a",), threads=(1, 4, 16), window_s=20, warm_up_s=4, histograms=("read",))


def blocks() -> Iterator[tuple[str, str]]:
    yield from BLOCK.findall(PAGE.read_text())


def test_every_block_of_the_page_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bundle(tmp_path / "my-bundle", STORY)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code, printed in blocks():
        out = StringIO()
        with redirect_stdout(out):
            exec(compile(code, str(PAGE), "exec"), names)
        assert out.getvalue() == printed, code
    assert (tmp_path / "throughput.svg").read_text().startswith("<svg")


def test_the_names_that_the_page_promises_are_there() -> None:
    rows = re.findall(r"^\| `(bakeoff[\w.]*)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) > 5
    for module, names in rows:
        loaded = __import__(module, fromlist=["_"])
        for name in re.findall(r"`(\w+)`", names.split("; of what it returns")[0].split(" (")[0]):
            assert hasattr(loaded, name), f"{module}.{name}"


def test_importing_the_room_of_bundles_loads_nothing_heavy() -> None:
    code = "import sys, bakeoff.bundle; print({'numpy', 'pyarrow', 'pydantic'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
