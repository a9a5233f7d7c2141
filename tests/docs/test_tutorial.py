"""docs/tutorial.md: its plans are the files, its pictures and outputs are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/tutorial.md").read_text()
PLANS = {path.stem: path.read_text() for path in (ROOT / "plans/tutorial").glob("*.toml")}


def test_the_plans_of_the_page_are_those_of_the_folder() -> None:
    shown = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    named = set(re.findall(r"\b(\w+)\.toml\b", PAGE))
    assert set(shown) <= set(PLANS.values())
    assert len(shown) > 4
    assert named == PLANS.keys()


def test_every_picture_is_of_a_bundle_that_the_page_makes() -> None:
    pictures = re.findall(r"images/tutorial-(\w+)\.png", PAGE)
    assert len(pictures) > 3
    for name in pictures:
        assert re.search(rf"--out {name}\b", PAGE), name
        assert (ROOT / f"docs/images/tutorial-{name}.png").stat().st_size < 300_000


def test_every_output_is_filled_in() -> None:
    outputs = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(outputs) > 5
    assert all(output.strip() for output in outputs)
