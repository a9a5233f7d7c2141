"""Verdicts for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from .verdict import ArticleFound, ClaimFound, PartFound

WIDTH = 100
#: Of one claim; --json has all.
PARTS_MAX = 6
LEVEL = (
    "Intervals share one level of 95 %: the chance that any verdict of the article is wrong is at most 5 %. Disturbed"
    " runs are no evidence."
)


def render(found: ArticleFound) -> str:
    lines = [f"{found.title}{f' ({found.published})' if found.published else ''}, scale {found.scale}", ""]
    for claim in found.claims:
        lines += [*_claim(claim), ""]
    for slip in found.slips:
        lines += [*_wrapped(f"slip: {slip_words(slip)}"), ""]
    lines += [*_wrapped(found.counts), *_wrapped(LEVEL)]
    for plan in found.plans:
        lines += _wrapped(f"{plan.name}: {plan.bundle}, {plan.measured}" if plan.bundle else f"{plan.name}: {plan.why}")
    return "\n".join(lines)


def _claim(claim: ClaimFound) -> Iterator[str]:
    yield f"{claim.id}  {claim.verdict_words}"
    yield from _wrapped(claim.says, "    ")
    for said in parts_words(claim):
        yield from _wrapped(said, "    measured: ")
    for what, words in (("by analogue", claim.analogue), ("why", claim.why), ("limits", claim.limits)):
        if words:
            yield from _wrapped(words, f"    {what}: ")


def parts_words(claim: ClaimFound) -> list[str]:
    """Each in words; of many, those that speak against the claim or leave it open first, and how many are left out."""
    ranked = sorted(claim.parts, key=lambda part: ("fails", "open", "holds").index(part.status))
    shown = claim.parts if len(claim.parts) <= PARTS_MAX else ranked[:PARTS_MAX]
    found = [f"{part.sign} {_part_words(part)}" if len(claim.parts) > 1 else _part_words(part) for part in shown]
    if left := ranked[len(shown) :]:
        held = sum(part.status == "holds" for part in left)
        found.append(f"and {len(left)} more, {held} of which {'is' if held == 1 else 'are'} as claimed")
    return found


def _part_words(part: PartFound) -> str:
    """ "4 threads against 1 thread: 2.1x (1.9x to 2.3x), 12,300/s against 5,800/s; claimed: higher"."""
    values = f", {part.values}" if part.values else ""
    claimed = f"; claimed: {part.wanted}" if part.wanted else ""
    notes = "".join(f" ({note})" for note in part.notes)
    return f"{part.about}: {part.measured}{values}{claimed}{notes}"


def slip_words(slip: dict[str, str]) -> str:
    """ "the article says: ...; right: ... (...)", whether its parts are sentences or not."""
    says, right, why = (slip[key].removesuffix(".") for key in ("says", "right", "why"))
    return f"the article says: {says}; right: {right}{f' ({why})' if why else ''}"


def _wrapped(words: str, before: str = "") -> list[str]:
    indent = " " * (len(before) - len(before.lstrip()) + (2 if before.strip() else 0))
    together = words.replace(" %", "\N{NO-BREAK SPACE}%")  # "5 %" stays on one line
    lines = textwrap.wrap(together, WIDTH, initial_indent=before, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
