"""[verify] in a plan: what it may say, and what is refused."""

from __future__ import annotations

import pytest
from bakeoff.plan.document.tables import VerifyTable
from builders.plans import read, refused


def test_a_plan_verifies_only_where_it_says_so_and_then_has_defaults() -> None:
    assert read().verify is None
    assert "verify" not in read().record.resolved
    found = read(rest="[verify]")
    assert found.verify == VerifyTable(seconds=6.0, tries=3, schedules=[])
    assert found.record.resolved["verify"] == {"seconds": 6.0, "tries": 3, "schedules": []}


def test_verifying_is_no_part_of_what_a_cell_is() -> None:
    assert read(rest="[verify]").cells[0].record.id == read().cells[0].record.id


@pytest.mark.parametrize(
    ("said", "what", "hint"),
    [
        ("schedules = ['G2item']", "there is no schedule G2item", "did you mean `G2-item`?"),
        ("second = 3", "unknown key `second`", "did you mean `seconds`?"),
        ("seconds = 601", "seconds", "600"),
        ("tries = 0", "tries", "1"),
    ],
)
def test_what_nobody_can_verify_is_refused_with_its_line(said: str, what: str, hint: str) -> None:
    error = refused(rest=f"[verify]\n{said}")
    assert what in error.what
    assert hint in f"{error.what} {error.hint}"
    assert "[verify]" in error.where
