"""Every word beside a figure is explained in docs/reference/messages.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from bakeoff.analysis import validity
from bakeoff.analysis.validity.checks import ERRORS
from bakeoff.analysis.validity.disturbance import KINDS
from bakeoff.report.words.meanings import CHECKS, VERDICTS

EXPLAINED = {one.name for checks in CHECKS.values() for one in checks}


def named_in(source: str) -> set[str]:
    """The names that are given to `finding`, as literals."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    named = (call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "finding")
    return {name.value for name in named if isinstance(name, ast.Constant) and isinstance(name.value, str)}


def test_every_check_is_explained() -> None:
    folder = Path(validity.__file__).parent
    found = set().union(*(named_in(path.read_text()) for path in folder.glob("*.py")))
    assert len(found) > 15
    assert found | {ERRORS} | {kind.name for kind in KINDS} == EXPLAINED - {"run failed", "run lost"}


def test_every_verdict_is_explained() -> None:
    said = {word for one in VERDICTS for word in re.split(", ", one.name)}
    assert {"faster", "slower", "equivalent", "undecided", "invalid runs", "too few operations"} <= said
