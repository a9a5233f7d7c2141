"""The page of what drivers were tested for names every driver of the build, and every case."""

from __future__ import annotations

import pytest
from bakeoff.systems.options import drivers

from benches.conformance import PAGE, SHAPES, cases, page


def test_the_page_names_every_driver() -> None:
    text = PAGE.read_text()
    for name in drivers():
        assert f" {name} |" in text, f"{name}: run its tests and `python -m benches.conformance`"


@pytest.mark.parametrize("shape", SHAPES)
def test_the_page_names_every_case(shape: str) -> None:
    named = {line.split(" | ")[0].removeprefix("| ") for line in PAGE.read_text().splitlines()}
    assert {case.replace("_", " ") for case in cases(shape)} <= named
    assert len(cases(shape)) >= 10


def test_what_a_driver_did_not_pass_is_no_yes() -> None:
    made = page([("redis", "records", "every_byte_survives"), ("lmdb", "records", "tables_come_and_go")], "2026-01-02")
    assert "| every byte survives | - | yes |" in made
    assert "of 2026-01-02." in made
