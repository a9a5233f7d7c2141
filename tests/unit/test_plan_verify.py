"""[verify] in a plan: what it may say, and what is refused."""

from __future__ import annotations

import pytest
from bakeoff.plan.document.tables import VerifyTable
from builders.plans import read, refused


def test_a_plan_verifies_only_where_it_says_so_and_then_has_defaults() -> None:
    assert read().verify is None
    assert "verify" not in read().record.resolved
    found = read(rest="[verify]")
    assert found.verify == VerifyTable(seconds=None, tries=3, schedules=[], probe=False)
    assert found.record.resolved["verify"] == {"tries": 3, "schedules": [], "probe": False}


def test_verifying_is_no_part_of_what_a_cell_is() -> None:
    assert read(rest="[verify]").cells[0].record.id == read().cells[0].record.id


def test_a_run_with_a_probe_next_to_it_is_another_run() -> None:
    probed = read(rest="[verify]\nprobe = true")
    assert probed.verify is not None
    assert probed.verify.probe
    assert probed.cells[0].record.id != read().cells[0].record.id


@pytest.mark.parametrize(
    ("said", "what", "hint"),
    [
        ("schedules = ['G2item']", "there is no schedule G2item", "did you mean `G2-item`?"),
        ("second = 3", "unknown key `second`", "did you mean `seconds`?"),
        ("probe = 0.01", "probe", "true"),
        ("seconds = 601", "seconds", "600"),
        ("tries = 0", "tries", "1"),
    ],
)
def test_what_nobody_can_verify_is_refused_with_its_line(said: str, what: str, hint: str) -> None:
    error = refused(rest=f"[verify]\n{said}")
    assert what in error.what
    assert hint in f"{error.what} {error.hint}"
    assert "[verify]" in error.where
