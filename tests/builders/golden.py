"""Golden files: what people look at, kept under tests/golden and reviewed by eye when it changes.

BAKEOFF_UPDATE_GOLDEN=1 python -m pytest tests/unit/test_report_text.py
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "golden"


def assert_golden(name: str, text: str) -> None:
    path = FOLDER / name
    if os.environ.get("BAKEOFF_UPDATE_GOLDEN"):
        path.write_text(text)
    assert path.is_file(), f"tests/golden/{name} is missing; run with BAKEOFF_UPDATE_GOLDEN=1"
    assert text == path.read_text(), f"differs from tests/golden/{name}; BAKEOFF_UPDATE_GOLDEN=1 accepts the change"
