"""The answer of bundles that are compared with bundles, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.compare import ComparisonAnswer
from ..analysis.metric import Metric
from ..analysis.wording import counted
from ..findings.between_bundles.both_sides import Joined
from ..findings.between_bundles.comparison import BundleComparison
from .answer import Answer, answer_of, unreadable_in
from .words.answer_sentence import WORDS_MAX
from .words.bundles import answers_of, headline_words
from .words.cells import not_valid_words
from .words.promises import promise_sentences, violation_clauses


def answer_between(joined: Joined, found: BundleComparison) -> tuple[Answer, list[tuple[Metric, ComparisonAnswer]]]:
    """By the metric that leads, and what was found by the others."""
    answers = answers_of(found, joined)
    leading = [answer for metric, answer in answers if metric is answers[0][0]]
    metrics = list({metric.name: metric for metric, _ in answers}.values())
    answer = answer_of(joined, metrics, leading)
    headline = [*unreadable_in(joined.bundles), *headline_words(found, answers)]
    return _in_words_of_bundles(answer, found, headline), answers[len(leading) :]


def _in_words_of_bundles(answer: Answer, found: BundleComparison, headline: Sequence[str]) -> Answer:
    """With what is said of bundles in place of what is said of contestants in common blocks."""
    gone = [f"{label}: not compared: not every bundle has it" for label in found.gone]
    notes = list(dict.fromkeys(note for c in answer.comparisons for note in c.notes))
    doubt = answer.first.doubt
    if found.comparisons[0].design == "two bundles":
        one_each = "with one bundle per side, this applies to these two bundles, not to the systems"
        kept = [doubt] if answer.first.certainty == "not trustworthy" else violation_clauses(answer.promises)
        doubt = "; ".join([*kept, one_each])
    validity = [answer.validity[0], *found.doubts, *gone, *found.left_out]
    runs = answer.first.trust.partition(";")[0]
    noted = len(validity) - 1
    first = {"doubt": doubt, "trust": f"{runs}; {counted(noted, 'note', 'notes')}" if noted else runs}
    if len(headline[0].split()) <= WORDS_MAX:
        first["answer"] = headline[0]
    changes = {
        "first": answer.first.model_copy(update=first),
        "headline": [*promise_sentences(answer.promises), *headline, *not_valid_words(answer.cells)],
        "validity": validity,
        "undeclared": [],
        "limits": [*(f"{note[:1].upper()}{note[1:]}." for note in notes), *answer.limits],
        "comparisons": [c.model_copy(update={"notes": []}) for c in answer.comparisons],
    }
    return answer.model_copy(update=changes)
