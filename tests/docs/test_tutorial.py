"""docs/tutorial.md and docs/questions.md: their plans are the files, their pictures and outputs are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benches.tutorial import disturbed_outputs

ROOT = Path(__file__).parents[2]
PAGES = ("tutorial", "questions")
PLAN_LINES_MAX = 25


def text_of(page: str) -> str:
    return (ROOT / f"docs/{page}.md").read_text()


def plans_of(page: str) -> dict[str, str]:
    return {path.stem: path.read_text() for path in (ROOT / "plans" / page).glob("*.toml")}


@pytest.mark.parametrize("page", PAGES)
def test_the_plans_of_the_page_are_those_of_the_folder(page: str) -> None:
    plans, text = plans_of(page), text_of(page)
    shown = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    named = set(re.findall(r"\b(\w+)\.toml\b", text))
    assert set(shown) <= set(plans.values())
    assert len(shown) > 4
    assert named == plans.keys()
    assert all(plan.count("\n") <= PLAN_LINES_MAX for plan in plans.values())


@pytest.mark.parametrize("page", PAGES)
def test_every_picture_is_of_a_bundle_that_the_page_makes(page: str) -> None:
    pictures = re.findall(rf"images/{page}-(\w+)\.png", text_of(page))
    assert len(pictures) > 3
    for name in pictures:
        assert re.search(rf"--out {name}\b", text_of(page)), name
        assert (ROOT / f"docs/images/{page}-{name}.png").stat().st_size < 300_000


@pytest.mark.parametrize("page", PAGES)
def test_every_output_is_filled_in(page: str) -> None:
    outputs = re.findall(r"```text\n(.*?)```", text_of(page), re.DOTALL)
    assert len(outputs) > 5
    assert all(len(output.strip()) > 10 for output in outputs)


@pytest.mark.parametrize("page", PAGES)
def test_no_output_is_of_disturbed_runs(page: str) -> None:
    assert disturbed_outputs(text_of(page)) == []


def section(output: str, text: str = "Measured here.") -> str:
    return f"# Page\n\n## One question\n\n{text}\n\n```text\n{output}\n```\n\n## Next\n\nNothing.\n"


@pytest.mark.parametrize(
    "output",
    [
        "NOT TRUSTWORTHY: disturbed runs count (8 of 8 runs)",
        "3 of 10 runs were disturbed (stall)",
    ],
)
def test_an_output_of_disturbed_runs_is_found(output: str) -> None:
    assert len(disturbed_outputs(section(output))) == 1
    assert not disturbed_outputs(section(output, "What a disturbed run looks like:"))


@pytest.mark.parametrize(
    "output",
    [
        "60 of 60 runs valid; 2 earlier attempts were disturbed or lost, and repeated; 3 notes",
        "1 disturbed run was repeated (other processes, at worst\n85 %). All runs are valid.",
        "SHOWN, but 2.1 % of the CPU time was taken by the hypervisor (1 of 10 runs)",
        "b is faster",
        "Times and sizes are estimates: machines differ, and repeats of disturbed runs come on top.",
    ],
)
def test_repeated_runs_and_notes_below_the_limit_are_no_reason_to_doubt(output: str) -> None:
    assert not disturbed_outputs(section(output))
