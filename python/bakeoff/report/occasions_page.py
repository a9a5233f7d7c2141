"""The page of bundles against bundles: what was found, what changed, and both sides in every chart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..analysis.thresholds import Outcome
from ..bundle.files import write_text
from .answer import Answer
from .conclusion import answer_of, unreadable_in
from .html import render_html
from .joined import Joined, Sides
from .left_out import not_valid_words
from .occasion_words import answers_of, headline_words
from .occasions import Occasions


def write_comparison(path: Path, joined: Joined, found: Occasions, held: Sequence[Outcome] = ()) -> Path:
    """One file that needs nothing else. held: what became of the conditions that were asked for."""
    from .figures import figures_of

    answers = answers_of(found, joined)
    leading = [answer for metric, answer in answers if metric is answers[0][0]]
    metrics = list({metric.name: metric for metric, _ in answers}.values())
    answer = answer_of(joined, metrics, leading)
    sides = Sides(**joined.folders, changed=found.changed, further=answers[len(leading) :], held=list(held))
    told = _told(answer, found, [*unreadable_in(joined.bundles), *headline_words(found, answers)])
    page = render_html(joined, told, figures_of(joined, answer), sides)
    return write_text(path.parent, path.name, page)


def _told(answer: Answer, found: Occasions, headline: Sequence[str]) -> Answer:
    """With what is said of occasions in place of what is said of contestants in common blocks."""
    gone = [f"{label}: not compared: not every bundle has it" for label in found.gone]
    notes = list(dict.fromkeys(note for c in answer.comparisons for note in c.notes))
    changes = {
        "headline": [*headline, *not_valid_words(answer.cells)],
        "validity": [answer.validity[0], *found.doubts, *gone, *found.left_out],
        "undeclared": [],
        "limits": [*(f"{note[:1].upper()}{note[1:]}." for note in notes), *answer.limits],
        "comparisons": [c.model_copy(update={"notes": []}) for c in answer.comparisons],
    }
    return answer.model_copy(update=changes)
