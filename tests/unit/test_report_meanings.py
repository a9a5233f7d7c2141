"""Every word next to a figure is explained in docs/reference/messages.md, with a sentence of the program."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from bakeoff.analysis import validity
from bakeoff.analysis.validity.checks import ERRORS, OPERATIONS
from bakeoff.analysis.validity.disturbance import KINDS
from bakeoff.report.words import doubts
from bakeoff.report.words.meanings import CERTAINTIES, CHECKS, DOUBTS, OTHER_ROWS, VERDICTS, Meaning

ROOT = Path(__file__).parents[2]
EXPLAINED = {one.name for checks in CHECKS.values() for one in checks}
#: Their words are those of whatever failed.
ALWAYS_DIFFERENT = {"run failed", "run lost"}


def named_in(source: str) -> set[str]:
    """The names that are given to `finding`, as literals."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    named = (call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "finding")
    return {name.value for name in named if isinstance(name, ast.Constant) and isinstance(name.value, str)}


def test_every_check_is_explained() -> None:
    folder = Path(validity.__file__).parent
    found = set().union(*(named_in(path.read_text()) for path in folder.glob("*.py")))
    assert len(found) > 15
    assert found | {ERRORS, OPERATIONS} | {kind.name for kind in KINDS} == EXPLAINED - {"run failed", "run lost"}


def test_every_verdict_is_explained() -> None:
    said = {word for one in VERDICTS for word in re.split(", ", one.name)}
    assert {"faster", "slower", "equivalent", "undecided", "invalid runs", "too few operations"} <= said


def templates(folder: Path) -> list[re.Pattern[str]]:
    """The texts of a folder's modules; in place of what is filled in, anything."""
    found = []
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = [str(part.value) if isinstance(part, ast.Constant) else None for part in parts]
            if len("".join(filter(None, texts))) >= 10 and (isinstance(node, ast.JoinedStr) or texts[0] is not None):
                found.append(re.compile("".join(".*?" if text is None else re.escape(text) for text in texts)))
    return found


def covered(example: str, among: list[re.Pattern[str]]) -> bool:
    return any(one.search(example) for one in among)


@pytest.mark.parametrize("one", [one for checks in CHECKS.values() for one in checks], ids=lambda one: one.name)
def test_an_example_of_a_check_is_a_sentence_of_the_program(one: Meaning) -> None:
    assert bool(one.example) == (one.name not in ALWAYS_DIFFERENT)
    folder = Path(validity.__file__).parent
    assert not one.example or covered(one.example, templates(folder))


@pytest.mark.parametrize("one", DOUBTS, ids=lambda one: one.name)
def test_an_example_of_a_doubt_is_a_sentence_of_the_program(one: Meaning) -> None:
    assert covered(one.example, templates(Path(doubts.__file__).parent))


def test_every_verdict_and_certainty_of_a_first_screen_is_explained() -> None:
    explained = {word for one in (*VERDICTS, *OTHER_ROWS) for word in one.name.split(", ")}
    certainties = {re.sub(r"\d+", "N", one.name) for one in CERTAINTIES}
    seen, states = set(), set()
    for screen in (ROOT / "tests/golden/first_screens.txt").read_text().split("--- ")[1:]:
        for line in screen.splitlines()[1:]:
            if re.match(r"(SHOWN|UNDECIDED|MEASURED|NOT TRUSTWORTHY)", line):
                states.add(re.sub(r"\d+", "N", re.split(r":|, but", line)[0].lower()))
            elif "█" in line or line.rstrip().endswith(("not valid", "holds up to it", "missed")):
                seen.add(re.sub(r" \(.*", "", re.split(r"  +", line.rstrip())[-1]))
    assert len(seen) > 8
    assert len(states) > 4
    assert {word for word in seen if re.fullmatch(r"[a-z][a-z ]+", word)} <= explained
    assert states <= certainties
